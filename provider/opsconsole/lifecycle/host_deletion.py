"""Deleting hosts: what an answer does not settle is settled by one read of the host.

The document: DELETE /api/v1/hosts/{id} archives the host's agents with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import ConsoleError
from opsconsole.lifecycle.answers import confirm_deleted
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.deletion import EndedDeletion, settle_deletion
from opsconsole.lifecycle.interface import DeleteRequest, Outcome
from opsconsole.lifecycle.session import Session
from opsconsole.phrases import plural
from opsconsole.resources import HOST


async def delete_host(steps: BaseLifecycle, request: DeleteRequest) -> Outcome:
    """Delete one host; an outcome without a state says that it is gone, its agents with it."""
    host_id = request.prior["id"]
    await steps.session.before_write("delete", [request])
    there: bool | None = True
    try:
        ended = await _tried(steps, request)
        there = ended.there
    finally:
        steps.session.end_host_delete(host_id, deleted=there is False)
    if ended.outcome.state is None:
        return ended.outcome
    return ended.outcome.with_diagnostics(*_stranded(steps.session, host_id, there))


async def _tried(steps: BaseLifecycle, request: DeleteRequest) -> EndedDeletion:
    prior = request.prior
    name = steps.name(prior)
    session = steps.session

    async def is_there() -> bool:
        if not session.can_read_hosts:
            raise ConsoleError("the settings offer no way to read a host")
        await session.read_host(prior["id"])
        return True

    try:
        answer = await session.console.delete_host(prior["id"])
    except ConsoleError as problem:
        return await settle_deletion(steps, request, problem, is_there)
    except Exception as problem:
        return EndedDeletion(steps.failed("delete", request, problem), there=True)
    try:
        confirm_deleted(HOST, name, answer)
    except ConsoleError as problem:
        return EndedDeletion(steps.failed("delete", request, problem), there=None)
    return EndedDeletion(_deleted(name, answer), there=False)


def _deleted(name: str, answer: Mapping[str, Any]) -> Outcome:
    named = answer.get("rerouted_hosts")
    ids = named if isinstance(named, list) else ()
    rerouted = tuple(item for item in ids if isinstance(item, str))
    if not rerouted:
        return Outcome(None)
    diagnostic = warning(
        f"Deleting the {name} rerouted other hosts",
        f"The console names {', '.join(rerouted)}. What that changed is seen when they are "
        "read again.",
    )
    return Outcome(None, diagnostics=(diagnostic,), rerouted=rerouted)


def _stranded(session: Session, host_id: str, there: bool | None) -> tuple[Diagnostic, ...]:
    """List the agents released in this run that a deletion which failed leaves behind."""
    agents = [agent for agent in session.released.values() if agent.host_id == host_id]
    if not agents:
        return ()
    lines = [
        f"{session.command} import {agent.address or 'opsconsole_agent.NAME'} {agent.id}"
        + (f"  # {agent.name}" if agent.name else "")
        for agent in sorted(agents, key=lambda agent: agent.id)
    ]
    left = f"{plural(len(agents), 'agent')} of the host {host_id} left management"
    runs = "still runs" if len(agents) == 1 else "still run"
    if there is None:
        return (
            error(
                f"{left}; it is not known whether {'it' if len(agents) == 1 else 'they'} {runs}",
                "Whether their host was deleted is not known. Plan again: if the host is still "
                "there, take them back with:\n" + "\n".join(lines),
            ),
        )
    return (
        error(
            f"{left} and {runs}",
            "Their host was not deleted. Take them back with:\n" + "\n".join(lines),
        ),
    )
