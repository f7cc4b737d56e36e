"""What the steps of hosts share: how one is read, what an update carries, what replaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsconsole.compare import changed_fields
from opsconsole.definition import Change
from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import BadRequest
from opsconsole.lifecycle.session import Session
from opsconsole.resources import HOST
from opsconsole.values import Attributes

REPLACING = tuple(a.name for a in HOST.settable if a.change is Change.REPLACE)
"""The attributes of which only a new host can have another value."""

UPDATABLE = tuple(a.name for a in HOST.settable if a.change is Change.UPDATE)
"""The attributes that a partial update carries."""


_REFUSALS = 2
"""Hosts whose empty update must be refused before reading by it counts as impossible."""


async def look(session: Session, host_id: str) -> Mapping[str, Any]:
    """Read one host: by `host_get`, or by an empty update, which changes nothing.

    The document: POST /api/v1/hosts/{id}: "only the fields present in the body change".
    """
    if session.console.has("host_get"):
        found: Mapping[str, Any] = await session.console.one("host_get", host_id)
        return found
    answer: Mapping[str, Any] = await session.console.update_host(host_id, {})
    session.host_read_accepted = True
    return answer


def is_readable(session: Session) -> bool:
    """Tell whether the settings, and what the console has answered so far, let hosts be read."""
    if session.console.has("host_get"):
        return True
    return session.settings.host_read != "none" and not session.host_reading_refused


def reading_refused(session: Session, host_id: str, problem: BadRequest) -> tuple[Diagnostic, ...]:
    """Note that the console refused an empty update of a host.

    One refusal may be that host's own. The second of another host, while no empty update was
    accepted, turns host reading off for the process. Returns the one warning of that, the first
    time.
    """
    session.unreadable_hosts.add(host_id)
    if session.host_reading_refused or session.host_read_accepted:
        return ()
    if len(session.unreadable_hosts) < _REFUSALS:
        return ()
    session.host_reading_refused = True
    return (
        warning(
            "Hosts cannot be read: the console refuses an empty update",
            "Their state is kept as it was, and nothing is claimed of them. Where the console "
            "has an operation that reads a host, name it in extra_endpoints as host_get; "
            'host_read = "none" says so without a request.',
            cause=problem.cause,
        ),
    )


def updated_fields(prior: Attributes, planned: Attributes) -> list[str]:
    """Return the attributes that a partial update must carry to get from one to the other."""
    return changed_fields(prior, planned, UPDATABLE)
