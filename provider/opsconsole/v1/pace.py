"""The rate that a console bears, found from its refusals (429). Pure but for the times it is given.

A console that counts requests has nothing left at the moment of a refusal. What it accepted between
two refusals, divided by the time between them, is the rate that it grants, or less where it could
not save up all that was left unused. The rate at which it refused is more than it grants.
"""

from __future__ import annotations

import math

_DECREASE = 0.95
_INCREASE = 0.1
_INCREASE_SECONDS = 2.0
_INCREASE_REQUESTS = 40
_SEARCH_SECONDS = 0.5
_COST_SHARE = 15.0
_VAGUE = 1.5
_BOLDEST = 16.0
_FIRST_BACKOFF = 0.25
_LONGEST_BACKOFF = 2.0
_LEAST_RATE = 0.05


class Pace:
    """How many requests a second are sent: as many as can be, until the console refuses some.

    Each refusal sets the rate to a little less than was measured. From there it grows by a tenth
    in `_INCREASE_SECONDS`, in the time of `_INCREASE_REQUESTS`, or in `_COST_SHARE` times the pause
    that a refusal costs, whichever is longest, and the faster the longer no refusal comes. While
    the rate that was refused is more than `_VAGUE` times the one measured, the truth is looked for
    between the two, faster.

    Attributes:
        probing: Whether nothing was accepted since the last refusal: one request at a time shows
            whether the console accepts any.
    """

    def __init__(self) -> None:
        self.probing = False
        self._base: float | None = None
        self._grows_from = 0.0
        self._growth_seconds = _INCREASE_SECONDS
        self._refused_at: float | None = None
        self._accepted = 0
        self._first_sent = self._last_sent = 0.0
        self._vague = 0
        self._in_vain = 0
        self._next = 0.0

    @property
    def known(self) -> bool:
        """Whether a rate was measured."""
        return self._base is not None

    def rate(self, now: float) -> float | None:
        """Return the requests a second at the moment `now`, None where there is no limit."""
        if self._base is None:
            return None
        grown = max(0.0, now - self._grows_from) / self._growth_seconds
        return self._base * (1 + _INCREASE * (grown + grown**3))

    def wait(self, now: float) -> float:
        """Return the seconds until the next request may be sent."""
        return 0.0 if self._base is None else max(0.0, self._next - now)

    def sent(self, now: float) -> None:
        """Note that a request is sent."""
        rate = self.rate(now)
        if rate is not None:
            interval = 1 / rate
            # A timer that fires late is made up for, by half an interval at most.
            self._next = max(self._next, now - interval / 2) + interval

    def accepted(self, sent: float) -> None:
        """Note an answer other than 429 to a request that was sent at the moment `sent`."""
        if self._refused_at is None or sent < self._refused_at:
            return
        self.probing = False
        self._in_vain = 0
        if not self._accepted:
            self._first_sent = self._last_sent = sent
        self._accepted += 1
        self._last_sent = max(self._last_sent, sent)

    def refused(self, sent: float, now: float, asked: float | None) -> float:
        """Note a 429, and return the seconds for which nothing is to be sent.

        Args:
            sent: When its request was sent. The refusals of requests that were under way together
                count as one.
            now: When it was heard.
            asked: The seconds of its Retry-After.
        """
        if self._refused_at is not None and sent < self._refused_at:
            return asked or 0.0
        if self._accepted:
            self._measure(sent, now)
        elif self.probing:
            self._in_vain += 1
        pause = self._pause() if asked is None or self._in_vain else 0.0
        pause = max(pause, asked or 0.0)
        self._next = now + pause
        self.probing = True
        self._accepted = 0
        self._refused_at = now
        self._grows_from = now + pause
        self._growth_seconds = max(
            _INCREASE_SECONDS,
            _INCREASE_REQUESTS / self._base if self._base else 0.0,
            _COST_SHARE * pause if asked else 0.0,
        )
        if self._vague:
            searched = _SEARCH_SECONDS * 2.0 ** min(self._vague - 1, 8)
            self._growth_seconds = min(self._growth_seconds, searched)
        return pause

    def _measure(self, sent: float, now: float) -> None:
        assert self._refused_at is not None
        measured = self._accepted / max(self._last_sent - self._refused_at, 0.001)
        refused = self.rate(now) or self._accepted / max(sent - self._first_sent, 0.001)
        self._vague = self._vague + 1 if refused > _VAGUE * measured else 0
        base = _DECREASE * math.sqrt(measured * min(refused, _BOLDEST * measured))
        self._base = max(_LEAST_RATE, base)

    def _pause(self) -> float:
        """Return how long to wait where the console does not say."""
        if self._base is not None and not self._in_vain:
            return 1 / self._base
        return float(min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2.0 ** min(self._in_vain, 8)))
