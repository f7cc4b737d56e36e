"""Gathers calls that come one by one, but at the same time, into one call for all of them.

Terraform sends one call a resource; the console takes many hosts in one import. What is done for
many is the caller's affair.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")

_PAUSE = 0.0005
_LONGEST_WAIT = 0.003


class Gathering(Generic[Request, Result]):
    """Group commit: a few calls at a time; what arrives meanwhile goes with the next one.

    The first to arrive waits for others as long as they keep coming, never beyond three
    milliseconds; alone it waits half of one. With one call at a time an apply over a slow line
    would take almost twice as long as with none gathered; with a few, hardly longer.
    """

    def __init__(
        self, call: Callable[[Sequence[Request]], Awaitable[Sequence[Result]]], at_once: int = 4
    ) -> None:
        self._call = call
        self._at_once = at_once
        self._waiting: list[tuple[Request, asyncio.Future[Result]]] = []
        self._running: set[asyncio.Task[None]] = set()
        self._collecting = False

    async def submit(self, request: Request) -> Result:
        """Return the result for `request`.

        A caller that is cancelled leaves its request in the call: it may have been sent.

        Raises:
            Exception: What the call for all of them raised.
        """
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, result))
        self._start()
        return await result

    def _start(self) -> None:
        if self._waiting and not self._collecting and len(self._running) < self._at_once:
            self._collecting = True
            task = asyncio.create_task(self._run())
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._start()

    async def _run(self) -> None:
        await self._others()
        self._collecting = False
        gathered, self._waiting = self._waiting, []
        await self._answer(gathered)

    async def _others(self) -> None:
        """Wait while more requests keep coming."""
        clock = asyncio.get_running_loop().time
        latest = clock() + _LONGEST_WAIT
        count = 0
        while count != len(self._waiting) and clock() < latest:
            count = len(self._waiting)
            await asyncio.sleep(_PAUSE)

    async def _answer(self, gathered: list[tuple[Request, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._call([request for request, _ in gathered])
        except Exception as problem:
            for _, waiting in gathered:
                if not waiting.done():
                    waiting.set_exception(problem)
            return
        for (_, waiting), result in zip(gathered, results, strict=True):
            if not waiting.done():
                waiting.set_result(result)
