"""The wall clock, and the one form of a moment."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


def timestamp(moment: datetime, timespec: str = "seconds") -> str:
    """Return a moment as ISO 8601 in UTC: `2026-01-31T12:00:00Z`."""
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
