"""Ctrl-C during an apply: once to finish what is in flight, twice to stop now."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Counts interrupts, and hands the first and the second on."""

    def __init__(self, finish: Callable[[], None], abandon: Callable[[], None]) -> None:
        self._finish = finish
        self._abandon = abandon
        self.count = 0

    def arrive(self) -> None:
        """Take one interrupt."""
        self.count += 1
        if self.count == 1:
            sys.stderr.write(
                "\nInterrupted: what is in flight is finished and saved. Press Ctrl-C again to "
                "stop now.\n"
            )
            self._finish()
        elif self.count == 2:
            sys.stderr.write("\nStopping now.\n")
            self._abandon()


@contextmanager
def interrupts(finish: Callable[[], None], abandon: Callable[[], None]) -> Iterator[Interrupts]:
    """Hand Ctrl-C, and SIGTERM, to these functions while the block runs in an event loop."""
    loop = asyncio.get_running_loop()
    taken = Interrupts(finish, abandon)
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        loop.add_signal_handler(number, taken.arrive)
    try:
        yield taken
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])
