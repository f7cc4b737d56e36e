"""Kill this process at one of the things that it does outside of itself.

A point is before a request, after its answer, before a file operation, or halfway through a write.
"""

import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from opsconsole.state import opening
from opsconsole.state.session import Cadence
from opsconsole.v1.transport import Reply, Transport

_OPERATIONS = ("fchmod", "fdatasync", "fsync", "ftruncate", "posix_fallocate", "replace", "unlink")


class Points:
    """Counts what happens, and kills this process at the point of a number; 0: at none."""

    def __init__(self, point: int) -> None:
        self._left = point
        self._lock = threading.Lock()

    def reached(self, before_the_end: Callable[[], object] = lambda: None) -> None:
        """Pass a point, or die there.

        Args:
            before_the_end: What is left half done.
        """
        with self._lock:
            self._left -= 1
            if not self._left:
                before_the_end()
                # With the lock held: no other thread does anything more.
                os.kill(os.getpid(), signal.SIGKILL)


def watch_files(points: Points) -> None:
    """Make every operation on a file a point."""
    for name in _OPERATIONS:
        _watch(points, name)
    real_write, real_open = os.pwrite, os.open

    def pwrite(descriptor: int, data: Any, at: int) -> int:
        half = bytes(data)[: len(data) // 2]
        points.reached(lambda: real_write(descriptor, half, at))
        return real_write(descriptor, data, at)

    def open_(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & os.O_CREAT:
            points.reached()
        return real_open(path, flags, *rest, **named)

    os.pwrite = pwrite
    os.open = open_


def _watch(points: Points, name: str) -> None:
    real = getattr(os, name)

    def watched(*args: Any, **named: Any) -> Any:
        points.reached()
        return real(*args, **named)

    setattr(os, name, watched)


def watch_requests(points: Points) -> None:
    """Make every request two points: nothing was sent, and its answer is not yet used."""
    real = Transport.send

    async def send(self: Transport, method: str, url: str, *rest: Any) -> Reply:
        points.reached()
        reply = await real(self, method, url, *rest)
        points.reached()
        return reply

    Transport.send = send  # type: ignore[method-assign]  # nobody else may hear of the points


def write_often() -> None:
    """Have state written every few changes, so that writes fall between all kinds of requests."""
    opening.Cadence = partial(Cadence, changes=8, share=1.0)  # type: ignore[misc,assignment]
