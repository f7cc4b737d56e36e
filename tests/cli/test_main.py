"""The frame of the command: help, usage errors, and what becomes of an error."""

import argparse
import errno
import signal
import sys
import types
from collections.abc import Callable
from functools import partial

import pytest

from engines import run_program
from opsconsole import __version__
from opsconsole.cli import main as command
from opsconsole.cli.table import COMMANDS, Command
from opsconsole.errors import ConfigurationError, UserError

KEY = "svc_ak_0123456789"


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException | int], int]:
    """Run `opsconsole end`, a command that ends as told; return the exit code."""

    def run(how: BaseException | int) -> int:
        def end(args: argparse.Namespace) -> int:
            if isinstance(how, int):
                return how
            raise how

        module = types.ModuleType("opsconsole.cli.end_command")
        module.__dict__.update(run=end)
        monkeypatch.setitem(sys.modules, "opsconsole.cli.end_command", module)
        monkeypatch.setitem(COMMANDS, "end", Command("end_command:run", "End as told.", ""))
        monkeypatch.setenv("OPSCONSOLE_API_KEY", KEY)
        return command.main(["end"])

    return run


python = partial(run_program, sys.executable)


def test_output_is_utf_8_whatever_the_locale_says():
    words = ("-m", "opsconsole.cli.main", "--help")
    told = python(*words, PYTHONIOENCODING="ascii")
    assert told.err == ""
    assert told.out == python(*words, PYTHONIOENCODING="utf-8").out
    assert not told.out.isascii()


def failed_cleanup(cause: BaseException) -> Exception:
    """Return the error of a cleanup that followed another error."""
    error = KeyError("cleanup")
    error.__context__ = cause
    return error


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_commands_own_exit_code_is_kept(code, ending):
    assert ending(code) == code


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (UserError("No program.", "Run it elsewhere."), "Error: No program.\nRun it elsewhere.\n"),
        (ConfigurationError("No key."), "Error: No key.\n"),
        (
            OSError(errno.EMFILE, "Too many open files", "x"),
            "Error: Cannot use x: too many files are open (Too many open files).\n"
            "Raise the limit (`ulimit -n`), then run again.\n",
        ),
        (
            MemoryError(),
            "Error: Cannot use what this command needs: there is not enough memory (MemoryError).\n"
            "Give this process more memory, or split the stack, then run again.\n",
        ),
        (
            failed_cleanup(OSError(errno.EMFILE, "Too many open files", "x")),
            "Error: Cannot use x: too many files are open (Too many open files).\n"
            "Raise the limit (`ulimit -n`), then run again.\n",
        ),
    ],
)
def test_an_error_is_reported_with_its_remedy(failure, told, ending, capsys):
    assert ending(failure) == 1
    assert capsys.readouterr().err == told


def test_an_unexpected_error_is_one_message(ending, capsys):
    assert ending(ZeroDivisionError("by 0")) == 1
    error = capsys.readouterr().err
    assert error.startswith("Error: unexpected ZeroDivisionError: by 0\n")
    assert "--debug" in error


@pytest.mark.parametrize("kind", [UserError, ZeroDivisionError])
@pytest.mark.parametrize("debug", ["false", "1"])
def test_debug_alone_shows_where_it_comes_from_and_nothing_shows_the_key(
    kind, debug, ending, capsys, monkeypatch
):
    monkeypatch.setenv("OPSCONSOLE_DEBUG", debug)
    assert ending(kind(f"bad header Bearer {KEY}")) == 1
    error = capsys.readouterr().err
    assert ("Traceback (most recent call last)" in error) is (debug == "1")
    assert KEY not in error


def test_a_working_directory_that_is_gone_is_named(ending, capsys, monkeypatch, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert ending(FileNotFoundError(errno.ENOENT, "No such file or directory")) == 1
    assert "The working directory cannot be used" in capsys.readouterr().err


def test_an_interrupt_exits_with_130(ending, capsys, monkeypatch):
    # A process that ignores signals passes this on to the processes of later tests.
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    assert ending(KeyboardInterrupt()) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_without_a_command_the_help_is_shown(capsys):
    assert command.main([]) == 1
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"opsconsole {__version__}\n"
    assert python("-m", "opsconsole", "--version").out == f"opsconsole {__version__}\n"


@pytest.mark.parametrize(
    "words", [[], ["plan", "--help"], ["state", "rm", "--help"], ["completion", "fish"]]
)
def test_help_and_completion_import_no_command(words):
    script = (
        "import atexit, sys; from opsconsole.cli.main import main; "
        "atexit.register(lambda: print(*sys.modules, sep='\\n', file=sys.stderr)); "
        f"main({words})"
    )
    modules = set(python("-c", script).err.splitlines())
    loaded = {name for name in modules if name.startswith("opsconsole.cli.")}
    shared = {"main", "options", "parser", "standard_streams", "table"}
    own = shared | ({*words} & {"completion"})
    assert loaded == {f"opsconsole.cli.{name}" for name in own}
    engines = ("opsconsole.reconcile", "opsconsole.language", "opsconsole.state", "pydantic")
    assert not {*engines, "httpx", "aiohttp", "asyncio"} & modules


def test_an_apply_loads_only_what_it_needs(tmp_path):
    (tmp_path / "cdk.tf.json").write_text('{"output": {"name": {"value": "web"}}}')
    script = (
        f"import os, sys; from opsconsole.cli.main import main; os.chdir({str(tmp_path)!r}); "
        "code = main(['apply', '--auto-approve']); "
        "print(*sys.modules, sep='\\n', file=sys.stderr); sys.exit(code)"
    )
    modules = python("-c", script).err.splitlines()
    assert "opsconsole.reconcile.applier" in modules
    assert not {"rich", "opsconsole.language.functions", "pydantic"}.intersection(modules)


def test_a_reader_that_leaves_is_no_error():
    shell = f'"{sys.executable}" -m opsconsole.cli.main emulator --profiles | true'
    assert run_program("/bin/sh", "-c", shell).err == ""
