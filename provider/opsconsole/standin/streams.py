"""Standard streams of a program that runs inside another one's terminal.

That terminal may go away while changes are in progress: output is then dropped, and the changes
are completed. stderr is for errors only: no bar and no spinner is drawn.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any

_GONE = frozenset((errno.EIO, errno.EPIPE))


class _Output(io.FileIO):
    """A file descriptor whose reader may be gone; `drawn_on`: whether it may be a terminal."""

    def __init__(self, descriptor: int, *, drawn_on: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._drawn_on = drawn_on

    def write(self, data: Any) -> int:
        """Write, and take a reader that is gone for one that reads."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in _GONE:
                raise
            return len(memoryview(data).cast("B"))

    def isatty(self) -> bool:
        """Return whether it is a terminal to draw on."""
        return self._drawn_on and super().isatty()


def take_streams() -> None:
    """Put such streams in place of stdout and stderr of this process."""
    sys.stdout = _text(1, drawn_on=True)
    sys.stderr = _text(2, drawn_on=False)


def _text(descriptor: int, *, drawn_on: bool) -> io.TextIOWrapper:
    raw = _Output(descriptor, drawn_on=drawn_on)
    lines = os.isatty(descriptor) or descriptor == 2
    return io.TextIOWrapper(
        io.BufferedWriter(raw), "utf-8", "replace", line_buffering=lines, write_through=False
    )
