"""The deletions of hosts in one run, and the writes that wait for them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from opsconsole.lifecycle.session import ConsoleSession

if TYPE_CHECKING:
    from opsconsole.resources.agent.known import KnownAgent

_PATIENCE = 3
"""Seconds without a request, after which Terraform is assumed to begin no further deletion."""


class HostDeletions:
    """The deletions of hosts in one run.

    Attributes:
        under_way: Ids of hosts whose deletion was sent and has not ended.
        ended: Ids of hosts whose deletion was tried, successful or not.
        released: Agents that left management in this run, by id. The deletion of their host, which
            may still come, archives them.
    """

    def __init__(self, session: ConsoleSession) -> None:
        self.under_way: set[str] = set()
        self.ended: set[str] = set()
        self.released: dict[str, KnownAgent] = {}
        self._session = session
        # By the number of deletions that had begun: the next deletion begins to count anew.
        self._quiet_seconds: Counter[int] = Counter()

    def end(self, host_id: str) -> None:
        """Note that a host's deletion was tried, and wake the callers that wait for it."""
        self.ended.add(host_id)
        self.under_way.discard(host_id)
        self._session.wake()

    async def wait_for_another(self, known: Collection[str], deadline: float) -> bool:
        """Wait until the deletion of a host that is not among `known` has ended.

        Returns:
            False after `deadline` (event loop time), or if the run is stopped.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while not self._session.stopped and self.ended == known:
                    await self._session.woken.wait()
        return not self._session.stopped and self.ended != known

    async def wait_for_host(self, host_id: str | None, known: Collection[str]) -> bool:
        """Wait for the deletion of a host that a new host is to replace.

        After each second without a request one waiting caller gives up, and after three seconds all
        do, until another deletion begins.

            create web (new) refused -> delete web (old) ends -> True: judge the new one again

        Args:
            host_id: The id of the old host; None if it is not known.
            known: The deletions that had ended before.
        """
        clock = asyncio.get_running_loop().time
        while not self._session.stopped and self._activity()[-1] < _PATIENCE:
            ended = self.ended.difference(known)
            if host_id in ended or (host_id is None and ended):
                return True
            before = self._activity()
            again = await self.wait_for_another(set(self.ended), clock() + 1.0)
            if not again and not self.under_way and self._activity() == before:
                # Terraform does not announce its next steps. While as many creations wait as it
                # makes at a time, it begins nothing else. Silence is the only sign that no deletion
                # comes.
                self._quiet_seconds[self._session.deletes_begun] += 1
                return False
        return False

    def _activity(self) -> tuple[int, int, int]:
        """Return the requests sent, the deletions begun, and the quiet seconds since the last."""
        begun = self._session.deletes_begun
        return sum(self._session.console.calls.values()), begun, self._quiet_seconds[begun]
