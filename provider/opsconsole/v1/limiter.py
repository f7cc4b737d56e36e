"""Decides when requests may be sent, and whether a call is made again.

All clients of one console share one `Limiter` and its `Rate`; each has a `CircuitBreaker`.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary, proxy

from opsconsole.errors import (
    AnswerLost,
    ApiError,
    ConsoleError,
    NotSent,
    TooManyRequests,
    Unauthorized,
)

_DECREASE = 0.97
_GROWTH = 0.1
_VAGUE = 1.3
"""Where the bounds of the granted rate differ by more than this factor, the rate grows faster."""
_FIRST_GUESS = 16.0
"""The upper bound of the granted rate, as a multiple of the lower one, until a rate was refused."""
_FIRST_BACKOFF = 0.25
_MIN_RATE = 0.05
_FIRST_IN_FLIGHT = 8


class Rate:
    """The rate at which requests are sent. It rises until the console refuses some requests.

    At a refusal, the console has granted only the requests that it accepted. Their number divided
    by the time since the previous refusal is a lower bound of the granted rate:

        a token bucket of 20/s refuses, then accepts 5 in 0.25 s, then refuses: 5 / 0.25 = 20

    From there the rate grows along a cubic, as TCP CUBIC does: slowly near the rate that was
    refused, and faster the longer no refusal comes. It reads no clock: times are arguments.
    """

    def __init__(self) -> None:
        self._most = math.inf
        self._base: float | None = None
        self._grows_from = self._resumed_at = 0.0
        self._growth_seconds = 1.0
        self._vague_measurements = 0
        self._refused_at: float | None = None
        self._accepted = self._burst = self._fruitless_pauses = 0
        self._next = -math.inf

    @property
    def most_in_flight(self) -> float:
        was_refused = self._refused_at is not None
        # After a refusal one request at a time shows whether the console accepts any.
        if was_refused and not self._accepted:
            return 1
        if self._base is not None:
            return math.inf
        # While no rate is known, the number grows slowly: the next refusal meets every request in
        # flight.
        return (1 if was_refused else _FIRST_IN_FLIGHT) + self._accepted // 2

    def per_second(self, now: float) -> float:
        """Return the requests a second that may be sent at the moment `now`."""
        if self._base is None:
            return self._most
        grown = max(0.0, now - self._grows_from) / self._growth_seconds
        growth = 1 + _GROWTH * ((grown if self._vague_measurements else 0.0) + grown**3)
        return min(self._most, self._base * growth)

    def wait(self, now: float) -> float:
        """Return the seconds until the next request may be sent."""
        return max(0.0, self._next - now)

    def note_sent(self, now: float, most: float = math.inf) -> None:
        """Note that a request is sent, and that its caller may send `most` requests a second."""
        self._most = most
        interval = 1 / self.per_second(now)
        idle = now - self._next
        if idle > max(interval, 0.01):
            # Where less was sent than the rate allows, nothing shows that the rate can be higher.
            self._grows_from += idle
        self._next = max(self._next, now) + interval

    def note_accepted(self, sent: float) -> None:
        """Note an answer other than 429 to a request that was sent at the moment `sent`."""
        if self._refused_at is None or sent > self._refused_at:
            self._fruitless_pauses = 0
            self._accepted += 1

    def note_refused(self, sent: float, now: float, asked: float | None) -> float:
        """Note a 429 and the wait that it asked for; return the seconds without requests."""
        pause = asked or 0.0
        if self._refused_at is None:
            self._burst = max(1, self._accepted)
        elif sent <= self._refused_at:
            # The refusals of requests that were under way together count as one.
            return pause
        elif self._accepted:
            # In a pause, a console saves up no more than it had saved up before the first refusal.
            beyond = (self._accepted - self._burst) / max(0.001, sent - self._resumed_at)
            granted = max(beyond, self._accepted / (sent - self._refused_at))
            self._measure(sent, granted, pause)
        else:
            self._fruitless_pauses += 1
        if self._fruitless_pauses or self._base is None:
            # Two seconds at most.
            backoff = _FIRST_BACKOFF * 2.0 ** min(self._fruitless_pauses, 3)
            pause = max(pause, backoff) if self._fruitless_pauses else pause or backoff
        elif not pause:
            pause = 1 / self._base
        self._accepted = 0
        self._refused_at = now
        self._next = self._grows_from = self._resumed_at = now + pause
        return pause

    def _measure(self, now: float, granted: float, pause: float) -> None:
        """Set the rate between the granted and the refused one."""
        refused = self.per_second(now)
        most = max(granted, refused if refused < math.inf else _FIRST_GUESS * granted)
        self._vague_measurements = self._vague_measurements + 1 if most > _VAGUE * granted else 0
        self._base = max(_MIN_RATE, _DECREASE * math.sqrt(granted * most))
        # Pauses may take a twentieth of the time, and one request in forty may be refused.
        self._growth_seconds = max(2.0, 40 / self._base, 50 * pause)
        if self._vague_measurements:
            self._growth_seconds = min(
                self._growth_seconds, 0.5 * 2.0 ** min(self._vague_measurements - 1, 8)
            )


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


class LargeAnswerSlot:
    """One caller's right to have a large answer in memory; `wanted` is true until it ends."""

    def __init__(self, large: asyncio.Lock) -> None:
        self._large = large
        self._held = False
        self.wanted = True

    async def take(self) -> None:
        """Wait until no other caller has a large answer."""
        if not self._held:
            await self._large.acquire()
            self._held = True
            # The caller has gone while this waited, and does not end the slot again.
            if not self.wanted:
                self.end()

    def end(self) -> None:
        """Let the next caller have a large answer."""
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
        # A limiter that held its loop would keep it in `_SHARED` for ever.
        loop = proxy(asyncio.get_running_loop())
        self.clock: Callable[[], float] = lambda: loop.time()
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
        """The callers that wait, and the seconds until the next request."""
        return HeldBack(len(self._callers), max(0.0, self._paused_until - self.clock()))

    @property
    def refused_for(self) -> float:
        """The seconds for which the console has answered nothing but 429."""
        since = self._only_refused_since
        return 0.0 if since is None else self.clock() - since

    async def take(self, owner: object, most: int, per_second: float | None = None) -> float | None:
        """Wait until a request may be sent, and return that moment; None after `wake(owner)`.

        At most `most` requests are in flight. This one counts until `give_back` is called for it.
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
            # If it was not admitted, `result` raises the same error.
            elif caller.admitted.result() is not None:
                # It was admitted just before it was cancelled, and never learns of it.
                self.give_back()
            raise

    def wake(self, owner: object) -> None:
        """Make the waiting callers of `owner` check whether they still want to send."""
        for caller in self._callers:
            if caller.owner is owner and not caller.admitted.done():
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
        """Note that the console limits requests, because an answer says when to come again."""
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
        """Admit the callers that may send; set a timer for the rest if only time is missing."""
        while self._callers:
            caller = self._callers[0]
            # It is admitted or woken, or its task was cancelled and has not run since.
            if caller.admitted.done():
                self._callers.popleft()
                continue
            if self.in_flight >= min(caller.most, self._rate.most_in_flight):
                return
            if self._delay() > 0:
                if self._timer is None:
                    self._timer = asyncio.ensure_future(self._wait())
                return
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


# Keyed by event loop, as a limiter holds a lock and the clock of its loop.
_SHARED: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Limiter]] = WeakKeyDictionary()


def shared_limiter(base_url: str) -> Limiter:
    """Return the limiter of all clients of `base_url` that the running event loop drives."""
    # A lock for which a caller has waited keeps its loop, and with it the entry.
    for closed in [loop for loop in _SHARED if loop.is_closed()]:
        del _SHARED[closed]
    limiters = _SHARED.setdefault(asyncio.get_running_loop(), {})
    return limiters.setdefault(base_url, Limiter())


_FIRST_WAIT = 0.25
_MOST_DOUBLINGS = 5
LONGEST_OBEYED = 120.0
"""Seconds. A call is not retried if the console asks for a longer wait (Retry-After). For a 429 the
setting `rate_limit_patience` counts instead."""
COOL_DOWN = 10.0
"""Seconds in which no call is made, after calls ran into their time limit, or after the console
refused every call for too long."""
_PASSING_STATUSES = frozenset({408, 425, 502, 503, 504})


class NotReachable(NotSent):
    """Not sent, for a reason that trying again does not solve: unknown host name, TLS failure."""


class OutOfTime(AnswerLost):
    """No answer came within the time limit of a request. A cut connection is another error."""


class CircuitBreaker:
    """Decides whether a call of one client is made, and whether it is made again.

    A 429 does not count as a failed try: it says when to send (the document leaves limits open:
    Limits).

    Args:
        retries: Tries after the first.
        timeout: Seconds that one request may take.
        clock: Seconds since some fixed moment.
    """

    def __init__(self, retries: int, timeout: float, clock: Callable[[], float]) -> None:
        self._retries = retries
        self._timeout = timeout
        self._clock = clock
        self._refusal: Unauthorized | TooManyRequests | None = None
        self._refused_until = self._cool_until = 0.0
        self._silent = False
        self._silent_since: float | None = None

    def check(self, operation: object) -> None:
        """Raise if a call would fail for the same reason as earlier calls.

        Raises:
            Unauthorized: The credentials were refused before; `already_reported` is true.
            TooManyRequests: The console refuses every call, for longer than a call may wait.
            NotSent: Calls have just run into their time limit; thousands more would take hours.
        """
        refusal, now = self._refusal, self._clock()
        if refusal is not None and now < self._refused_until:
            again = type(refusal)(refusal.answer, str(operation), refusal.remedy)
            again.already_reported = True
            raise again
        if self._silent and now < self._cool_until:
            raise NotSent(
                "The console gave no answer to the calls before; no call was made.",
                "Check base_url, the network, and whether the console is up.",
            )

    def note_refused(self, problem: Unauthorized | TooManyRequests, seconds: float) -> None:
        """Make no call for some seconds. Of several 401, only the first is reported in full."""
        if isinstance(self._refusal, Unauthorized):
            if isinstance(problem, Unauthorized):
                problem.already_reported = True
            return
        self._refusal = problem
        self._refused_until = self._clock() + seconds

    def note_answer(self) -> None:
        self._silent = False
        self._silent_since = None

    def next_delay(self, problem: ConsoleError, tried: int, *, idempotent: bool) -> float | None:
        """Return the seconds to wait before a call's next try, or None if there is none.

        A console is silent if one call used up its tries without any answer, or if no answer came
        for as long as that takes. Until it answers again, each further call gets one try. After a
        last try that ran out of time, no call is made for a while.

        Args:
            tried: Tries that failed so far, 1 or more.
            idempotent: Whether the call does no harm when made twice. Any other call, such as a
                create, is retried only if the last try certainly had no effect.
        """
        # A create whose answer is lost does not count: the call that settles its outcome must pass.
        unanswered = isinstance(problem, NotSent | AnswerLost if idempotent else NotSent)
        # A console that refuses or cuts connections costs no time, and may only have cut one.
        out_of_time = unanswered and isinstance(problem, OutOfTime)
        now = self._clock()
        if out_of_time:
            if self._silent_since is None:
                self._silent_since = now - self._timeout
            elif now - self._silent_since >= (self._retries + 1) * self._timeout:
                self._silent = True
        delay = None
        # A thousand resources must not each wait for a console that gives no answer.
        if not (unanswered and self._silent):
            delay = self._delay(problem, tried, idempotent=idempotent)
            if delay is None and unanswered:
                self._silent = tried > self._retries
        if delay is None and out_of_time:
            self._cool_until = now + COOL_DOWN
        return delay

    def _delay(self, problem: ConsoleError, tried: int, *, idempotent: bool) -> float | None:
        if isinstance(problem, ApiError):
            passes = problem.answer.status in _PASSING_STATUSES
        else:
            passes = isinstance(problem, NotSent | AnswerLost)
            passes = passes and not isinstance(problem, NotReachable)
        does_no_harm = idempotent or problem.had_no_effect
        if tried > self._retries or not passes or not does_no_harm:
            return None
        backoff = _FIRST_WAIT * 2.0 ** min(tried - 1, _MOST_DOUBLINGS)
        # The delay is random, so that calls that failed together are not retried together.
        return backoff * (0.5 + 0.5 * random.random())
