"""When a request may be sent: the one place that decides it, for all clients of one console.

How many may be in flight is `window`'s to find, and how many a second `pace`'s. Calls, retries and
bytes are not known here.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from opsconsole.v1.pace import Pace
from opsconsole.v1.window import Window


@dataclass(frozen=True, slots=True)
class HeldBack:
    """What is waited for: `callers` held back, `seconds` until the console may be asked again."""

    callers: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Place:
    """A request's place among those in flight; it is given back once, when the request has ended.

    Attributes:
        sent: When it was taken.
        beside: Requests in flight at that moment, this one included.
        is_probe: Whether it shows if the console accepts requests again.
    """

    sent: float
    beside: int
    is_probe: bool


@dataclass(eq=False, slots=True)
class _Caller:
    owner: object
    most: int
    admitted: asyncio.Future[Place | None]


class Limiter:
    """Lets requests go, one after the other in the order in which they were asked for.

    Attributes:
        in_flight: Requests that have not ended, abandoned ones included.
        large_answers: Held while a large answer is read, so that only one is in memory.
        clock: Seconds since some fixed moment.
        sleep: Waits some seconds.
    """

    def __init__(
        self,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sleep = sleep
        self.clock = clock
        self.in_flight = 0
        self.large_answers = asyncio.Lock()
        self._window = Window()
        self._pace = Pace()
        self._probes = 0
        self._callers: deque[_Caller] = deque()
        self._timer: asyncio.Task[None] | None = None
        self._paused_until = 0.0
        self._only_refused_since: float | None = None

    @property
    def waiting(self) -> HeldBack:
        """Who waits, and for how long the console is asked nothing."""
        return HeldBack(len(self._callers), max(0.0, self._paused_until - self.clock()))

    @property
    def refused_for(self) -> float:
        """The seconds for which the console has answered nothing but 429."""
        since = self._only_refused_since
        return 0.0 if since is None else self.clock() - since

    async def take(self, owner: object, most: int) -> Place | None:
        """Wait for a place, and return it; None if `wake(owner)` was called meanwhile.

        Args:
            owner: Who can be woken.
            most: Requests in flight at most.
        """
        if not self._callers and self._has_room(most):
            now = self.clock()
            if self._delay(now) <= 0:
                return self._taken(now)
        caller = _Caller(owner, most, asyncio.get_running_loop().create_future())
        self._callers.append(caller)
        self._admit()
        try:
            return await caller.admitted
        except asyncio.CancelledError:
            if caller in self._callers:
                self._callers.remove(caller)
                self._admit()
            elif not caller.admitted.cancelled() and (place := caller.admitted.result()):
                self.give_back(place)
            raise

    def wake(self, owner: object) -> None:
        """Let those of `owner` who wait look again whether they still want a place."""
        woken = [caller for caller in self._callers if caller.owner is owner]
        for caller in woken:
            self._callers.remove(caller)
            if not caller.admitted.done():
                caller.admitted.set_result(None)
        self._admit()

    def answered(self, place: Place, name: str, most: int) -> None:
        """Note that the console did what the operation `name` asks for."""
        self.accepted(place)
        self._window.answered(name, place.beside, place.sent, self.clock(), most)

    def accepted(self, place: Place) -> None:
        """Note an answer other than 429."""
        self._only_refused_since = None
        self._pace.accepted(place.sent)

    def refused(self, place: Place, asked: float | None) -> None:
        """Note a 429, which may ask to wait some seconds."""
        now = self.clock()
        if self._only_refused_since is None:
            self._only_refused_since = now
        was_known = self._pace.known
        if not was_known and not self._pace.probing:
            self._window.restart(now, 1)
        self._pause(now + self._pace.refused(place.sent, now, asked))
        if self._pace.known and not was_known:
            # From here on the rate says how much is sent.
            self._window.restart(now)

    def overloaded(self, place: Place, asked: float | None = None) -> None:
        """Note that the console cannot answer, or not in time; it may ask to wait some seconds."""
        now = self.clock()
        self._window.overloaded(place.sent, now)
        if asked is not None:
            self._pause(now + asked)

    def give_back(self, place: Place) -> None:
        """Let the next request have a place."""
        self.in_flight -= 1
        self._probes -= place.is_probe
        if self._callers:
            self._admit()

    def _pause(self, until: float) -> None:
        self._paused_until = max(self._paused_until, until)

    def _has_room(self, most: int) -> bool:
        if self._pace.probing and self._probes:
            return False
        return self.in_flight < min(most, self._window.size)

    def _delay(self, now: float) -> float:
        return max(self._paused_until - now, self._pace.wait(now))

    def _taken(self, now: float) -> Place:
        self.in_flight += 1
        is_probe = self._pace.probing
        self._probes += is_probe
        self._pace.sent(now)
        return Place(now, self.in_flight, is_probe)

    def _admit(self) -> None:
        """Let those go who may; have a timer call this again when there is only time to wait for.

        Another refusal or answer may change that time, so the timer looks again when it ends.
        """
        while self._callers:
            caller = self._callers[0]
            if caller.admitted.done():
                self._callers.popleft()
                continue
            if not self._has_room(caller.most):
                return
            now = self.clock()
            if self._delay(now) > 0:
                if self._timer is None:
                    self._timer = asyncio.ensure_future(self._wait())
                return
            self._callers.popleft()
            caller.admitted.set_result(self._taken(now))

    async def _wait(self) -> None:
        try:
            while self._callers and (delay := self._delay(self.clock())) > 0:
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
