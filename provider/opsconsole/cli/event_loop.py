"""The event loop that commands run in, and a collector of garbage tuned to many small objects."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

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


def finish(runner: asyncio.Runner, work: Coroutine[Any, Any, Result]) -> Result:
    """Run `work` to its end and return its result.

    Not as the runner's own result: it asks for the signal handler afterwards, and Python then
    writes out the finished task, a plan of fifty thousand changes included, for an error that
    nobody sees.
    """
    results: list[Result] = []

    async def keep() -> None:
        results.append(await work)

    runner.run(keep())
    return results[0]
