"""Reads in batches: Terraform asks for one resource at a time, a dry run compares many hosts."""

from __future__ import annotations

import asyncio
from typing import Final

from opsconsole.lifecycle.interface import Outcome, ReadRequest, ResourceLifecycle

_PAUSE: Final = 0.0005
_LONGEST_WAIT: Final = 0.003


class ReadBatcher:
    """Reads what arrives together in one call, where the lifecycle gains by it.

    The first to arrive waits for others as long as they keep coming, never beyond three
    milliseconds. Terraform asks for ten at a time unless `-parallelism` says otherwise.
    """

    def __init__(self, steps: ResourceLifecycle) -> None:
        self._steps = steps
        self._waiting: list[tuple[ReadRequest, asyncio.Future[Outcome]]] = []
        self._running: set[asyncio.Task[None]] = set()

    async def read(self, request: ReadRequest) -> Outcome:
        """Return what reading one resource said.

        Raises:
            Exception: What the call for all of them raised.
        """
        if self._steps.reads_together == 1:
            [outcome] = await self._steps.read([request])
            return outcome
        result: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, result))
        if len(self._waiting) == 1:
            task = asyncio.create_task(self._run())
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return await result

    async def _run(self) -> None:
        clock = asyncio.get_running_loop().time
        latest = clock() + _LONGEST_WAIT
        count = 0
        while count != len(self._waiting) and clock() < latest:
            count = len(self._waiting)
            await asyncio.sleep(_PAUSE)
        batch, self._waiting = self._waiting, []
        try:
            outcomes = await self._steps.read([request for request, _ in batch])
        except Exception as problem:
            for _, result in batch:
                if not result.done():
                    result.set_exception(problem)
            return
        for (_, result), outcome in zip(batch, outcomes, strict=True):
            if not result.done():
                result.set_result(outcome)
