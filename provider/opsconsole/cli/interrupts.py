"""The event loop that commands run in; Ctrl-C, SIGTERM and SIGHUP end the work cleanly.

The first interrupt lets requests in flight finish. The second one stops at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from opsconsole.cli.standard_streams import flush_output, lost_output_reason
from opsconsole.errors import Stopped
from opsconsole.held_signals import SIGNALS

Result = TypeVar("Result")


class Stoppable(Protocol):
    def stop(self) -> None:
        """Begin no further request; requests in flight finish."""


class Interrupts:
    """The interrupts of one piece of work, and their effects.

    Args:
        promise: How the work ends after the first interrupt, for the message.

    Attributes:
        count: The number of interrupts so far; a terminal that went away does not count.
        stopped: Whether the work was told to stop.
    """

    def __init__(self, promise: str) -> None:
        self.count = 0
        self.stopped = False
        self._promise = promise
        # `isatty` is False once the terminal is closed, so it is asked now.
        self._terminals = [item.fileno() for item in (sys.stdout, sys.stderr) if item.isatty()]
        self._watched: list[Stoppable] = []
        self._abandons: list[Callable[[], None]] = []

    def watch(self, work: Stoppable) -> None:
        """Stop `work` at the first interrupt, or at once if it has come already."""
        self._watched.append(work)
        if self.stopped:
            work.stop()

    def on_abandon(self, abandon: Callable[[], None]) -> None:
        self._abandons.append(abandon)

    def arrive(self, number: int) -> None:
        """Handle one signal; the second signal that is not SIGHUP stops the work at once."""
        hung_up = number == getattr(signal, "SIGHUP", None)
        if hung_up:
            _discard_output(self._terminals)
        self._stop("Interrupted", "again")
        # A terminal that goes away sends SIGHUP more than once, and a program that ends its child
        # may send other signals as well. Only a second interrupt asks to stop at once.
        self.count += not hung_up
        if self.count == 2 and not hung_up:
            for abandon in self._abandons:
                abandon()
            _write_to_stderr("\nStopping now.\n")

    def lose_output(self) -> None:
        """Stop as after an interrupt, because nobody reads the output any more."""
        # The Ctrl-C that ended the reader may arrive next, so stopping at once takes two more.
        self._stop(f"Interrupted, because {lost_output_reason()}", "twice")

    def _stop(self, because: str, presses: str) -> None:
        if self.stopped:
            return
        self.stopped = True
        for work in self._watched:
            work.stop()
        _write_to_stderr(f"\n{because}: {self._promise}. Press Ctrl-C {presses} to stop now.\n")


def _write_to_stderr(text: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _discard_output(terminals: Sequence[int]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in terminals:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def make_runner() -> asyncio.Runner:
    """Return a runner on uvloop."""
    import uvloop

    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def run_stoppable(
    runner: asyncio.Runner,
    work: Callable[[Interrupts], Coroutine[Any, Any, Result]],
    promise: str = "requests in flight are finished, and none is begun",
) -> Result:
    """Run `work` to its end and return its result; interrupts call the functions it registers.

    Raises:
        KeyboardInterrupt: A second interrupt ended it.
        Stopped: Earlier output did not arrive; nothing is started.
    """
    if lost := lost_output_reason():
        raise Stopped(f"Nothing was begun, because {lost}.")
    # The result does not go through the runner. The runner asks for the signal handler afterwards,
    # and Python then formats the finished task for an error that nobody sees. The task may hold a
    # plan of fifty thousand changes.
    results: list[Result] = []
    interrupts = Interrupts(promise)
    stdout = flush_output()

    async def run_work() -> None:
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in SIGNALS}
        task = asyncio.ensure_future(work(interrupts))

        def cancel() -> None:
            task.cancel()

        interrupts.on_abandon(cancel)
        if stdout is not None and stdout.stops_when_unread:
            # Another thread may have written, such as the one that draws progress.
            stdout.on_failure = partial(loop.call_soon_threadsafe, interrupts.lose_output)
        for number in SIGNALS:
            loop.add_signal_handler(number, interrupts.arrive, number)
        try:
            results.append(await task)
        except asyncio.CancelledError:
            # The second interrupt cancels the work. KeyboardInterrupt is raised for it below.
            if interrupts.count < 2:
                raise
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)
                # After an interrupt the command ends, and a further interrupt must not cut the
                # ending off.
                signal.signal(number, signal.SIG_IGN if interrupts.stopped else before[number])

    try:
        runner.run(run_work())
    finally:
        if stdout is not None:
            stdout.on_failure = None
    if not results:
        raise KeyboardInterrupt
    return results[0]
