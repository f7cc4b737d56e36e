"""Handles the signals that end a command, and holds them back during a clean-up.

Python raises KeyboardInterrupt between any two steps, even in the middle of a clean-up such as
closing a state.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""The signals that end a command."""

_INSISTENT = 3
"""This many signals end even a clean-up, which may wait for a server that does not answer."""


@contextmanager
def held_signals() -> Iterator[None]:
    """Hold back a signal until the end of the block, and deliver it once; the third comes at once.

    In any other thread than the main one, the block runs as it is.
    """
    # In Python, only the main thread gets signals and can set their handlers.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        arrived.append(number)
        if len(arrived) >= _INSISTENT:
            raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in SIGNALS}
    # None stands for a handler that is not Python's, which cannot be put back.
    taken = [number for number in SIGNALS if before[number] is not None]
    for number in taken:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])
        if arrived:
            signal.raise_signal(arrived[0])


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this command as Ctrl-C does: files are closed, locks released."""
    for number in SIGNALS:
        if number != signal.SIGINT and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def ignore_further() -> None:
    """Ignore further interrupts while an interrupted command ends."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
