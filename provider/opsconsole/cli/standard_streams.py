"""Standard streams that may be closed, or fail while a command runs, without harm to its work.

A reader may go away (`| head`, Ctrl-C in a pipe to `tee`), or the disk of a log may be full.
Output that cannot be written is dropped, and the command ends its work cleanly.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    import argparse

    from opsconsole.text import Pen

_GONE = frozenset((errno.EIO, errno.EPIPE))


class OutputStream(io.FileIO):
    """A file descriptor that drops output which cannot be written, and keeps the error.

    Args:
        drawn_on: Whether it may be a terminal.
        ends_work: Whether a command stops, and fails, if nobody can read its output.

    Attributes:
        problem: The error of the first write that failed.
        on_failure: A function to call at that moment, if set.
    """

    def __init__(self, descriptor: int, *, drawn_on: bool = True, ends_work: bool = False) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.ends_work = ends_work
        self.problem: OSError | None = None
        self.on_failure: Callable[[], object] | None = None
        self._drawn_on = drawn_on

    def write(self, data: Any) -> int:
        if self.problem is None:
            try:
                return super().write(data)
            except OSError as problem:
                self.problem = problem
                if self.on_failure is not None:
                    self.on_failure()
        # Report that everything was written: after a shorter count, a buffer would send the rest
        # again.
        return len(memoryview(data).cast("B"))

    def isatty(self) -> bool:
        """Return whether it is a terminal to draw on."""
        return self._drawn_on and super().isatty()

    @property
    def is_unread(self) -> bool:
        return self.problem is not None and self.problem.errno in _GONE

    @property
    def failure(self) -> str:
        """Why nothing can be written any more, for a message; empty if everything was written."""
        if self.problem is None:
            return ""
        if self.is_unread:
            return "nobody reads the output any more"
        return f"the output cannot be written ({self.problem.strerror})"


def take_streams() -> None:
    """Replace stdout and stderr by such streams; a closed stdin is empty."""
    open_descriptors()
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    # A test may have installed its own streams.
    if sys.stdout is None or _is_plain(sys.stdout, 1):
        sys.stdout = text_stream(OutputStream(1, ends_work=True), like=sys.stdout)
    if sys.stderr is None or _is_plain(sys.stderr, 2):
        sys.stderr = text_stream(OutputStream(2), like=sys.stderr)


def open_descriptors() -> None:
    """Open stdin, stdout and stderr on the null device if they are closed."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # Otherwise the next opened file gets the number, and output for stdout goes to that
            # file.
            os.open(os.devnull, os.O_RDWR)


def flush_output() -> OutputStream | None:
    """Flush stdout and return it, if `take_streams` replaced it."""
    raw = _raw(sys.stdout)
    if not isinstance(raw, OutputStream):
        return None
    sys.stdout.flush()
    return raw


def lost_output_reason() -> str:
    """Return why a command must stop because its output was lost; empty if it need not stop."""
    stdout = flush_output()
    return stdout.failure if stdout is not None and stdout.ends_work else ""


def write_or_stderr(text: str) -> None:
    """Write text that must not be lost to stdout, or to stderr if stdout fails."""
    sys.stdout.write(text)
    if lost_output_reason():
        sys.stderr.write(text)


def ask(question: str) -> str:
    """Print a question without a line end, and return the answer."""
    sys.stdout.write(question)
    # Without a line end, it would stay in the buffer.
    sys.stdout.flush()
    return sys.stdin.readline().strip()


def has_colour(args: argparse.Namespace, stream: TextIO | None = None) -> bool:
    """Return whether to print in colour to a stream, stdout by default."""
    is_terminal = (stream or sys.stdout).isatty()
    return is_terminal and not args.no_color and not os.environ.get("NO_COLOR")


def pen_for(args: argparse.Namespace, stream: TextIO | None = None) -> Pen:
    from opsconsole.text import Pen

    return Pen(has_colour(args, stream), terminal_width(stream))


def terminal_width(stream: TextIO | None = None) -> int:
    """Return the width of a stream's terminal, by default of stdout; 0 without a terminal."""
    import shutil  # the stand-in's `version` needs none of it

    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else 0


def text_stream(raw: OutputStream, like: Any = None) -> io.TextIOWrapper:
    unbuffered = isinstance(getattr(like, "buffer", None), io.FileIO)
    return io.TextIOWrapper(
        # With PYTHONUNBUFFERED Python puts nothing in between either.
        cast(Any, raw) if unbuffered else io.BufferedWriter(raw),
        # UTF-8 is used in every locale, as in Terraform. JSON must be UTF-8, and a character that
        # an encoding lacks would end a run.
        "utf-8",
        "backslashreplace",
        # Python's own stderr is line buffered even without a terminal.
        line_buffering=raw.isatty() or raw.fileno() == 2,
        write_through=unbuffered,
    )


def _raw(stream: Any) -> Any:
    buffer = getattr(stream, "buffer", None)
    return buffer if isinstance(buffer, io.FileIO) else getattr(buffer, "raw", None)


def _is_plain(stream: Any, descriptor: int) -> bool:
    """Return whether a stream is the one that Python made of a file descriptor."""
    raw = _raw(stream)
    return type(raw) is io.FileIO and raw.fileno() == descriptor
