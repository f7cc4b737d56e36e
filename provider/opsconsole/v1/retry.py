"""Decides whether and when a call is retried, and which calls fail at once because others did."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from opsconsole.errors import (
    AnswerLost,
    ApiError,
    ConsoleError,
    NotSent,
    TooManyRequests,
    Unauthorized,
)

_FIRST_WAIT = 0.25
_MOST_DOUBLINGS = 5
LONGEST_OBEYED = 120.0
"""Seconds. A call is not retried if the console asks for a longer wait (Retry-After). For a 429 the
setting `rate_limit_patience` counts instead."""

_PASSING_STATUSES = frozenset({408, 425, 502, 503, 504})


class NotReachable(NotSent):
    """Not sent, for a reason that trying again does not solve: unknown host name, TLS failure."""


class OutOfTime(AnswerLost):
    """No answer came within the time limit of a request. A cut connection is another error."""


def _is_passing(problem: ConsoleError) -> bool:
    if isinstance(problem, ApiError):
        return problem.answer.status in _PASSING_STATUSES
    return isinstance(problem, NotSent | AnswerLost) and not isinstance(problem, NotReachable)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, or None (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return float(value.lstrip("0")[:9] or 0)
    until = _timestamp(value)
    if until is None:
        return None
    # The clocks of the two machines may differ, so the answer's own Date comes first.
    sent = _timestamp(headers.get("date", ""))
    return max(0.0, until - (time.time() if sent is None else sent))


def _timestamp(value: str) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
        # HTTP dates are UTC; the older form names no zone (RFC 9110, 5.6.7).
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


COOL_DOWN = 10.0
"""Seconds in which no call is made, after calls ran into their time limit, or after the console
refused every call for too long."""


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
        if tried > self._retries or not _is_passing(problem):
            return None
        if not idempotent and not problem.had_no_effect:
            return None
        backoff = _FIRST_WAIT * 2.0 ** min(tried - 1, _MOST_DOUBLINGS)
        # The delay is random, so that calls that failed together are not retried together.
        return backoff * (0.5 + 0.5 * random.random())
