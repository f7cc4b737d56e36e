"""Writing a remote state in the background, a few seconds after a change, whatever the run does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from opsconsole.errors import UserError
from opsconsole.state.backend import Backend


@dataclass(frozen=True, slots=True)
class Cadence:
    """When state is written during a run: after `seconds` or `changes`, whichever comes first.

    Each write costs as much as the whole state is large, so a fixed pace would make a run's cost
    grow with the square of its length. No new write begins, therefore, before the one before it
    makes up less than `share` of the time since. The cost of all writes is then at most that share
    of the run, plus one write: linear. What is not in state yet is durable in the journal.
    """

    seconds: float = 5.0
    changes: int = 500
    share: float = 0.1

    def due(self, changes: int, since: float, last_cost: float) -> bool:
        """Return whether to write now.

        Args:
            changes: How many were made since the last write.
            since: Seconds since it ended.
            last_cost: Seconds that it took.
        """
        pressing = changes >= self.changes or (changes > 0 and since >= self.seconds)
        return pressing and last_cost <= self.share * since


_AGAIN: Final = 0.5


class Pacer:
    """Calls for a write while changes wait for one. A local state has none: its journal serves.

    Args:
        write: Writes state if its turn has come.
        waiting: Returns how many changes wait for a write.
    """

    def __init__(
        self,
        write: Callable[[], Awaitable[bool]],
        waiting: Callable[[], int],
        cadence: Cadence,
        backend: Backend,
    ) -> None:
        self._write = write
        self._waiting = waiting
        self._seconds = cadence.seconds
        self._idle = backend.backup is not None
        self._task: asyncio.Task[None] | None = None
        self._problem: UserError | None = None

    def wake(self) -> None:
        """Note that there is a change; without an event loop there is no background."""
        if self._idle or (self._task is not None and not self._task.done()):
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._task = loop.create_task(self._run())

    def check(self) -> None:
        """Raise the error of a background write: no further call may be made.

        Raises:
            UserError: State could not be written.
        """
        if self._problem is not None:
            raise self._problem

    def stop(self) -> None:
        """Start no further write. The caller of a write that has begun finishes it."""
        self._idle = True
        task, self._task = self._task, None
        if task is not None and not task.done() and not task.get_loop().is_closed():
            task.get_loop().call_soon_threadsafe(task.cancel)

    async def _run(self) -> None:
        pause = self._seconds
        while not self._idle:
            await asyncio.sleep(pause)
            pause = _AGAIN
            try:
                await self._write()
            except UserError as error:
                self._problem = error
                return
            if not self._waiting():
                return
