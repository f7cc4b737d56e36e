"""Single flight: one call for all who ask for the same at the same time. Knows no console."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class SingleFlight:
    """Calls whose answers serve everyone who asks in one run, by key."""

    def __init__(self) -> None:
        self._answers: dict[str, asyncio.Task[Any]] = {}

    async def ask(self, key: str, call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Return the answer under `key`, making `call` only where nobody asked before.

        An error is an answer too. The one who asks may be cancelled: the call goes on for others.
        """
        task = self._answers.get(key)
        if task is None:
            task = self._answers[key] = asyncio.create_task(call())
            task.add_done_callback(_retrieve)
        return await asyncio.shield(task)

    def answers(self) -> dict[str, Any]:
        """Return the answers that came so far, by key; errors are left out."""
        return {
            key: task.result()
            for key, task in self._answers.items()
            if task.done() and not task.cancelled() and task.exception() is None
        }

    async def stop(self) -> None:
        """Give up the calls that nobody waits for any more, and wait until they have ended."""
        tasks = list(self._answers.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def forget(self, key: str) -> None:
        """Let the next one who asks under `key` make a new call."""
        self._answers.pop(key, None)


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Take note of an error that nobody waits for any more: asyncio would print it at exit."""
    if not task.cancelled():
        task.exception()
