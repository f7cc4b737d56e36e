"""Waiting for what another process or thread does. The bound is for what hangs, nothing else."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Seconds after which something hangs, on however busy a machine."""


def until(condition: Callable[[], Any], what: str = "it did not happen") -> None:
    """Wait until `condition` holds; `what` is said if it never does."""
    latest = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < latest, what
        time.sleep(0.02)
