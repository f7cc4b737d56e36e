"""How many requests a second a console accepts, found from its refusals (429)."""

from __future__ import annotations

import math

_DECREASE = 0.97
_GROWTH = 0.1
_VAGUE = 1.3
"""The granted rate is known up to this factor, or it is looked for with larger steps."""
_FIRST_GUESS = 16.0
"""The first rate is looked for up to this multiple of the rate that was certainly granted."""
_FIRST_BACKOFF, _LONGEST_BACKOFF = 0.25, 2.0
_LEAST_RATE = 0.05
_FIRST_IN_FLIGHT = 8


class Rate:
    """The rate at which requests are sent: as high as can be, until the console refuses some.

    At a refusal the console has granted nothing beyond the requests that it accepted. So these,
    divided by the time since the refusal before, are at least the rate that it grants:

        a token bucket of 20/s refuses, then accepts 5 in 0.25 s, then refuses: 5 / 0.25 = 20

    From there the rate grows along a cubic, as TCP CUBIC does: slowly near the rate that was
    refused, and faster the longer no refusal comes. Pure: times are arguments.
    """

    def __init__(self) -> None:
        self._most = math.inf
        self._base: float | None = None
        self._grows_from = self._resumed_at = 0.0
        self._growth_seconds = 1.0
        self._vague = 0
        self._refused_at: float | None = None
        self._accepted = self._saved_up = self._in_vain = 0
        self._next = -math.inf

    @property
    def most_in_flight(self) -> float:
        """Requests in flight at most.

        After a refusal one request at a time shows whether the console accepts any. While no rate
        is known, the number grows slowly: the next refusal meets every request in flight.
        """
        was_refused = self._refused_at is not None
        if was_refused and not self._accepted:
            return 1
        if self._base is not None:
            return math.inf
        return (1 if was_refused else _FIRST_IN_FLIGHT) + self._accepted // 2

    def per_second(self, now: float) -> float:
        """Return the requests a second that may be sent at the moment `now`."""
        if self._base is None:
            return self._most
        grown = max(0.0, now - self._grows_from) / self._growth_seconds
        growth = 1 + _GROWTH * ((grown if self._vague else 0.0) + grown**3)
        return min(self._most, self._base * growth)

    def wait(self, now: float) -> float:
        """Return the seconds until the next request may be sent."""
        return max(0.0, self._next - now)

    def note_sent(self, now: float, most: float = math.inf) -> None:
        """Note that a request is sent, by a caller that sends `most` a second at most."""
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
            self._in_vain = 0
            self._accepted += 1

    def note_refused(self, sent: float, now: float, asked: float | None) -> float:
        """Note a 429 that asked to wait some seconds; return those for which nothing is sent.

        The refusals of requests that were under way together count as one.
        """
        pause = asked or 0.0
        if self._refused_at is None:
            self._saved_up = max(1, self._accepted)
        elif sent <= self._refused_at:
            return pause
        elif self._accepted:
            # Of a pause, a console saves up only what it had saved up before the first refusal.
            beyond = (self._accepted - self._saved_up) / max(0.001, sent - self._resumed_at)
            granted = max(beyond, self._accepted / (sent - self._refused_at))
            self._measure(sent, granted, pause)
        else:
            self._in_vain += 1
        if self._in_vain or self._base is None:
            backoff = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2.0 ** min(self._in_vain, 8))
            pause = max(pause, backoff) if self._in_vain else pause or backoff
        elif not pause:
            pause = 1 / self._base
        self._accepted = 0
        self._refused_at = now
        self._next = self._grows_from = self._resumed_at = now + pause
        return pause

    def _measure(self, now: float, granted: float, pause: float) -> None:
        """Set the rate between the one that was certainly granted and the one that was refused."""
        refused = self.per_second(now)
        most = max(granted, refused if refused < math.inf else _FIRST_GUESS * granted)
        self._vague = self._vague + 1 if most > _VAGUE * granted else 0
        self._base = max(_LEAST_RATE, _DECREASE * math.sqrt(granted * most))
        # A twentieth of the time may go by in pauses, and one request in forty be refused.
        self._growth_seconds = max(2.0, 40 / self._base, 50 * pause)
        if self._vague:
            self._growth_seconds = min(self._growth_seconds, 0.5 * 2.0 ** min(self._vague - 1, 8))
