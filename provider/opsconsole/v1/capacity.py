"""What load a console accepts, found by trying: requests a second, and requests in flight.

Pure: times are arguments. `Pace` finds the rate that a console accepts, from its refusals (429).
`Window` finds how many requests in flight serve best.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

_DECREASE = 0.96
_INCREASE = 0.1
_INCREASE_SECONDS = 2.0
_INCREASE_REQUESTS = 40
_SEARCH_SECONDS = 0.5
_COST_SHARE = 20.0
_FIRST_BACKOFF = 0.25
_LONGEST_BACKOFF = 2.0
_LEAST_RATE = 0.05
_LEAST_INTERVAL = 0.001
_LEAST_IDLE = 0.01
_REMEMBERED = 1024
"""Requests between two refusals whose moments are kept."""
_LEAST_COUNT = 8
"""Fewer accepted requests do not tell a rate: those before the last refusal count too."""
_BOLDEST = 16.0
"""How far above what is proven the rate may be guessed."""
_FADING = 0.5
"""What is left of a lower bound for the next measurement, where this one is vague."""
_VAGUE = 1.3
"""A measurement is vague where its bounds are further apart than this factor, ..."""
_LEAST_BEYOND = 2
_SHARE_BEYOND = 0.125
"""... or where fewer requests, or a smaller share, went beyond what may have been saved up."""
_SAVES_UP = 2
"""A console that saves up fewer requests refuses the second of two that come too close."""
_LOWER = 0.98
"""A refusal at less than this part of the measured rate contradicts it, ..."""
_CONTRADICTIONS = 2
"""... and so many in a row show that more is saved up than was thought."""


class Pace:
    """How many requests a second are sent: as many as can be, until the console refuses some.

    A console that counts requests is taken for a token bucket: it grants a rate, and saves up some
    of what is left unused. At the moment of a refusal it has nothing left. What it accepted in some
    time before, less what it may have saved up, is at most what it granted in that time.

    Each refusal sets the rate to a little less than was measured. From there it grows by a tenth
    in `_INCREASE_SECONDS`, in the time of `_INCREASE_REQUESTS`, or in `_COST_SHARE` times what is
    lost by a pause, whichever is longest: slowly at first, and the faster the longer no refusal
    comes. While the measurement is vague, the truth is looked for faster.

    Attributes:
        probing: Whether nothing was accepted since the last refusal: one request at a time shows
            whether the console accepts any.
    """

    def __init__(self) -> None:
        self.probing = False
        self._base: float | None = None
        self._measured: float | None = None
        self._saved_up: int | None = None
        self._grows_from = 0.0
        self._growth_seconds = _INCREASE_SECONDS
        self._refused_at: float | None = None
        self._accepted = 0
        self._early: deque[float] = deque(maxlen=_REMEMBERED)
        self._sent: deque[float] = deque(maxlen=_REMEMBERED)
        self._answered: deque[float] = deque(maxlen=_REMEMBERED)
        self._cycles: deque[tuple[float, int]] = deque(maxlen=_LEAST_COUNT)
        self._least = 0.0
        self._vague = 0
        self._contradicted = 0
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
        return self._base * (1 + _INCREASE * ((grown if self._vague else 0.0) + grown**3))

    def wait(self, now: float) -> float:
        """Return the seconds until the next request may be sent."""
        return 0.0 if self._base is None else max(0.0, self._next - now)

    def sent(self, now: float) -> None:
        """Note that a request is sent."""
        self._sent.append(now)
        rate = self.rate(now)
        if rate is None:
            return
        interval = 1 / rate
        # Where less was sent than the rate allows, nothing shows that the rate can be higher.
        idle = now - self._next
        if idle > max(interval, _LEAST_IDLE):
            self._grows_from += idle
        # A timer that fires late is made up for, by half an interval at most.
        saves_up = (self._saved_up or 0) >= _SAVES_UP
        self._next = max(self._next, now - (interval / 2 if saves_up else 0.0)) + interval

    def accepted(self, sent: float) -> None:
        """Note an answer other than 429 to a request that was sent at the moment `sent`."""
        if self._refused_at is None or sent <= self._refused_at:
            if self._saved_up is None:
                self._early.append(sent)
            return
        self.probing = False
        self._in_vain = 0
        self._accepted += 1
        self._answered.append(sent)

    def refused(self, sent: float, now: float, asked: float | None) -> float:
        """Note a 429, and return the seconds for which nothing is to be sent.

        Args:
            sent: When its request was sent. The refusals of requests that were under way together
                count as one.
            now: When it arrived.
            asked: The seconds of its Retry-After.
        """
        if self._refused_at is not None and sent <= self._refused_at:
            return asked or 0.0
        if self._accepted:
            self._measure(sent, self._refused_at or 0.0)
        elif self.probing:
            self._in_vain += 1
        pause = 0.0 if asked and not self._in_vain else self._pause()
        pause = max(pause, asked or 0.0)
        self._next = now + pause
        self.probing = True
        self._accepted = 0
        self._sent.clear()
        self._answered.clear()
        self._refused_at = now
        self._grows_from = now + pause
        if self._measured is not None:
            self._restart(self._measured, asked or 0.0)
        return pause

    def _restart(self, measured: float, pause: float) -> None:
        """Set the rate after a pause that was asked for."""
        # What the console saves up during the pause is not lost, and can be spent after it.
        lost = pause - (self._saved_up or 0) / measured
        is_free = pause > 0 and lost <= 0
        self._base = max(_LEAST_RATE, measured * (1.0 if is_free else _DECREASE))
        seconds = max(_INCREASE_SECONDS, _INCREASE_REQUESTS / self._base, _COST_SHARE * lost)
        if self._vague:
            seconds = min(seconds, _SEARCH_SECONDS * 2.0 ** min(self._vague - 1, 8))
        self._growth_seconds = seconds

    def _measure(self, sent: float, since: float) -> None:
        """Find the rate from what was accepted since the refusal before.

        Args:
            sent: When the request was sent that is refused now.
            since: When the refusal before arrived.
        """
        accepted = sorted(self._answered)
        self._cycles.append((since, self._accepted))
        proven = self._proven(accepted[-1])
        if self._saved_up is None:
            self._saved_up = _saved_up(sorted(self._early), proven)
        refused = self.rate(sent)
        is_lower = bool(
            refused and self._measured and refused < _LOWER * self._measured and not self._vague
        )
        self._contradicted = self._contradicted + 1 if is_lower else 0
        if self._contradicted >= _CONTRADICTIONS:
            self._saved_up = min(2 * self._saved_up + 1, _REMEMBERED)
        saved = self._saved_up
        least = max(proven, _granted(accepted, saved))
        if self._vague:
            least = max(least, _FADING * self._least)
        self._least = least
        top = max(least, refused or math.inf)
        is_telling = self._accepted - saved >= max(_LEAST_BEYOND, _SHARE_BEYOND * saved)
        if is_telling or refused is None:
            tried = [moment for moment in self._sent if moment <= sent]
            top = min(top, max(least, _granted(tried, saved)))
        self._vague = self._vague + 1 if top > _VAGUE * least else 0
        if self._vague or not is_telling:
            self._measured = math.sqrt(least * min(top, _BOLDEST * least))
        else:
            self._measured = least

    def _proven(self, until: float) -> float:
        """Return the requests a second that were accepted between the last refusals."""
        count = 0
        start = until
        for since, accepted in reversed(self._cycles):
            count += accepted
            start = since
            if count >= _LEAST_COUNT:
                break
        return count / max(until - start, _LEAST_INTERVAL)

    def _pause(self) -> float:
        """Return how long to wait where the console does not say."""
        if self._base is not None and not self._in_vain:
            return 1 / self._base
        return float(min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2.0 ** min(self._in_vain, 8)))


def _saved_up(accepted: Sequence[float], rate: float) -> int:
    """Return how many requests were accepted beyond `rate`, one at least."""
    beyond = (
        len(accepted) - before - rate * (accepted[-1] - moment)
        for before, moment in enumerate(accepted)
    )
    return max(1, math.floor(max(beyond, default=1.0)))


def _granted(accepted: Sequence[float], saved_up: float) -> float:
    """Return the rate that must have been granted where `saved_up` were saved up before."""
    return max(
        (
            (len(accepted) - before - saved_up) / max(accepted[-1] - moment, _LEAST_INTERVAL)
            for before, moment in enumerate(accepted[:-1])
        ),
        default=0.0,
    )


_FIRST = 8
_LEAST_SAMPLES = 4
_HARM = 0.95
"""More in flight are kept where throughput is at least this part of what it was."""
_BENEFIT = 1.05
"""Fewer in flight are kept where throughput is at least this multiple of what it was."""
_SLOWED = 1.3
"""Fewer in flight are tried where answers take this multiple of the shortest time seen."""
_MUCH_SLOWED = 2.0
"""The first try is with fewer where answers take this multiple."""
_LONGEST_REST = 32
"""Measurements between two tries of other sizes, once these did not serve."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """What was seen at one size: the seconds that an answer takes, by operation."""

    size: int
    seconds: dict[str, float]

    def throughput_to(self, other: _Measured) -> float | None:
        """Return this throughput divided by the other, None where nothing is comparable."""
        slower = [
            seconds / other.seconds[name]
            for name, seconds in self.seconds.items()
            if other.seconds.get(name)
        ]
        if not slower:
            return None
        return self.size / other.size / (sum(slower) / len(slower))


class Window:
    """The number of requests that may be in flight.

    Throughput is what counts: requests in flight divided by the time that each takes (Little's
    law). More in flight are kept as long as they do not take so much longer that less is done, and
    fewer where they do more.

    It starts small and doubles as long as that helps. Later one size beside it is tried now and
    then. A console that is overloaded (503, or no answer in time) halves it.

    Attributes:
        size: Requests in flight at most.
    """

    def __init__(self) -> None:
        self.size = _FIRST
        self._factor = 2.0
        self._reference: _Measured | None = None
        self._rest = 0
        self._patience = 1
        self._trying_fewer: bool | None = None
        self._more_did_harm = False
        self._changed_at = float("-inf")
        self._cut_at = float("-inf")
        self._samples: defaultdict[str, list[float]] = defaultdict(list)
        self._count = 0
        self._shortest: dict[str, float] = {}

    def overloaded(self, sent: float, now: float) -> None:
        """Note that a request that was sent at the moment `sent` met an overloaded console."""
        if sent < self._cut_at:
            return
        self._cut_at = now
        self._reference = None
        self._rest = self._patience = 4
        self._resize(max(1, self.size // 2), now)

    def restart(self, now: float, size: int = _FIRST) -> None:
        """Begin again with `size` requests in flight."""
        self._reference = None
        self._rest = 0
        self._patience = 1
        self._factor = 2.0
        self._resize(size, now)

    def answered(self, name: str, beside: int, sent: float, now: float, most: int) -> None:
        """Note an answer.

        Args:
            name: The operation: only answers to the same are comparable.
            beside: Requests in flight when this one was sent, itself included.
            sent: When it was sent.
            now: When it was answered.
            most: The size that may not be exceeded.
        """
        seconds = now - sent
        if beside == 1 or name not in self._shortest or seconds < self._shortest[name]:
            self._shortest[name] = max(seconds, 1e-6)
        size = min(self.size, most)
        # Only an answer to a request that was sent into a full window tells of its size.
        if sent < self._changed_at or beside != size:
            return
        self._samples[name].append(seconds)
        self._count += 1
        if self._count >= max(_LEAST_SAMPLES, size):
            self._judge(size, now, most)

    def _judge(self, size: int, now: float, most: int) -> None:
        seen = _Measured(size, {name: _quartile(values) for name, values in self._samples.items()})
        self._samples.clear()
        self._count = 0
        before = self._reference
        if before is None or before.size == size:
            self._reference = seen
            if self._rest > 0:
                self._rest -= 1
            else:
                self._try(seen, now, most)
            return
        change = seen.throughput_to(before)
        fewer = size < before.size
        if change is None or change >= (_BENEFIT if fewer else _HARM):
            self._reference = seen
            self._patience = 1
            self._trying_fewer = fewer
            self._try(seen, now, most)
            return
        self._factor = 1.5
        self._trying_fewer = self._more_did_harm = not fewer
        self._rest = self._patience - 1
        self._patience = min(_LONGEST_REST, 4 * self._patience)
        self._resize(before.size, now)

    def _try(self, seen: _Measured, now: float, most: int) -> None:
        """Try another size than the one seen.

        Fewer are tried only where answers have become slower, or where more did harm: the first
        answers, with which others are compared, may have been slow for another reason.
        """
        slowed = max(seconds / self._shortest[name] for name, seconds in seen.seconds.items())
        size = seen.size
        if self._trying_fewer is None:
            self._trying_fewer = slowed > _MUCH_SLOWED
        if size == 1 or (slowed < _SLOWED and not self._more_did_harm):
            self._trying_fewer = False
        elif size >= most:
            self._trying_fewer = True
        if self._trying_fewer:
            chosen = max(1, min(size - 1, round(size / self._factor)))
        else:
            chosen = min(most, max(size + 1, int(size * self._factor)))
        if chosen != size:
            self._resize(chosen, now)

    def _resize(self, size: int, now: float) -> None:
        self.size = size
        self._changed_at = now
        self._samples.clear()
        self._count = 0


def _quartile(values: list[float]) -> float:
    """Return the lower quartile: answers on new connections take longer for another reason."""
    return max(sorted(values)[len(values) // 4], 1e-6)
