"""Which calls are not made at all, because of what the console answered to others, or did not.

One client has one circuit breaker. When the calls that are made are sent, is the limiter's.
"""

from __future__ import annotations

from collections.abc import Callable

from opsconsole.errors import (
    AnswerLost,
    ConsoleError,
    NotSent,
    Problem,
    TooManyRequests,
    Unauthorized,
)
from opsconsole.v1.retry import OutOfTime, Retry

REST = 10.0
"""Seconds for which a console is asked nothing that lets calls run into their time limit, or that
refuses every call for too long."""


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
        while after one that was sent in vain: a thousand resources must not each wait for it. A
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
        """Leave a console alone that lets calls run out of time.

        One that refuses or cuts connections costs no time, and may only have cut that one.
        """
        if isinstance(problem, OutOfTime):
            self._rest_until = self._clock() + REST
