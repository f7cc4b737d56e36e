"""Objects of this run that the details of an error name (the document: Errors, `details`)."""

from __future__ import annotations

from opsconsole.errors import ApiError
from opsconsole.lifecycle.session import Session


def named_objects(session: Session, problem: ApiError) -> list[str]:
    """Return what this run calls the agents and hosts whose ids stand in the details."""
    named = texts_of(problem)
    agents = [str(agent) for agent in session.agents.values() if agent.id in named]
    hosts = [
        holder if holder == host_id else f"{holder}: {host_id}"
        for host_id, holder in session.held_hosts.items()
        if host_id in named
    ]
    return sorted(agents) + sorted(hosts)


def texts_of(problem: ApiError) -> set[str]:
    """Return the texts that an error's details hold, one by one or in a list."""
    found: set[str] = set()
    for value in problem.problem.details.values():
        listed = value if isinstance(value, list) else [value]
        found.update(item for item in listed if isinstance(item, str))
    return found
