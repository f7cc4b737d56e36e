"""The command `opsconsole`: runs the subcommand; errors become a message and an exit code."""

from __future__ import annotations

import errno
import gc
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from opsconsole.cli.options import is_switched_on
from opsconsole.cli.parser import build_parser
from opsconsole.cli.standard_streams import (
    flush_output,
    lost_output_reason,
    take_streams,
    terminal_width,
)
from opsconsole.cli.table import FAILED, INTERRUPTED
from opsconsole.diagnostics import Mistakes
from opsconsole.errors import TRY_LATER, OpsconsoleError, Stopped, UserError, missing_package
from opsconsole.held_signals import end_on_signals, ignore_further
from opsconsole.user_files import file_error

DEBUG: Final = "OPSCONSOLE_DEBUG"
"""The variable that asks to show where unexpected errors come from."""
_YOUNG = 500_000
"""Objects between garbage collections. A run makes millions of objects that live until its end, and
hardly a cycle of references. With Python's own threshold, scanning them repeatedly would take a
tenth of the time."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default of this process; return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = not {"--debug", "-debug"}.isdisjoint(words) or is_switched_on(DEBUG)
    try:
        return run_and_report(
            lambda: _run_command(words), debug=debug, again="opsconsole --debug …"
        )
    finally:
        # At exit, Python runs one more garbage collection over everything.
        gc.freeze()


def run_and_report(run: Callable[[], int], *, debug: bool, again: str) -> int:
    """Return the exit code of `run`; its exceptions become messages on stderr.

    `debug` shows where an error comes from, and the command `again` would.
    """
    gc.set_threshold(_YOUNG, 20, 100)
    end_on_signals()
    take_streams()
    try:
        return _exit_code_after_output(run())
    except (KeyboardInterrupt, Stopped):
        ignore_further()
        lost = lost_output_reason()
        sys.stderr.write(f"Interrupted, because {lost}.\n" if lost else "Interrupted.\n")
        return INTERRUPTED
    except Exception as problem:
        if debug:
            _write_safely(traceback.format_exc())
        _write_safely(_error_text(problem, debug, again))
        is_temporary = isinstance(problem, OpsconsoleError) and problem.is_temporary
        return TRY_LATER if is_temporary else FAILED


def _exit_code_after_output(code: int) -> int:
    stdout = flush_output()
    if stdout is None or not stdout.failure or code == INTERRUPTED:
        return code
    if stdout.is_unread:
        # A reader that takes a few lines only (`| head`) knows that there may be more. A command
        # that does more than print fails, because nobody read what it did.
        return FAILED if stdout.stops_when_unread else code
    _write_safely(f"Error: The output is incomplete, because {stdout.failure}.\n")
    return FAILED


def _run_command(words: list[str]) -> int:
    wanted = next((word for word in words if not word.startswith("-")), None)
    parser = build_parser(wanted)
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help()
        return FAILED
    if args.prints_only and (stdout := flush_output()) is not None:
        stdout.stops_when_unread = False
    code: int = args.run(args)
    sys.stdout.flush()
    return code


def _error_text(failure: Exception, debug: bool, again: str) -> str:
    if isinstance(failure, ModuleNotFoundError):
        failure = missing_package(failure) or failure
    if not isinstance(failure, OpsconsoleError):
        failure = _system_refusal(failure) or failure
    if isinstance(failure, Mistakes):
        from opsconsole.reports import terminal
        from opsconsole.text import Pen

        return terminal.render_diagnostics(
            failure.diagnostics, Pen(width=terminal_width(sys.stderr))
        )
    if isinstance(failure, OpsconsoleError):
        message, remedy = failure.message, failure.remedy
    else:
        message = f"unexpected {type(failure).__name__}: {failure}"
        remedy = "" if debug else f"Run it again as `{again}` to see where it comes from."
    return f"Error: {message}\n" + (f"{remedy}\n" if remedy else "")


def _is_exhaustion(failure: BaseException) -> bool:
    return isinstance(failure, MemoryError) or (
        isinstance(failure, OSError) and failure.errno in (errno.EMFILE, errno.ENFILE)
    )


def _system_refusal(failure: BaseException) -> UserError | None:
    """Return the operating system's refusal behind an error, or None."""
    # When files or memory run out, the cleanup fails as well, with its own error.
    first: BaseException | None = failure
    while first is not None and not _is_exhaustion(first):
        first = first.__context__
    error = first or failure
    # An OSError without a number comes from a library, not from the system. A MemoryError never has
    # a number.
    if not isinstance(error, (OSError, MemoryError)) or not getattr(error, "errno", True):
        return None
    try:
        # If the working directory is gone, every relative path fails, and that is the cause.
        Path.cwd()
    except OSError as gone:
        return UserError(
            f"The working directory cannot be used: {gone.strerror}.",
            "Go to a directory that is there, then run again.",
        )
    name = getattr(error, "filename", None)
    return file_error("use", name or "what this command needs", error, "")


def _write_safely(text: str) -> None:
    """Write text without secrets to stderr; it may quote a request or a setting."""
    from opsconsole.redaction import Redaction

    secrets = Redaction()
    for name in ("OPSCONSOLE_API_KEY", "OPSCONSOLE_SESSION_COOKIE"):
        secrets.learn(os.environ.get(name))
    sys.stderr.write(secrets.hide(text))


if __name__ == "__main__":
    sys.exit(main())
