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
_REFUSALS = 2
"""After this many hosts refused an empty update, reading by it counts as impossible."""

_log = logging.getLogger(__name__)


class HostReader:
    """Reads hosts for one run, and learns from the answers whether they can be read."""

    def __init__(self, session: ConsoleSession) -> None:
        self.refused = False
        self._console = session.console
        self._empty_update_allowed = session.settings.host_read != "none"
        self._empty_update_accepted = False
        self._refused_ids: set[str] = set()

    @property
    def operation(self) -> Operation | None:
        """The operation that reads hosts; None if neither settings nor past answers allow one."""
        if self._console.has("host_get"):
            return self._console.operation("host_get")
        allowed = self._empty_update_allowed and not self.refused
        return self._console.operation("host_update") if allowed else None

    async def read(self, host_id: str) -> Mapping[str, Any]:
        """Read one host.

        Raises:
            NotFound: There is no such host.
            ConsoleError: It could not be read.
        """
        if self._console.has("host_get"):
            return await self._console.call("host_get", host_id)
        try:
            answer = await self._console.call("host_update", host_id, body={})
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
        if not self.operation:
            return False
        try:
            await self.read(host_id)
        except NotFound:
            return True
        except ConsoleError as problem:
            _log.warning("cannot read the host %s: %s", host_id, problem)
        return False

    def note_refusal(self, host_id: str, problem: BadRequest) -> tuple[Diagnostic, ...]:
        """Note that the console refused an empty update of a host; return a warning, once.

        A second refusal, of another host, while no empty update was accepted, turns host reading
        off for the run.
        """
        self._refused_ids.add(host_id)
        # One refusal may be that host's own.
        single = len(self._refused_ids) < _REFUSALS
        if self.refused or self._empty_update_accepted or single:
            return ()
        self.refused = True
        return (
            warning(
                "Hosts cannot be read: the console refuses an empty update",
                f"Their state is kept as it was, and nothing is reported about them. "
                f'host_read = "none" says so without a request.{HOST_GET_HINT}',
                cause=problem.cause,
            ),
        )

    def describe(self, *, get_only: bool) -> str:
        operation = self.operation
        if operation is None:
            return f"Hosts were not read: {self.explain_unreadable(get_only=get_only)}."
        if operation.name == "host_update":
            return (
                f"Hosts were read by an empty update ({operation}), which changes no field; some "
                "consoles move updated_at."
            )
        return f"Hosts were read by {operation} ({operation.name})."

    def explain_unreadable(self, *, get_only: bool) -> str:
        """Return why no host can be read (`get_only`: by GET alone); empty if they can be."""
        if self.operation:
            return ""
        if self.refused:
            return "the console refuses an empty update, by which hosts are read"
        why = "nothing but GET is allowed" if get_only else 'the setting host_read is "none"'
        return f"{why}, and extra_endpoints names no GET as host_get"
