"""The event loop that commands run in, and a collector of garbage tuned to many small objects."""

from __future__ import annotations

import asyncio
import gc
import sys

_YOUNG = 50_000
"""Objects between collections: a plan makes millions that live as long as it does, and with
Python's own threshold a tenth of the time would go into looking at them again and again."""


def make_runner() -> asyncio.Runner:
    """Return a runner on uvloop, where there is one (everywhere but Windows)."""
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 100)
    if sys.platform == "win32":
        return asyncio.Runner()
    import uvloop

    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
