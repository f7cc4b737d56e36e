"""How many requests in flight serve best, found by trying. Pure: times are arguments.

Throughput is what counts: requests in flight divided by the time that each takes (Little's law).
More in flight are kept as long as they do not take so much longer that less is done, and fewer
where they do more.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

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
