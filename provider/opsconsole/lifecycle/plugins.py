"""Attaching and detaching, shared by agents and attachments: the agent's list decides.

Attaching what is attached and detaching what is gone both succeed, whatever status the console
answers with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsconsole.errors import ConsoleError, NotFound, Unauthorized
from opsconsole.lifecycle.session import Session
from opsconsole.v1.console import Listing


def attached_ids(listing: Listing) -> frozenset[str]:
    """Return the ids of the plugins that the list shows."""
    return frozenset(entry["id"] for entry in listing.entries)


def find_entry(listing: Listing, plugin_id: str) -> Mapping[str, Any] | None:
    """Return the list's entry of one plugin."""
    return next((entry for entry in listing.entries if entry["id"] == plugin_id), None)


async def attach(session: Session, agent_id: str, plugin_id: str) -> Mapping[str, Any] | None:
    """Attach a plugin; return the agent as the console answered it, None where it did not.

    Raises:
        ConsoleError: it is not attached.
    """
    try:
        answer: Mapping[str, Any] = await session.console.attach_plugin(agent_id, plugin_id)
    except ConsoleError as problem:
        if not await _listed_after(session, agent_id, plugin_id, problem):
            raise
        return None
    finally:
        session.plugins_changed(agent_id)
    return answer


async def detach(session: Session, agent_id: str, plugin_id: str) -> Mapping[str, Any] | None:
    """Detach a plugin; return the agent as the console answered it, None where it did not.

    Raises:
        ConsoleError: it is still attached, or whether it is cannot be seen.
    """
    try:
        answer: Mapping[str, Any] = await session.console.detach_plugin(agent_id, plugin_id)
    except ConsoleError as problem:
        if await _listed_after(session, agent_id, plugin_id, problem) is not False:
            raise
        return None
    finally:
        session.plugins_changed(agent_id)
    return answer


async def _listed_after(
    session: Session, agent_id: str, plugin_id: str, problem: ConsoleError
) -> bool | None:
    """Ask the list whether a plugin is attached, after a call failed; None: it does not tell."""
    if isinstance(problem, Unauthorized):
        return None
    session.plugins_changed(agent_id)
    try:
        listing = await session.plugins(agent_id)
    except NotFound:
        return False
    except ConsoleError:
        return None
    if find_entry(listing, plugin_id) is not None:
        return True
    return False if listing.complete else None
