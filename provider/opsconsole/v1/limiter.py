"""Whether a call is made, and when its request may be sent.

One client has one `CircuitBreaker`; all clients of one console share one `Limiter`. `Turn` lets one
large answer at a time be in memory. `capacity` finds what load a console accepts.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from opsconsole.errors import (
    AnswerLost,
    ConsoleError,
    NotSent,
    Problem,
    TooManyRequests,
    Unauthorized,
)
from opsconsole.v1.capacity import Pace, Window
from opsconsole.v1.retry import OutOfTime, Retry

REST = 10.0
"""Seconds for which a console is asked nothing that lets calls run into their time limit, or that
refuses every call for too long."""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """How many `callers` are held back, and the `seconds` until the console may be asked again."""

    callers: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Slot:
    """The right of one request to be in flight; it is given back once, when the request has ended.

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
    admitted: asyncio.Future[Slot | None]


class Turn:
    """One caller's turn to have a large answer in memory; it lasts until the caller ends it.

    Attributes:
        wanted: Whether the caller still wants the answer.
    """

    __slots__ = ("_held", "_large", "wanted")

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
        """How many callers wait, and for how long the console is asked nothing."""
        return HeldBack(len(self._callers), max(0.0, self._paused_until - self.clock()))

    @property
    def refused_for(self) -> float:
        """The seconds for which the console has answered nothing but 429."""
        since = self._only_refused_since
        return 0.0 if since is None else self.clock() - since

    async def take(self, owner: object, most: int) -> Slot | None:
        """Wait for a slot, and return it; None if `wake(owner)` was called meanwhile.

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
            elif not caller.admitted.cancelled() and (slot := caller.admitted.result()):
                self.give_back(slot)
            raise

    def wake(self, owner: object) -> None:
        """Make the waiting callers of `owner` check whether they still want a slot."""
        woken = [caller for caller in self._callers if caller.owner is owner]
        for caller in woken:
            self._callers.remove(caller)
            if not caller.admitted.done():
                caller.admitted.set_result(None)
        self._admit()

    def answered(self, slot: Slot, name: str, most: int) -> None:
        """Note that the console did what the operation `name` asks for."""
        self.accepted(slot)
        self._window.answered(name, slot.beside, slot.sent, self.clock(), most)

    def accepted(self, slot: Slot) -> None:
        """Note an answer other than 429."""
        self._only_refused_since = None
        self._pace.accepted(slot.sent)

    def refused(self, slot: Slot, asked: float | None) -> None:
        """Note a 429, which may ask to wait some seconds."""
        now = self.clock()
        if self._only_refused_since is None:
            self._only_refused_since = now
        self._slow_down(slot, now, asked)

    def _slow_down(self, slot: Slot, now: float, asked: float | None) -> None:
        was_known = self._pace.known
        if not was_known and not self._pace.probing:
            self._window.restart(now, 1)
        self._pause(now + self._pace.refused(slot.sent, now, asked))
        if self._pace.known and not was_known:
            # From here on the rate says how much is sent.
            self._window.restart(now)

    def overloaded(self, slot: Slot, asked: float | None = None) -> None:
        """Note that the console cannot answer, or not in time; it may ask to wait some seconds."""
        now = self.clock()
        self._window.overloaded(slot.sent, now)
        if asked is not None:
            # A console that says when to come again counts requests, whatever the status.
            self._slow_down(slot, now, asked)

    def give_back(self, slot: Slot) -> None:
        """Let the next request have a slot."""
        self.in_flight -= 1
        self._probes -= slot.is_probe
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

    def _taken(self, now: float) -> Slot:
        self.in_flight += 1
        is_probe = self._pace.probing
        self._probes += is_probe
        self._pace.sent(now)
        return Slot(now, self.in_flight, is_probe)

    def _admit(self) -> None:
        """Let callers go that may; set a timer to call this again if only time is missing.

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


class CircuitBreaker:
    """Fails calls at once that would only fail like those before them.

    Args:
        retry: How often a call is tried.
        timeout: Seconds that one request may take.
        clock: Seconds since some fixed moment.
    """

    def __init__(self, retry: Retry, timeout: float, clock: Callable[[], float]) -> None:
        self._retry = retry
        self._longest_silence = (retry.tries + 1) * timeout
        self._timeout = timeout
        self._clock = clock
        self._refusal: Problem | None = None
        self._silent = False
        self._silent_since: float | None = None
        self._rest_until = 0.0
        self._flood: TooManyRequests | None = None
        self._flood_until = 0.0

    def check(self, operation: object) -> None:
        """Let a call pass unless it would fail as others did.

        Raises:
            Unauthorized: the credentials were refused before; `explained` is true.
            TooManyRequests: the console refuses every call, and will go on for too long.
            NotSent: the console has just let calls run out of time; ten thousand more would take
                hours and show nothing new.
        """
        if self._refusal is not None:
            refused = Unauthorized(self._refusal, str(operation))
            refused.explained = True
            raise refused
        if self._flood is not None and self._clock() < self._flood_until:
            raise TooManyRequests(self._flood.problem, str(operation), self._flood.remedy)
        if self._silent and self._clock() < self._rest_until:
            raise NotSent(
                "The console gave no answer to the calls before; no call was made.",
                "Check base_url, the network, and whether the console is up.",
            )

    def refused(self, problem: Unauthorized) -> None:
        """Note a 401: the first one is explained, and no further call is made."""
        problem.explained = self._refusal is not None
        self._refusal = self._refusal or problem.problem

    def flooded(self, problem: TooManyRequests, seconds: float = REST) -> None:
        """Note a 429 that is not worth waiting for: no call is made for some seconds."""
        self._flood = problem
        self._flood_until = self._clock() + seconds

    def answered(self) -> None:
        """Note that the console answers."""
        self._silent = False
        self._silent_since = None

    def next_delay(self, problem: ConsoleError, tried: int, *, repeatable: bool) -> float | None:
        """Return the seconds to wait before a call's next try, None where it has none.

        A console that let one call use up its tries without any answer, or gave none for as long
        as that takes, gets one try for each further call until it answers again, and none for a
        while after one that got no answer: a thousand resources must not each wait for it. A
        create whose answer is lost says nothing of the kind: the call that settles its outcome
        must pass. Arguments as of `Retry.delay`.
        """
        counted = NotSent | AnswerLost if repeatable else NotSent
        unanswered = isinstance(problem, counted)
        if unanswered:
            self._note_silence(problem)
        if unanswered and self._silent:
            self._rest(problem)
            return None
        delay = self._retry.delay(problem, tried, repeatable=repeatable)
        if delay is None and unanswered:
            self._silent = tried > self._retry.tries
            self._rest(problem)
        return delay

    def _note_silence(self, problem: ConsoleError) -> None:
        if not isinstance(problem, OutOfTime):
            return
        now = self._clock()
        if self._silent_since is None:
            self._silent_since = now - self._timeout
        elif now - self._silent_since >= self._longest_silence:
            self._silent = True

    def _rest(self, problem: ConsoleError) -> None:
        """Send nothing for a while to a console that lets calls run out of time.

        One that refuses or cuts connections costs no time, and may only have cut that one.
        """
        if isinstance(problem, OutOfTime):
            self._rest_until = self._clock() + REST
