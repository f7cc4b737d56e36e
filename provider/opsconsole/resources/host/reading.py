"""Reads hosts: by `host_get`, or by an empty update, which changes nothing.

The document: POST /api/v1/hosts/{id}: "only the fields present in the body change".
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import BadRequest, ConsoleError, NotFound, UnexpectedAnswer
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.v1.operations import Operation, naming_hint

HOST_GET_HINT = naming_hint("host_get", "an operation that reads a host")
EMPTY_UPDATE_REFUSED = "the console refuses an empty update, by which hosts are read"
_REFUSALS = 2
"""After this many hosts refused an empty update, reading by it counts as impossible."""

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

    @property
    def operation(self) -> Operation | None:
        """The operation that reads hosts; None if neither settings nor past answers allow one."""
        if self._console.has("host_get"):
            return self._console.operation("host_get")
        if self._why_unreadable():
            return None
        return self._console.operation("host_update")

    async def read(self, host_id: str) -> Mapping[str, Any]:
        """Read one host.

        Raises:
            NotFound: There is no such host.
            HostsUnreadable: No host can be read, by now.
            EmptyUpdateRefused: The console refused this one.
            ConsoleError: It could not be read.
        """
        if self._console.has("host_get"):
            return await self._console.call("host_get", host_id)
        self._refuse_if_unreadable()
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

    def warn_of_refusals(self) -> tuple[Diagnostic, ...]:
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

    def describe(self) -> str:
        operation = self.operation
        if operation is None:
            return f"Hosts were not read: {self._why_unreadable()}."
        if operation.name == "host_update":
            return (
                f"Hosts were read by an empty update ({operation}), which changes no field; some "
                "consoles move updated_at."
            )
        return f"Hosts were read by {operation} ({operation.name})."

    def _refuse_if_unreadable(self) -> None:
        if why := self._why_unreadable():
            by_update = 'host_read = "empty_update" reads one by an update without a field.'
            raise HostsUnreadable(
                why, f"{'' if self._allowed else by_update}{HOST_GET_HINT}".strip()
            )

    def _why_unreadable(self) -> str:
        """Return why no empty update reads a host, as a part of a sentence; empty if one does."""
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
