"""What the calls of one run share."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from opsconsole.errors import AnswerLost
from opsconsole.lifecycle.session import Once


async def test_an_error_that_nobody_waits_for_any_more_is_not_printed() -> None:
    printed: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: printed.append(context))
    once, failing = Once(), asyncio.Event()

    async def call() -> None:
        await failing.wait()
        raise AnswerLost("cut")

    asking = asyncio.create_task(once.ask("key", call))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    failing.set()
    await asyncio.sleep(0.01)
    del once, asking
    gc.collect()

    assert printed == []
