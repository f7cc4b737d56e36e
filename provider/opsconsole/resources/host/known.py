"""What one run knows of hosts: how to read them, and their deletions, which other writes wait for.

Hosts are read by `host_get`, or by an empty update, which changes nothing. The document:
POST /api/v1/hosts/{id}: "only the fields present in the body change".
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Mapping, Set
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import BadRequest, ConsoleError, NotFound, UnexpectedAnswer
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.v1.operations import naming_hint

if TYPE_CHECKING:
    from opsconsole.resources.agent.known import KnownAgent

HOST_GET_HINT = naming_hint("host_get", "an operation that reads a host")
EMPTY_UPDATE_REFUSED = "the console refuses an empty update, by which hosts are read"
_REFUSALS = 2
"""After this many hosts refused an empty update, reading by it counts as impossible."""
_PATIENCE = 3
"""Seconds without a request, after which Terraform is assumed to begin no further deletion."""

_log = logging.getLogger(__name__)


class HostsUnreadable(ConsoleError):
    """No host can be read; the message is the reason, as a part of a sentence."""


class EmptyUpdateRefused(BadRequest):
    """The console refused the empty update of one host, maybe for a reason of this host alone."""


class HostReader:
    """Reads hosts for one run, and learns from the answers whether they can be read."""

    def __init__(self, session: ConsoleSession) -> None:
        self._console = session.console
        self._allowed = session.settings.host_read != "none"
        self._empty_update_accepted = False
        self._refusals: dict[str, BadRequest] = {}
        self._warned = False

    async def read(self, host_id: str) -> Mapping[str, Any]:
        """Read one host.

        Raises:
            NotFound: There is no such host.
            HostsUnreadable: The settings or earlier answers show that no host can be read.
            EmptyUpdateRefused: The console refused this one.
            ConsoleError: It could not be read.
        """
        self._refuse_if_unreadable()
        if self._console.has("host_get"):
            return await self._console.call("host_get", host_id)
        try:
            answer = await self._console.call("host_update", host_id, body={})
        except BadRequest as problem:
            self._refusals[host_id] = problem
            self._refuse_if_unreadable()
            raise EmptyUpdateRefused(problem.answer, problem.operation, problem.remedy) from None
        except UnexpectedAnswer as problem:
            if not problem.without_body:
                raise
            raise UnexpectedAnswer(
                "the console answers the empty update, by which hosts are read, with an empty body "
                f"(status {problem.status}).",
                f'Set host_read = "none".{HOST_GET_HINT}',
                operation=problem.operation,
                status=problem.status,
            ) from None
        self._empty_update_accepted = True
        return answer

    async def is_gone(self, host_id: str) -> bool:
        """Return whether the console answers that a host does not exist."""
        try:
            await self.read(host_id)
        except NotFound:
            return True
        except HostsUnreadable:
            return False
        except ConsoleError as problem:
            _log.warning("cannot read the host %s: %s", host_id, problem)
        return False

    def refusal_warnings(self) -> tuple[Diagnostic, ...]:
        """Warn, once in a run, that no host can be read because of the console's refusals."""
        if self._warned or not self._is_refused:
            return ()
        self._warned = True
        return (
            warning(
                "Hosts cannot be read: the console refuses an empty update",
                f"Their state is kept as it was, and nothing is reported about them. "
                f'host_read = "none" says so without a request.{HOST_GET_HINT}',
                cause=[*self._refusals.values()][-1].cause,
            ),
        )

    def describe(self, *, answered: bool) -> str:
        """Describe how hosts were read, or why they were not.

        Args:
            answered: Whether the console answered such a read; if not, nothing shows how.
        """
        if why := self._why_unreadable():
            return f"Hosts were not read: {why}."
        if not answered:
            return ""
        if self._console.has("host_get"):
            return f"Hosts were read by {self._console.operation('host_get')} (host_get)."
        return (
            f"Hosts were read by an empty update ({self._console.operation('host_update')}), which "
            "changes no field; some consoles move updated_at."
        )

    def _refuse_if_unreadable(self) -> None:
        if why := self._why_unreadable():
            by_update = 'host_read = "empty_update" reads hosts by an update without a field.'
            remedy = f"{'' if self._allowed else by_update}{HOST_GET_HINT}".strip()
            raise HostsUnreadable(why, remedy)

    def _why_unreadable(self) -> str:
        """Return why no host can be read, as a part of a sentence; empty if they can be."""
        if self._console.has("host_get"):
            return ""
        if self._is_refused:
            return EMPTY_UPDATE_REFUSED
        missing = "and extra_endpoints names no GET as host_get"
        if not self._console.has("host_update"):
            return f"nothing but GET is allowed, {missing}"
        return "" if self._allowed else f'the setting host_read is "none", {missing}'

    @property
    def _is_refused(self) -> bool:
        # One refusal may be that host's own.
        return len(self._refusals) >= _REFUSALS and not self._empty_update_accepted


class _Activity(NamedTuple):
    """The progress of a run. The quiet seconds count from the latest removal."""

    requests_sent: int
    removals_begun: int
    quiet_seconds: int


class HostDeletions:
    """The deletions of hosts in one run.

    Attributes:
        under_way: Ids of hosts whose deletion was sent and has not ended.
        ended: Ids of hosts whose deletion was tried, successful or not.
        unmanaged_agents: Agents that left management in this run, by id. The deletion of their
            host, which may still come, archives them.
    """

    def __init__(self, session: ConsoleSession) -> None:
        self.under_way: set[str] = set()
        self.ended: set[str] = set()
        self.unmanaged_agents: dict[str, KnownAgent] = {}
        self._session = session
        # By the number of removals that had begun: the next removal starts a new count.
        self._quiet_seconds: Counter[int] = Counter()

    def end(self, host_id: str) -> None:
        """Note that a host's deletion was tried, and wake the callers that wait for it."""
        self.ended.add(host_id)
        self.under_way.discard(host_id)
        self._session.wake()

    async def wait_for_another(self, known: Set[str], deadline: float) -> bool:
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

        Terraform does not announce its next steps: silence is the only sign that no deletion comes.
        After each second without a request one waiting caller gives up, and after three seconds all
        do, until another removal begins.

            create web (new) refused -> delete web (old) ends -> True: judge the new one again

        Args:
            host_id: The id of the old host; None if it is not known.
            known: The deletions that had ended before.
        """
        clock = asyncio.get_running_loop().time
        while not self._session.stopped and self._activity().quiet_seconds < _PATIENCE:
            ended = self.ended.difference(known)
            if host_id in ended or (host_id is None and ended):
                return True
            before = self._activity()
            again = await self.wait_for_another(set(self.ended), clock() + 1.0)
            if not again and not self.under_way and self._activity() == before:
                # While as many creations wait as Terraform makes at a time, it begins nothing else.
                self._quiet_seconds[self._session.removals_begun] += 1
                return False
        return False

    def _activity(self) -> _Activity:
        begun = self._session.removals_begun
        sent = sum(self._session.console.calls.values())
        return _Activity(sent, begun, self._quiet_seconds[begun])
