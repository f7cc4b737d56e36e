"""How hosts are read: by `host_get`, or by an empty update, which changes nothing.

The document: POST /api/v1/hosts/{id}: "only the fields present in the body change".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import BadRequest, UnexpectedAnswer
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.v1.exchange import Operation
from opsconsole.v1.operations import naming_hint

HOST_GET_HINT = naming_hint("host_get", "an operation that reads a host")
_REFUSALS = 2
"""After so many hosts refused an empty update, reading by it counts as impossible."""


def reading_operation(session: ConsoleSession) -> Operation | None:
    """Return the operation that reads hosts; None: neither settings nor past answers allow one."""
    if session.console.has("host_get"):
        return session.console.operation("host_get")
    allowed = session.settings.host_read != "none" and not session.host_reading_refused
    return session.console.operation("host_update") if allowed else None


async def read_host(session: ConsoleSession, host_id: str) -> Mapping[str, Any]:
    """Read one host.

    Raises:
        ConsoleError: It could not be read; NotFound: there is no such host.
    """
    if session.console.has("host_get"):
        return await session.console.call("host_get", host_id)
    try:
        answer = await session.console.call("host_update", host_id, body={})
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
    session.host_read_accepted = True
    return answer


def note_refused_read(
    session: ConsoleSession, host_id: str, problem: BadRequest
) -> tuple[Diagnostic, ...]:
    """Note that the console refused an empty update of a host.

    A second refusal, of another host, while no empty update was accepted, turns host reading off
    for the process. Returns the one warning of that, the first time.
    """
    session.unreadable_hosts.add(host_id)
    if session.host_reading_refused or session.host_read_accepted:
        return ()
    # One refusal may be that host's own.
    if len(session.unreadable_hosts) < _REFUSALS:
        return ()
    session.host_reading_refused = True
    return (
        warning(
            "Hosts cannot be read: the console refuses an empty update",
            f"Their state is kept as it was, and nothing is reported about them. "
            f'host_read = "none" says so without a request.{HOST_GET_HINT}',
            cause=problem.cause,
        ),
    )


def describe_reading(session: ConsoleSession, *, read_only: bool) -> str:
    """Say how hosts were read, in a sentence."""
    operation = reading_operation(session)
    if operation is None:
        return f"Hosts were not read: {why_unread(session, read_only=read_only)}."
    if operation.name == "host_update":
        return (
            f"Hosts were read by an empty update ({operation}), which changes no field; some "
            "consoles move updated_at."
        )
    return f"Hosts were read by {operation} ({operation.name})."


def why_unread(session: ConsoleSession, *, read_only: bool) -> str:
    """Return why no host can be read, or an empty string if hosts can be read.

    Args:
        read_only: Whether nothing but GET may leave this process.
    """
    if reading_operation(session):
        return ""
    if session.host_reading_refused:
        return "the console refuses an empty update, by which hosts are read"
    why = "nothing but GET is allowed" if read_only else 'the setting host_read is "none"'
    return f"{why}, and extra_endpoints names no GET as host_get"
