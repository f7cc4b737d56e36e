"""The command `opsconsole`: finds the subcommand, runs it, and says what went wrong.

A subcommand is in a module of its own, which is imported only when it is asked for. Errors become
a message and an exit code here and nowhere else.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from opsconsole import __version__
from opsconsole.cli.command_line import FAILED, INTERRUPTED, Parser
from opsconsole.cli.commands import COMMANDS
from opsconsole.cli.standard_streams import lost_output, output, take_streams
from opsconsole.errors import OpsconsoleError, Stopped, UserError
from opsconsole.held_signals import end_on_signals, ignore_further
from opsconsole.optional_packages import missing_package


def build_parser(wanted: str | None, *, every: bool = False) -> Parser:
    """Make the parser.

    Args:
        wanted: The only command that is imported and knows its arguments.
        every: Import all commands, for completion; help then lists them as argparse does.
    """
    parser = Parser(
        prog="opsconsole",
        usage="%(prog)s [options] COMMAND …",
        description="Declare the hosts and agents of an operations console in Python, and keep "
        "the console as declared.",
        epilog="`opsconsole COMMAND --help` shows the options of a command, its exit codes and an "
        "example.",
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"opsconsole {__version__}",
        help="print the version, and exit",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="show where an unforeseen error comes from (OPSCONSOLE_DEBUG=1)",
    )
    groups = dict.fromkeys(command.group for command in COMMANDS.values())
    for group in groups if not every else ():
        lines = [
            f"  {name:<14} {command.line}"
            for name, command in COMMANDS.items()
            if command.group == group
        ]
        parser.add_argument_group(group, "\n".join(lines))
    subparsers = parser.add_subparsers(
        dest="command",
        metavar="COMMAND",
        prog=parser.prog,
        help=None if every else argparse.SUPPRESS,
    )
    for name, command in COMMANDS.items():
        if every or name == wanted:
            module, _, function = command.register.partition(":")
            getattr(importlib.import_module(module), function)(subparsers)
        else:
            subparsers.add_parser(name)
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
    """Return whether the environment asks to show where unforeseen errors come from."""
    return os.environ.get("OPSCONSOLE_DEBUG", "") not in ("", "0")


def answered(run: Callable[[], int], *, debug: bool, again: str) -> int:
    """Return the exit code of `run`; what it raises becomes a message on stderr.

    Args:
        debug: Whether to show where an error comes from.
        again: The command that would show it.
    """
    end_on_signals()
    take_streams()
    try:
        return _arrived(run())
    except (KeyboardInterrupt, Stopped):
        ignore_further()
        lost = lost_output()
        sys.stderr.write(f"Interrupted, as {lost}.\n" if lost else "Interrupted.\n")
        return INTERRUPTED
    except OpsconsoleError as failure:
        if debug:
            _write_safely(traceback.format_exc())
        _write_safely(_text_of(failure))
        return FAILED
    except PermissionError as refused:
        if debug:
            _write_safely(traceback.format_exc())
        _write_safely(_text_of(_not_allowed(refused)))
        return FAILED
    except Exception as unforeseen:
        if debug:
            _write_safely(traceback.format_exc())
        if isinstance(unforeseen, ModuleNotFoundError) and (missing := missing_package(unforeseen)):
            _write_safely(_text_of(missing))
            return FAILED
        _write_safely(_surprise(unforeseen, debug, again))
        return FAILED


def _arrived(code: int) -> int:
    """Return the exit code of a command, whose output may not have arrived."""
    stdout = output()
    if stdout is None or not stdout.failure or code == INTERRUPTED:
        return code
    if stdout.is_unread:
        # A reader of a few lines only (`| head`) wants no error.
        return FAILED if stdout.ends_work else code
    _write_safely(f"Error: Not all was printed, as {stdout.failure}.\n")
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


def _not_allowed(refused: PermissionError) -> UserError:
    place = refused.filename or "a file"
    return UserError(
        f"This user may not read or write {place}: {refused.strerror or refused}.",
        "Change who may, or work in another directory.",
    )


def _text_of(failure: OpsconsoleError) -> str:
    remedy = f"\n{failure.remedy}" if failure.remedy else ""
    return f"Error: {failure.message}{remedy}\n"


def _surprise(unforeseen: Exception, debug: bool, again: str) -> str:
    kind = type(unforeseen).__name__
    remedy = "" if debug else f"\nRun it again as `{again}` to see where it comes from."
    return f"Error: unforeseen {kind}: {unforeseen}{remedy}\n"


def _write_safely(text: str) -> None:
    """Write to stderr what may quote a request or a setting, without the secrets in it."""
    from opsconsole.redaction import Redaction

    secrets = Redaction()
    for name in ("OPSCONSOLE_API_KEY", "OPSCONSOLE_SESSION_COOKIE"):
        secrets.learn(os.environ.get(name))
    sys.stderr.write(secrets.hide(text))


if __name__ == "__main__":
    sys.exit(main())
