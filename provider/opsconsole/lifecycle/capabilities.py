"""What can be done with each resource under given settings, and what would lift each limit. Pure.

Everything about one resource is read from its definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from opsconsole.definition import STEPS, ResourceDefinition
from opsconsole.resources import RESOURCES
from opsconsole.v1.settings import Settings


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
        note: What it does, or what is done instead.
        lifted_by: The settings that would lift its limit; empty: there is none to lift.
    """

    type_name: str
    step: str
    reach: Reach
    operation: str
    documented: bool
    note: str
    lifted_by: tuple[str, ...] = ()


def capabilities(settings: Settings) -> list[Capability]:
    """Return what can be done, resource by resource, step by step."""
    return [
        _capability(definition, step, settings)
        for definition in RESOURCES.values()
        for step in STEPS
    ]


def _capability(definition: ResourceDefinition, step: str, settings: Settings) -> Capability:
    name, operation = definition.type_name, definition.operations.get(step, "")
    lift, note = definition.lifted_by.get(step, ""), definition.notes[step]
    named = settings.extra_endpoints.get(lift, "")
    if named:
        return Capability(name, step, Reach.FULL, named, False, f"extra_endpoints.{lift}")
    lifts = (f"extra_endpoints.{lift}",) if lift else ()
    if step == "read" and definition.read_ways:
        setting = f"{definition.name}_read"
        ways, way = list(definition.read_ways), getattr(settings, setting)
        note = definition.read_ways[way]
        lifts = (*lifts, *(f'{setting} = "{more}"' for more in ways[ways.index(way) + 1 :]))
        if not note:
            return Capability(name, step, Reach.NONE, "", True, f'{setting} is "{way}"', lifts)
    if step == "list" and operation and settings.cursor_parameter is None:
        note = f"{note}; the first page only, where there are more"
        lifts = ("cursor_parameter and cursor_field",)
        return Capability(name, step, Reach.PARTIAL, operation, True, note, lifts)
    if not operation:
        reach = Reach.PARTIAL if step == "create" else Reach.NONE
        return Capability(name, step, reach, "", True, note, lifts)
    whole = not lift or (step == "read" and definition.reads_whole)
    reach = Reach.FULL if whole else Reach.PARTIAL
    return Capability(name, step, reach, operation, True, note, lifts)
