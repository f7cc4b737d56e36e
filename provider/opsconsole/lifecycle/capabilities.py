"""What can be done with each resource under given settings, and what would lift each limit. Pure.

Operations and what lifts their limits are the definitions'; only the words for what remains
possible without stand here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from opsconsole.definition import ResourceDefinition
from opsconsole.resources import (
    AGENT,
    AGENT_PLUGIN,
    BLACKLISTED_COMMAND,
    HOST,
    RESOURCES,
    SPECIALTY,
)
from opsconsole.v1.settings import Settings

STEPS = ("create", "read", "update", "delete", "list")


class Reach(Enum):
    """How far a step goes."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Capability:
    """What can be done of one step of one resource.

    Attributes:
        type_name: Terraform type name.
        step: `create`, `read`, `update`, `delete` or `list`.
        reach: How far it goes under the settings.
        operation: `METHOD /path` that it rests on, or empty.
        documented: Whether the document shows this operation.
        note: What it does, or what is done in its stead.
        lifted_by: The settings that would lift its limit; empty: there is none to lift.
    """

    type_name: str
    step: str
    reach: Reach
    operation: str
    documented: bool
    note: str
    lifted_by: tuple[str, ...] = ()


_NOTES = {
    (HOST.type_name, "create"): "a row of a bulk import, after a dry run of it",
    (HOST.type_name, "read"): "an empty update, whose answer is the host",
    (HOST.type_name, "update"): "changed fields only",
    (HOST.type_name, "delete"): "archives the host's agents and their tasks",
    (HOST.type_name, "list"): "unmanaged hosts are not seen",
    (AGENT.type_name, "create"): "",
    (AGENT.type_name, "read"): "whether it exists, and its plugins; other fields as last answered",
    (AGENT.type_name, "update"): "plugin_ids by attach and detach; any other change replaces",
    (AGENT.type_name, "delete"): "archived when its host is deleted",
    (AGENT.type_name, "list"): "unmanaged agents are not seen",
    (AGENT_PLUGIN.type_name, "create"): "attach",
    (AGENT_PLUGIN.type_name, "read"): "the agent's list, read once in a run",
    (AGENT_PLUGIN.type_name, "update"): "both ids replace",
    (AGENT_PLUGIN.type_name, "delete"): "detach",
    (AGENT_PLUGIN.type_name, "list"): "of each managed agent",
    (SPECIALTY.type_name, "create"): "the declared key is looked up and adopted",
    (SPECIALTY.type_name, "read"): "one search serves all",
    (SPECIALTY.type_name, "update"): "a declared value that differs is an error at plan time",
    (SPECIALTY.type_name, "delete"): "refused while an agent carries it",
    (SPECIALTY.type_name, "list"): "one search serves all",
    (BLACKLISTED_COMMAND.type_name, "create"): "the declared id is read and adopted",
    (BLACKLISTED_COMMAND.type_name, "read"): "",
    (BLACKLISTED_COMMAND.type_name, "update"): "changed fields only",
    (BLACKLISTED_COMMAND.type_name, "delete"): "leaves management; the row stays",
    (BLACKLISTED_COMMAND.type_name, "list"): "unmanaged entries are not seen",
}
_LISTS = {
    HOST.type_name: ("", "host_list"),
    AGENT.type_name: ("", "agent_list"),
    AGENT_PLUGIN.type_name: ("GET /api/v1/agents/{id}/plugins", ""),
    SPECIALTY.type_name: ("GET /api/v1/specialties/search", ""),
    BLACKLISTED_COMMAND.type_name: ("", "blacklist_list"),
}
_WHOLE = {(HOST.type_name, "read"), (SPECIALTY.type_name, "read")}
"""Steps whose documented operation does all that the lifting one would, only in another way."""

_PAGED = {(AGENT_PLUGIN.type_name, "list"), (SPECIALTY.type_name, "list")}


def capabilities(settings: Settings) -> list[Capability]:
    """Return what can be done, resource by resource, step by step."""
    return [item for definition in RESOURCES.values() for item in _of(definition, settings)]


def _of(definition: ResourceDefinition, settings: Settings) -> Iterator[Capability]:
    for step in STEPS:
        if step == "list":
            operation, lift = _LISTS[definition.type_name]
        else:
            operation = definition.operations.get(step, "")
            lift = definition.lifted_by.get(step, "")
        yield _capability(definition.type_name, step, operation, lift, settings)


def _capability(
    type_name: str, step: str, operation: str, lift: str, settings: Settings
) -> Capability:
    note = _NOTES[type_name, step]
    named = settings.extra_endpoints.get(lift, "")
    if named:
        return Capability(type_name, step, Reach.FULL, named, False, f"extra_endpoints.{lift}")
    lifts = (f"extra_endpoints.{lift}",) if lift else ()
    if (type_name, step) == (HOST.type_name, "read") and settings.host_read == "none":
        lifts = ('host_read = "empty_update"', *lifts)
        return Capability(type_name, step, Reach.NONE, "", True, 'host_read is "none"', lifts)
    if (type_name, step) == (AGENT.type_name, "read") and settings.agent_read == "reattach":
        note = "its plugins; the whole agent by attaching an attached plugin again"
    elif (type_name, step) == (AGENT.type_name, "read"):
        lifts = (*lifts, 'agent_read = "reattach"')
    if (type_name, step) in _PAGED and settings.cursor_parameter is None:
        note = f"{note}; the first page only, where there are more"
        lifts = ("cursor_parameter and cursor_field",)
        return Capability(type_name, step, Reach.PARTIAL, operation, True, note, lifts)
    if not operation:
        adopting = step == "create"
        reach = Reach.PARTIAL if adopting else Reach.NONE
        return Capability(type_name, step, reach, "", True, note, lifts)
    whole = not lift or (type_name, step) in _WHOLE
    reach = Reach.FULL if whole else Reach.PARTIAL
    return Capability(type_name, step, reach, operation, True, note, lifts)
