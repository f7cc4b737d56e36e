"""Run `opsconsole`, and kill or interrupt it at one of the things that it does outside of itself.

`python killed_run.py POINT WHAT WORDS…`: WHAT happens at the point of that number; at 0 it never
does, and the last line on stderr then says how many points there were. A point is before a request,
after its answer, before a file operation, or halfway through a write.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from opsconsole.cli.main import main
from opsconsole.state import opening
from opsconsole.state.writer import Cadence
from opsconsole.v1.transport import Reply, Transport

_OPERATIONS = ("fchmod", "fdatasync", "fsync", "ftruncate", "posix_fallocate", "replace", "unlink")


KILL = "kill"
WHAT = {
    KILL: ((0, signal.SIGKILL),),
    "interrupt": ((0, signal.SIGINT),),
    "interrupt-twice": ((0, signal.SIGINT), (0, signal.SIGINT)),
    "interrupt-again": ((0, signal.SIGINT), (1, signal.SIGINT)),
    "terminate": ((0, signal.SIGTERM),),
}
"""The signals that the process sends itself, each with how many points later it does."""
TWICE = ("interrupt-twice", "interrupt-again")


class Points:
    """Counts what happens, and sends this process its signals when the time has come."""

    def __init__(self, point: int, what: str) -> None:
        self.passed = 0
        self._signals: dict[int, list[int]] = {}
        for later, number in WHAT[what] if point else ():
            self._signals.setdefault(point + later, []).append(number)
        self._lock = threading.Lock()

    def reached(self, name: str, before_the_end: Callable[[], object] | None = None) -> None:
        """Pass a point, or die there.

        Args:
            before_the_end: What is left half done.
        """
        with self._lock:
            self.passed += 1
            due = self._signals.pop(self.passed, [])
            if due:
                os.write(2, f"at {name}\n".encode())
            if signal.SIGKILL in due:
                if before_the_end is not None:
                    before_the_end()
                # With the lock held: no other thread does anything more.
                os.kill(os.getpid(), signal.SIGKILL)
        for number in due:
            os.kill(os.getpid(), number)


def watch_files(points: Points) -> None:
    """Make every operation on a file a point."""
    for name in _OPERATIONS:
        _watch(points, name)
    real_write, real_open = os.pwrite, os.open

    def pwrite(descriptor: int, data: Any, at: int) -> int:
        half = bytes(data)[: len(data) // 2]
        points.reached("half a pwrite", lambda: real_write(descriptor, half, at))
        return real_write(descriptor, data, at)

    def open_(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & os.O_CREAT:
            points.reached(f"open {path}")
        return real_open(path, flags, *rest, **named)

    os.pwrite = pwrite
    os.open = open_


def _watch(points: Points, name: str) -> None:
    real = getattr(os, name)

    def watched(*args: Any, **named: Any) -> Any:
        points.reached(f"{name} {args[0]}")
        return real(*args, **named)

    setattr(os, name, watched)


def watch_requests(points: Points) -> None:
    """Make every request two points: nothing was sent, and its answer is not yet used."""
    real = Transport.send

    async def send(self: Transport, method: str, url: str, *rest: Any) -> Reply:
        points.reached(f"before {method} {url}")
        reply = await real(self, method, url, *rest)
        points.reached(f"after {method} {url}")
        return reply

    Transport.send = send  # type: ignore[method-assign]  # nobody else may hear of the points


def write_often() -> None:
    """Have state written every few changes, so that writes fall between all kinds of requests."""
    opening.Cadence = partial(Cadence, changes=8, share=1.0)  # type: ignore[misc,assignment]


if __name__ == "__main__":
    write_often()
    watched = Points(int(sys.argv[1]), sys.argv[2])
    watch_files(watched)
    watch_requests(watched)
    code = main(sys.argv[3:])
    sys.stderr.write(f"{watched.passed}\n")
    sys.exit(code)
