"""The command `opsconsole`: finds the subcommand, runs it, and says what went wrong.

A subcommand lives in its own module, imported only when it is asked for, and has a line in
COMMANDS. Errors become a message and an exit code here and nowhere else.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn

from opsconsole import __version__
from opsconsole.cli import signals
from opsconsole.errors import OpsconsoleError, Stopped
from opsconsole.optional_packages import missing_package

COMMANDS = {
    "plan": ("opsconsole.cli.plan", "show what applying the program would do"),
    "apply": ("opsconsole.cli.apply", "bring the console to what the program declares"),
    "destroy": ("opsconsole.cli.destroy", "remove everything that the program manages"),
    "show": ("opsconsole.cli.show", "show a saved plan, or the state"),
    "output": ("opsconsole.cli.output", "print the outputs that state holds"),
    "import": ("opsconsole.cli.import_command", "take an object that the console has into state"),
    "state": ("opsconsole.cli.state_commands", "list, show, forget, or fold in what a crash left"),
    "force-unlock": ("opsconsole.cli.force_unlock", "release the lock of a run that is gone"),
    "workspace": ("opsconsole.cli.workspace", "list, show, make, select or delete workspaces"),
    "graph": ("opsconsole.cli.graph", "print what depends on what in the program"),
    "hosts": ("opsconsole.cli.hosts_import", "import hosts in bulk, beside any program"),
    "capabilities": (
        "opsconsole.cli.capabilities",
        "show what the console can do for each resource",
    ),
    "drift": ("opsconsole.cli.drift", "compare states with the console"),
    "emulator": ("opsconsole.cli.emulator", "serve a console for development and tests"),
    "provider": ("opsconsole.cli.provider_install", "install the Terraform provider"),
}
"""Name: the module whose `register(subparsers)` adds the command, and one line of help.

`register` gives its parser a default `run`, which takes the parsed arguments and returns the exit
code.
"""

FAILED = 1
"""Exit code of every error, usage errors too: 2 means "there are changes" or "there is drift"."""
INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """Takes no abbreviations, and exits with 1 on a usage error."""

    def __init__(self, *args: object, **options: object) -> None:
        options.setdefault("allow_abbrev", False)
        super().__init__(*args, **options)  # type: ignore[arg-type]  # argparse's own, passed on

    def error(self, message: str) -> NoReturn:
        """Print how the command is used and what is wrong, and exit."""
        self.print_usage(sys.stderr)
        self.exit(FAILED, f"Error: {message}\n")


def build_parser(wanted: str | None) -> Parser:
    """Make the parser; only the command `wanted` is imported and knows its arguments."""
    parser = Parser(
        prog="opsconsole",
        description="Declare the hosts and agents of an operations console in Python, and keep "
        "the console as declared.",
        epilog="`opsconsole COMMAND --help` tells more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"opsconsole {__version__}")
    parser.add_argument(
        "--debug",
        action="store_true",
        help="show where an unforeseen error comes from (also: OPSCONSOLE_DEBUG=1)",
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, (module, line) in COMMANDS.items():
        if name == wanted:
            importlib.import_module(module).register(subparsers)
        else:
            subparsers.add_parser(name, help=line)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code.

    Args:
        arguments: The words after the command's name; those of this process by default.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words or debugging()
    return answered(lambda: _run(words), debug=debug, again="opsconsole --debug …")


def debugging() -> bool:
    """Tell whether the environment asks to show where unforeseen errors come from."""
    return os.environ.get("OPSCONSOLE_DEBUG", "") not in ("", "0")


def answered(run: Callable[[], int], *, debug: bool, again: str) -> int:
    """Return the exit code of `run`; what it raises becomes a message on stderr.

    Args:
        debug: Whether to show where an error comes from.
        again: The command that would show it.
    """
    signals.end_on_signals()
    try:
        return run()
    except (KeyboardInterrupt, Stopped):
        signals.ignore_further()
        sys.stderr.write("Interrupted.\n")
        return INTERRUPTED
    except OpsconsoleError as failure:
        if debug:
            _write_safely(traceback.format_exc())
        _write_safely(_told(failure))
        return FAILED
    except BrokenPipeError:
        # The reader has gone; Python would complain once more when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as unforeseen:
        if debug:
            _write_safely(traceback.format_exc())
        if isinstance(unforeseen, ModuleNotFoundError) and (missing := missing_package(unforeseen)):
            _write_safely(_told(missing))
            return FAILED
        _write_safely(_surprise(unforeseen, debug, again))
        return FAILED


def _run(words: list[str]) -> int:
    wanted = next((word for word in words if not word.startswith("-")), None)
    parser = build_parser(wanted)
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help()
        return FAILED
    code: int = args.run(args)
    sys.stdout.flush()
    return code


def _told(failure: OpsconsoleError) -> str:
    remedy = f"\n{failure.remedy}" if failure.remedy else ""
    return f"Error: {failure.message}{remedy}\n"


def _surprise(unforeseen: Exception, debug: bool, again: str) -> str:
    kind = type(unforeseen).__name__
    remedy = "" if debug else f"\nRun it again as `{again}` to see where it comes from."
    return f"Error: unforeseen {kind}: {unforeseen}{remedy}\n"


def _write_safely(text: str) -> None:
    """Write to stderr what may quote a request or a setting, without the secrets in it."""
    from opsconsole.terraform.redaction import Redaction

    secrets = Redaction()
    secrets.learn(os.environ.get("OPSCONSOLE_API_KEY"))
    sys.stderr.write(secrets.hide(text))


if __name__ == "__main__":
    sys.exit(main())
