"""When a call is made again, and after how long. Clock and chance are arguments."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from opsconsole.errors import AnswerLost, ApiError, ConsoleError, NotSent

_FIRST_WAIT = 0.25
_LONGEST_WAIT = 8.0
LONGEST_OBEYED = 120.0
"""Seconds: a console that asks for a longer wait (Retry-After) gets no further try. For a 429 the
setting `rate_limit_patience` counts instead."""

_PASSING_STATUSES = frozenset({408, 425, 502, 503, 504})


class NotReachable(NotSent):
    """Not sent, for a reason that trying again does not solve: unknown host name, TLS failure."""


class OutOfTime(AnswerLost):
    """No answer within the time that one request may take, unlike one that broke off."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The table of retries (the document leaves limits open: Limits).

    A 429 is not in it: it says when to send, not that a call failed.

    Attributes:
        tries: Tries after the first.
        chance: Returns a number from 0 to 1.
    """

    tries: int
    chance: Callable[[], float] = random.random

    def delay(self, problem: ConsoleError, tried: int, *, repeatable: bool) -> float | None:
        """Return the seconds to wait before the next try; None: there is none.

        Args:
            problem: Why the last try failed.
            tried: Tries that failed so far, 1 or more.
            repeatable: Whether the call does no harm when made twice. One that may (a create) is
                made again only where the last try certainly had no effect.
        """
        if tried > self.tries or not _is_passing(problem):
            return None
        if not repeatable and not problem.safe_to_repeat:
            return None
        backoff = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(tried - 1, 16))
        return backoff * (0.5 + 0.5 * self.chance())


def _is_passing(problem: ConsoleError) -> bool:
    if isinstance(problem, ApiError):
        return problem.problem.status in _PASSING_STATUSES
    return isinstance(problem, NotSent | AnswerLost) and not isinstance(problem, NotReachable)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, or None.

    It holds seconds or an HTTP date (RFC 9110, 10.2.3). A date is measured against the answer's
    own Date where there is one: the clocks of the two machines may differ.
    """
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return float(value[:9])
    until = _timestamp(value)
    if until is None:
        return None
    sent = _timestamp(headers.get("date", ""))
    return max(0.0, until - (time.time() if sent is None else sent))


def _timestamp(value: str) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
        # HTTP dates are UTC, also those of the older form that names no zone (RFC 9110, 5.6.7).
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
