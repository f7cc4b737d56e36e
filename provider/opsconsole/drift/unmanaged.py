"""What the console shows beside what is managed. Pure, and never costs a call.

Lists that were read anyway show the plugins of a managed agent and the specialties of the one
search; hosts, agents and blacklisted commands are in an inventory, where one was asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from opsconsole.drift.inventory import Inventory
from opsconsole.drift.report import Bucket, Finding
from opsconsole.drift.stack import Held
from opsconsole.lifecycle.session import Session
from opsconsole.resources import AGENT, AGENT_PLUGIN, BLACKLISTED_COMMAND, HOST, SPECIALTY

KINDS: Final[Mapping[str, str]] = {
    "plugins": AGENT_PLUGIN.type_name,
    "specialties": SPECIALTY.type_name,
    "hosts": HOST.type_name,
    "agents": AGENT.type_name,
    "blacklisted_commands": BLACKLISTED_COMMAND.type_name,
}
"""What there is of unmanaged objects, and the type that it would be managed as."""

COUNTED: Final = ("plugins",)
"""What counts as drift unless told otherwise: a plugin changes what an agent can do, while a
tenant has objects of its own."""


def unmanaged(
    held: Sequence[Held],
    session: Session,
    counted: Collection[str] = COUNTED,
    listed: Inventory = MappingProxyType({}),
) -> Iterator[Finding]:
    """Yield what one console shows and none of these resources manages.

    Args:
        held: Everything in state that was read from this console.
        session: What the check has read.
        counted: Kinds that count as drift.
        listed: What the console lists as a whole of the kinds that count.
    """
    yield from _plugins(held, session, "plugins" in counted)
    yield from _specialties(held, session, "specialties" in counted)
    for type_name, listing in listed.items():
        yield from _beside(held, type_name, listing.entries, counted=True)


def _plugins(held: Sequence[Held], session: Session, counted: bool) -> Iterator[Finding]:
    attached = {
        (item.known.before["agent_id"], item.known.before["plugin_id"])
        for item in _of_type(held, AGENT_PLUGIN.type_name)
    }
    lists = dict(session.listed_plugins())
    for agent in _of_type(held, AGENT.type_name):
        agent_id = agent.known.before["id"]
        # An agent in two states is looked at once.
        listing = lists.pop(agent_id, None)
        if listing is None or agent_id in session.gone_agents:
            continue
        # A managed set of plugins is compared as an attribute of the agent.
        if agent.known.before.get("plugin_ids") is not None:
            continue
        for entry in listing.entries:
            if (agent_id, entry["id"]) not in attached:
                yield _found(
                    agent.stack,
                    f"{agent_id}/{entry['id']}",
                    AGENT_PLUGIN.type_name,
                    _name(entry, "name"),
                    f"attached to {agent.address}, and in no state of this check",
                    counted,
                    {"agent_id": agent_id, "plugin_id": entry["id"]},
                )


def _specialties(held: Sequence[Held], session: Session, counted: bool) -> Iterator[Finding]:
    managed = list(_of_type(held, SPECIALTY.type_name))
    listing = session.listed_specialties()
    if listing is None or not managed:
        return
    yield from _beside(held, SPECIALTY.type_name, listing.entries, counted)


def _beside(
    held: Sequence[Held], type_name: str, entries: Iterable[Mapping[str, Any]], counted: bool
) -> Iterator[Finding]:
    """Yield the entries of one type that no state holds; what is archived is no more."""
    managed = list(_of_type(held, type_name))
    ids = {item.known.before["id"] for item in managed}
    stack = (managed or held)[0].stack
    reason = "on the console, and in no state of this check"
    for entry in entries:
        if entry["id"] in ids or entry.get("status") == "archived":
            continue
        yield _found(
            stack,
            entry["id"],
            type_name,
            next(filter(None, (_name(entry, name) for name in ("key", "name", "pattern"))), ""),
            reason if counted else f"{reason}; shown only",
            counted,
            {},
        )


def _of_type(held: Iterable[Held], type_name: str) -> Iterator[Held]:
    return (item for item in held if item.known.type_name == type_name)


def _found(
    stack: str,
    resource_id: str,
    type_name: str,
    label: str,
    reason: str,
    counted: bool,
    values: dict[str, Any],
) -> Finding:
    return Finding(
        stack,
        resource_id,
        type_name,
        Bucket.UNMANAGED,
        id=resource_id,
        label=label,
        reason=reason,
        values={"id": resource_id, **values},
        counted=counted,
    )


def _name(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""
