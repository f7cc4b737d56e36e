"""What a console does under load: it counts requests by the second, and becomes slow.

The switches are `requests_per_second`, `requests_at_once`, `retry_after` and
`crowding_microseconds`; faults on request belong to `faults`.
"""

from __future__ import annotations

from opsconsole.emulator.profile import Profile
from opsconsole.emulator.refusal import Refusal


class Load:
    """A token bucket: it fills at `requests_per_second`, up to `requests_at_once`."""

    def __init__(self) -> None:
        self._left: float | None = None
        self._looked = 0.0

    def admit(self, profile: Profile, now: float) -> None:
        """Count one request that comes at the moment `now`, in seconds.

        Raises:
            Refusal: there are too many.
        """
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


def crowding(profile: Profile, in_flight: int) -> float:
    """Return the seconds that an answer waits beside so many requests in flight."""
    return profile.crowding_microseconds * in_flight**2 / 1_000_000
