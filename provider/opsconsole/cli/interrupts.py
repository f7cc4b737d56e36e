"""Ctrl-C, SIGTERM and SIGHUP: once to finish what is in flight, twice to stop now."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from opsconsole.held_signals import SIGNALS

Result = TypeVar("Result")


class Interrupts:
    """The interrupts of one piece of work, and what each of them does."""

    def __init__(self, promise: str) -> None:
        """Know nothing to stop yet.

        Args:
            promise: What happens to what is in flight, for the message after the first one.
        """
        self.count = 0
        self._promise = promise
        self._stops: list[Callable[[], None]] = []
        self._abandons: list[Callable[[], None]] = []

    def on_stop(self, stop: Callable[[], None]) -> None:
        """Call `stop` at the first interrupt; at once, where it has come already."""
        self._stops.append(stop)
        if self.count:
            stop()

    def on_abandon(self, abandon: Callable[[], None]) -> None:
        """Call `abandon` at the second interrupt."""
        self._abandons.append(abandon)

    def arrive(self) -> None:
        """Take one interrupt."""
        self.count += 1
        if self.count == 1:
            sys.stderr.write(f"\nInterrupted: {self._promise}. Press Ctrl-C again to stop now.\n")
        elif self.count == 2:
            sys.stderr.write("\nStopping now.\n")
        sys.stderr.flush()
        for call in {1: self._stops, 2: self._abandons}.get(self.count, ()):
            call()


def run_stoppable(
    runner: asyncio.Runner,
    work: Callable[[Interrupts], Coroutine[Any, Any, Result]],
    promise: str = "requests in flight are finished, and none is begun",
) -> Result:
    """Run `work` to its end and return its result; interrupts go to what it registers.

    Not as the runner's own result: it asks for the signal handler afterwards, and Python then
    writes out the finished task, a plan of fifty thousand changes included, for an error that
    nobody sees.

    Raises:
        KeyboardInterrupt: A second interrupt ended it.
    """
    results: list[Result] = []
    interrupts = Interrupts(promise)

    async def watched() -> None:
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in SIGNALS}
        task = asyncio.ensure_future(work(interrupts))

        def cancel() -> None:
            task.cancel()

        interrupts.on_abandon(cancel)
        for number in SIGNALS:
            loop.add_signal_handler(number, interrupts.arrive)
        try:
            results.append(await task)
        except asyncio.CancelledError:
            if interrupts.count < 2:
                raise
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)
                # What follows an interrupt is the command's end, which none may cut off.
                signal.signal(number, signal.SIG_IGN if interrupts.count else before[number])

    runner.run(watched())
    if not results:
        raise KeyboardInterrupt
    return results[0]
