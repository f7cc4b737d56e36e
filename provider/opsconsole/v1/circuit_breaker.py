"""Calls that would only fail like those before them fail at once."""

from __future__ import annotations

import math
from collections.abc import Callable

from opsconsole.errors import AnswerLost, ConsoleError, NotSent, TooManyRequests, Unauthorized
from opsconsole.v1.retry import OutOfTime, Retry

REST = 10.0
"""Seconds for which a console is asked nothing that lets calls run into their time limit, or that
refuses every call for too long."""


class CircuitBreaker:
    """Decides whether a call of one client is made, and whether it is made again.

    Args:
        retry: How often a call is tried.
        timeout: Seconds that one request may take.
        clock: Seconds since some fixed moment.
    """

    def __init__(self, retry: Retry, timeout: float, clock: Callable[[], float]) -> None:
        self._retry = retry
        self._timeout = timeout
        self._clock = clock
        self._refusal: Unauthorized | TooManyRequests | None = None
        self._refused_until = 0.0
        self._silent = False
        self._silent_since: float | None = None
        self._rest_until = 0.0

    def check(self, operation: object) -> None:
        """Let a call pass unless it would fail as others did.

        Raises:
            Unauthorized: the credentials were refused before; `explained` is true.
            TooManyRequests: the console refuses every call, and will go on for too long.
            NotSent: the console has just let calls run out of time; ten thousand more would take
                hours and show nothing new.
        """
        refusal, now = self._refusal, self._clock()
        if refusal is not None and now < self._refused_until:
            again = type(refusal)(refusal.problem, str(operation), refusal.remedy)
            if isinstance(again, Unauthorized):
                again.explained = True
            raise again
        if self._silent and now < self._rest_until:
            raise NotSent(
                "The console gave no answer to the calls before; no call was made.",
                "Check base_url, the network, and whether the console is up.",
            )

    def refused(self, problem: Unauthorized | TooManyRequests, seconds: float = math.inf) -> None:
        """Make no call for some seconds. Of the 401 only the first one is explained."""
        if isinstance(self._refusal, Unauthorized):
            if isinstance(problem, Unauthorized):
                problem.explained = True
            return
        self._refusal = problem
        self._refused_until = self._clock() + seconds

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
        unanswered = isinstance(problem, NotSent | AnswerLost if repeatable else NotSent)
        # A console that refuses or cuts connections costs no time, and may only have cut one.
        out_of_time = unanswered and isinstance(problem, OutOfTime)
        now = self._clock()
        if out_of_time:
            if self._silent_since is None:
                self._silent_since = now - self._timeout
            elif now - self._silent_since >= (self._retry.tries + 1) * self._timeout:
                self._silent = True
        delay = None
        if not (unanswered and self._silent):
            delay = self._retry.delay(problem, tried, repeatable=repeatable)
            if delay is None and unanswered:
                self._silent = tried > self._retry.tries
        if delay is None and out_of_time:
            self._rest_until = now + REST
        return delay
