"""The rate limit, counts of requests, and a log of the last ones, without credentials."""

from __future__ import annotations

import json
from collections import Counter, deque
from dataclasses import asdict, dataclass
from typing import Any

from opsconsole.emulator.bodies import Refusal
from opsconsole.emulator.profiles import Profile

_MOST_ENTRIES = 20_000
_MOST_BODY = 262_144


@dataclass(slots=True)
class LoggedRequest:
    """One request; times are seconds of the server's monotonic clock.

    `status` is 0 before an answer is sent, or if the connection was cut. `request_id` is set for
    errors.
    """

    number: int
    operation: str
    method: str
    path: str
    query: str
    body: bytes
    size: int
    started: float
    ended: float = 0.0
    status: int = 0
    request_id: str = ""
    faulty: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the entry as JSON; a JSON `body` is decoded."""
        try:
            body = json.loads(self.body) if self.body else None
            # A body may be nested so deeply that it can be read but not be written again.
            json.dumps([[[[body]]]])
        except (ValueError, RecursionError):
            body = self.body.decode("utf-8", "replace")
        return {**asdict(self), "body": body}


class Traffic:
    """Counts and the last entries. A request that is not an operation counts as `unknown`."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.reset()

    def reset(self) -> None:
        self.counts: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.entries: deque[LoggedRequest] = deque(maxlen=_MOST_ENTRIES)
        self.total = 0
        # Requests in flight survive the reset.
        self.most_in_flight = self.in_flight

    def begin(
        self, operation: str, method: str, path: str, query: str, body: bytes, now: float
    ) -> LoggedRequest:
        """Log a request whose body has arrived."""
        self.total += 1
        self.counts[operation] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        kept = body[:_MOST_BODY]
        entry = LoggedRequest(self.total, operation, method, path, query, kept, len(body), now)
        self.entries.append(entry)
        return entry

    def end(self, entry: LoggedRequest, status: int, now: float) -> None:
        self.in_flight -= 1
        self.statuses[status] += 1
        entry.status = status
        entry.ended = now

    def summary(self, limit: int) -> dict[str, Any]:
        """Return counts, and the last `limit` entries, oldest first."""
        entries = list(self.entries)[-limit:] if limit else []
        return {
            "total": self.total,
            "counts": dict(self.counts),
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "entries": [entry.as_json() for entry in entries],
        }


class RateLimit:
    """A token bucket: it fills at `requests_per_second`, up to `requests_at_once`."""

    def __init__(self) -> None:
        self._left: float | None = None
        self._looked = 0.0

    def admit(self, profile: Profile, now: float) -> None:
        """Count one request at the time `now`, in seconds; raise Refusal if there are too many."""
        rate = profile.requests_per_second
        if rate is None:
            self._left = None
            return
        most = rate if profile.requests_at_once is None else profile.requests_at_once
        left = most if self._left is None else self._left + (now - self._looked) * rate
        self._left, self._looked = min(most, left), now
        if self._left < 1:
            raise Refusal(429, "RATE_LIMITED", f"at most {rate} requests a second are answered")
        self._left -= 1
