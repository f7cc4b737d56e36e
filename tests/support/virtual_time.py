"""An event loop whose clock jumps to the next timer: nothing ever waits."""

import asyncio
import selectors
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Clock:
    """Seconds since the beginning. Several loops may share it, one after the other."""

    now: float = 0.0

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    # So that it can stand in the place of the module `time`.
    sleep = advance

    def monotonic(self) -> float:
        """Return the time."""
        return self.now


class _Nothing(selectors.SelectSelector):
    """Waits for no file: time jumps to the next timer."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "everybody waits for something that never comes"
        self._clock.advance(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs tasks, timers and threads in virtual time; sockets do not work on it.

    A thread is a call that runs whole, after a delay.
    """

    def __init__(self, clock: Clock | None = None, delay: Callable[[], float] = float) -> None:
        """Share a clock; `delay` returns the seconds until a thread runs."""
        self.clock = clock or Clock()
        super().__init__(_Nothing(self.clock))
        self._delay = delay
        self.signals: dict[int, Callable[[], object]] = {}

    def time(self) -> float:
        """Return the virtual time."""
        return self.clock.now

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """Call a function later, as a thread would."""
        future = self.create_future()

        def work() -> None:
            if future.cancelled():
                return
            try:
                future.set_result(func(*args))
            except Exception as error:
                future.set_exception(error)

        self.call_later(self._delay(), work)
        return future

    def add_signal_handler(self, sig: int, callback: Any, *args: Any) -> None:
        """Note what a signal does; the test sends it by `signals`."""
        self.signals[sig] = lambda: self.call_soon(callback, *args)

    def remove_signal_handler(self, sig: int) -> bool:
        """Forget what a signal does."""
        return self.signals.pop(sig, None) is not None
