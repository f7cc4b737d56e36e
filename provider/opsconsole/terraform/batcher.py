"""Collects creations that arrive at about the same time into one request.

Terraform sends one call for each resource; the console takes many hosts in one import.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opsconsole.lifecycle.interface import CreateRequest, Outcome

if TYPE_CHECKING:
    from opsconsole.lifecycle.base import BaseLifecycle

_PAUSE = 0.0005
_LONGEST_WAIT = 0.003


class Batcher:
    """Group commit: a few requests run at a time, and later creations go with the next one.

    The first creation waits while others keep coming, for at most three milliseconds; a creation
    that stays alone, for half a millisecond.
    """

    def __init__(self, lifecycle: BaseLifecycle, at_once: int = 4) -> None:
        self._lifecycle = lifecycle
        self._at_once = at_once
        self._waiting: list[tuple[CreateRequest, asyncio.Future[Outcome]]] = []
        self._running: set[asyncio.Task[None]] = set()
        self._collecting = False

    async def create(self, request: CreateRequest) -> Outcome:
        """Return the outcome of a creation, as soon as it is known, or raise the batch's exception.

        A caller that is cancelled leaves its request in a batch: it may have been sent.
        """
        result: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        if self._lifecycle.max_creates_at_once == 1:
            await self._answer([(request, result)])
        else:
            self._waiting.append((request, result))
            self._start()
        return await result

    def _start(self) -> None:
        # Over a slow line, one request at a time would make an apply almost twice as long as
        # without batches. With a few requests, an apply is hardly longer.
        if self._waiting and not self._collecting and len(self._running) < self._at_once:
            self._collecting = True
            task = asyncio.create_task(self._run())
            self._running.add(task)
            task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._start()

    async def _run(self) -> None:
        clock = asyncio.get_running_loop().time
        latest, count = clock() + _LONGEST_WAIT, 0
        while count != len(self._waiting) and clock() < latest:
            count = len(self._waiting)
            await asyncio.sleep(_PAUSE)
        self._collecting = False
        size = self._lifecycle.max_creates_at_once
        batch, self._waiting = self._waiting[:size], self._waiting[size:]
        self._start()
        await self._answer(batch)

    async def _answer(self, batch: list[tuple[CreateRequest, asyncio.Future[Outcome]]]) -> None:
        # By identity: requests hold dicts, which cannot be hashed.
        waiting = {id(request): result for request, result in batch}

        async def report(
            results: Sequence[tuple[CreateRequest, Outcome]], *, final: bool = True
        ) -> None:
            for request, outcome in results:
                # The future of a cancelled caller is already done.
                if final and not waiting[id(request)].done():
                    waiting[id(request)].set_result(outcome)

        try:
            await self._lifecycle.create([request for request, _ in batch], report)
        except Exception as problem:
            for result in waiting.values():
                if not result.done():
                    result.set_exception(problem)
