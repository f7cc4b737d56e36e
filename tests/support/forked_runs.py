"""Runs of one Python program, each a process of its own that has imported everything already.

Most of what a short run costs is starting Python and importing. Here one process does that, and is
forked for each run. A run has its own folder, environment and output; it may limit, kill or
interrupt itself. A test calls `Forks.run`; where a script or another program starts the command,
`Forks.install` puts one on PATH. For a test that needs what Python does at its start, or a terminal
that controls the command, this is not the way.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

import forked_command
from engines import SECONDS, Run

COMMANDS = """
import importlib, pkgutil, sys

packages = "cli language lifecycle reconcile reports resources resources.host standin state v1"
for package in packages.split():
    found = importlib.import_module(f"opsconsole.{package}")
    for module in pkgutil.iter_modules(found.__path__, f"{found.__name__}."):
        importlib.import_module(module.name)

from opsconsole.cli.main import main
from opsconsole.standin.main import main as standin

def run(program, *words):
    sys.exit((standin if program == "opsconsole-terraform" else main)(words))
"""
"""The two commands that are installed. The first word says which."""

_SERVER = r"""
import json, os, select, signal, socket, sys

address, program, seconds = sys.argv[1:]
names = {"__name__": "forked"}
exec(compile(program, "<program>", "exec"), names)
listening = socket.socket(socket.AF_UNIX)
listening.bind(address)
listening.listen(64)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)

def carry_out(asked):
    listening.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, files, _, _ = socket.recv_fds(asked, 1, 3)
    request = json.loads(asked.makefile().readline())
    run = os.fork()
    if run == 0:
        asked.close()
        one_run(files, **request)
    for file in files:
        os.close(file)
    asked.sendall(f"{run}\n".encode())
    _, status = os.waitpid(run, 0)
    asked.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)

def one_run(files, words, folder, environment):
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.alarm(int(seconds))
    code = 1
    try:
        names["run"](*words)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

# The end of the input is the end of who started this.
while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
    asked, _ = listening.accept()
    if os.fork() == 0:
        carry_out(asked)
    asked.close()
"""


class Forks:
    """The process that is forked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.address = str(folder / "socket")

    def run(self, *words: str, folder: Path, environment: Mapping[str, str] | None = None) -> Run:
        """Call the program's function `run` with words in a process of its own, to its end.

        The code of a run that was killed is the negative number of the signal.
        """
        given = os.environ if environment is None else environment
        with (
            Path(os.devnull).open() as empty,
            tempfile.TemporaryFile("w+", dir=self._folder) as out,
            tempfile.TemporaryFile("w+", dir=self._folder) as err,
        ):
            files = [file.fileno() for file in (empty, out, err)]
            _, answers = forked_command.begin(self.address, words, files, str(folder), given)
            with answers:
                code = int(answers.readline())
            out.seek(0)
            err.seek(0)
            return Run(words, code, out.read(), err.read())

    def install(self, folder: Path, *names: str) -> None:
        """Write commands into a folder for PATH; each passes its name on as the first word."""
        words = (sys.executable, "-ISB", forked_command.__file__, self.address)
        for name in names:
            path = folder / name
            path.write_text(f'#!/bin/sh\nexec {" ".join(words)} {name} "$@"\n')
            path.chmod(0o755)


@contextmanager
def forks_of(program: str) -> Iterator[Forks]:
    """Start Python for the block with a program that defines `run`; each run is a fork of it."""
    with tempfile.TemporaryDirectory() as folder:
        forks = Forks(Path(folder))
        server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, forks.address, program, str(SECONDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with server:
            assert server.stdin is not None and server.stdout is not None
            assert server.stdout.readline(), "the process that is to be forked has ended"
            yield forks
            server.stdin.close()
            server.wait(SECONDS)


@pytest.fixture(scope="session")
def forked_commands() -> Iterator[Forks]:
    """Runs of both commands, by name: `run("opsconsole", "plan", folder=…)`."""
    with forks_of(COMMANDS) as forks:
        yield forks


@pytest.fixture(scope="session")
def commands(forked_commands: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH with both commands, for tests of what they do and not of their start."""
    folder = tmp_path_factory.mktemp("commands")
    forked_commands.install(folder, "opsconsole", "opsconsole-terraform")
    return folder
