"""When a request may be sent; all clients of one console share one `Limiter`."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from opsconsole.v1.rate import Rate


@dataclass(frozen=True, slots=True)
class HeldBack:
    """How many `callers` are held back, and the `seconds` until the console may be asked again."""

    callers: int
    seconds: float


@dataclass(eq=False, slots=True)
class _Caller:
    owner: object
    most: int
    per_second: float
    admitted: asyncio.Future[float | None]


class Turn:
    """One caller's turn to have a large answer in memory; `wanted` until the caller ends it."""

    def __init__(self, large: asyncio.Lock) -> None:
        self._large = large
        self._held = False
        self.wanted = True

    async def take(self) -> None:
        """Wait until no other caller has a large answer."""
        if not self._held:
            await self._large.acquire()
            self._held = True
            if not self.wanted:
                self.end()

    def end(self) -> None:
        """Let the next caller have its turn."""
        self.wanted = False
        if self._held:
            self._held = False
            self._large.release()


class Limiter:
    """Admits requests, one after the other in the order in which they were asked for.

    Attributes:
        in_flight: Requests that have not ended, abandoned ones included.
        large_answers: Held while a large answer is read, so that only one is in memory.
        clock: The time of the event loop that runs when it is made.
        sleep: Waits some seconds of that time.
    """

    def __init__(self) -> None:
        self.clock: Callable[[], float] = asyncio.get_running_loop().time
        self.sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
        self.in_flight = 0
        self.large_answers = asyncio.Lock()
        self._rate = Rate()
        self._callers: deque[_Caller] = deque()
        self._timer: asyncio.Task[None] | None = None
        self._paused_until = 0.0
        self._only_refused_since: float | None = None

    @property
    def waiting(self) -> HeldBack:
        """How many callers wait, and for how long the console is asked nothing."""
        return HeldBack(len(self._callers), max(0.0, self._paused_until - self.clock()))

    @property
    def refused_for(self) -> float:
        """The seconds for which the console has answered nothing but 429."""
        since = self._only_refused_since
        return 0.0 if since is None else self.clock() - since

    async def take(self, owner: object, most: int, per_second: float | None = None) -> float | None:
        """Wait until a request may be sent, and return that moment; None: `wake(owner)` was called.

        No more than `most` requests are in flight; this one is until it is given back, once. The
        next one is begun as long after it as `per_second` asks for.
        """
        admitted = asyncio.get_running_loop().create_future()
        caller = _Caller(owner, most, per_second or math.inf, admitted)
        self._callers.append(caller)
        self._admit()
        try:
            return await caller.admitted
        except asyncio.CancelledError:
            if caller in self._callers:
                self._callers.remove(caller)
                self._admit()
            elif not caller.admitted.cancelled() and caller.admitted.result() is not None:
                self.give_back()
            raise

    def wake(self, owner: object) -> None:
        """Make the waiting callers of `owner` check whether they still want to send."""
        for caller in [caller for caller in self._callers if caller.owner is owner]:
            self._callers.remove(caller)
            if not caller.admitted.done():
                caller.admitted.set_result(None)
        self._admit()

    def note_accepted(self, sent: float) -> None:
        """Note an answer other than 429 to a request that was sent at the moment `sent`."""
        self._only_refused_since = None
        self._rate.note_accepted(sent)

    def note_refused(self, sent: float, asked: float | None) -> None:
        """Note a 429, which may ask to wait some seconds."""
        if self._only_refused_since is None:
            self._only_refused_since = self.clock()
        self.slow_down(sent, asked)

    def slow_down(self, sent: float, asked: float | None) -> None:
        """Note that the console counts requests, as one does that says when to come again."""
        now = self.clock()
        self._paused_until = max(
            self._paused_until, now + self._rate.note_refused(sent, now, asked)
        )

    def give_back(self) -> None:
        """Note that a request has ended."""
        self.in_flight -= 1
        self._admit()

    def _delay(self) -> float:
        now = self.clock()
        return max(self._paused_until - now, self._rate.wait(now))

    def _admit(self) -> None:
        """Let callers go that may; set a timer to call this again if only time is missing."""
        while self._callers:
            caller = self._callers[0]
            if caller.admitted.done():
                self._callers.popleft()
                continue
            if self.in_flight >= min(caller.most, self._rate.most_in_flight):
                return
            if self._delay() > 0:
                if self._timer is None:
                    self._timer = asyncio.ensure_future(self._wait())
                return
            self._callers.popleft()
            now = self.clock()
            self.in_flight += 1
            self._rate.note_sent(now, caller.per_second)
            caller.admitted.set_result(now)

    async def _wait(self) -> None:
        try:
            # Another refusal or answer may change the time while it passes.
            while self._callers and (delay := self._delay()) > 0:
                await self.sleep(delay)
        finally:
            self._timer = None
            self._admit()

    async def aclose(self) -> None:
        """End the timer, if nobody waits for it."""
        if self._timer is not None and not self._callers:
            self._timer.cancel()
            await asyncio.gather(self._timer, return_exceptions=True)


_SHARED: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Limiter]] = WeakKeyDictionary()


def shared_limiter(origin: str) -> Limiter:
    """Return the limiter of all clients of `origin` that the running event loop drives."""
    limiters = _SHARED.setdefault(asyncio.get_running_loop(), {})
    return limiters.setdefault(origin, Limiter())
