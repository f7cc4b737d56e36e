"""The steps that each resource allows under given settings, and the settings that lift limits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from opsconsole.definition import LIFECYCLE_STEPS, ResourceDefinition
from opsconsole.resources import RESOURCES
from opsconsole.v1.operations import OPERATIONS
from opsconsole.v1.settings import Settings


class Reach(Enum):
    """How far a step goes."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Capability:
    """One step of one resource.

    Attributes:
        step: `create`, `read`, `update`, `delete` or `list`.
        operation: Its `METHOD /path`, or empty.
        documented: False if the operator named the operation, which the document does not show.
        note: Its effect, or the substitute.
        lifted_by: The settings that would lift its limit, if any.
    """

    type_name: str
    step: str
    reach: Reach
    operation: str
    documented: bool
    note: str
    lifted_by: tuple[str, ...] = ()


def capabilities(settings: Settings) -> list[Capability]:
    return [
        _capability(definition, step, settings)
        for definition in RESOURCES.values()
        for step in LIFECYCLE_STEPS
    ]


def _capability(definition: ResourceDefinition, step: str, settings: Settings) -> Capability:
    name = definition.type_name
    lifts: list[str] = []
    note = ""
    for way in definition.ways[step]:
        named = settings.extra_endpoints.get(way.operation, "")
        if named:
            note = f"extra_endpoints.{way.operation}"
            return Capability(name, step, Reach.FULL, named, False, note)
        if not way.operation:
            # A creation without an operation adopts an existing object.
            reach = Reach.PARTIAL if step == "create" else Reach.NONE
            return Capability(name, step, reach, "", True, way.note, tuple(lifts))
        operation = OPERATIONS[way.operation]
        if not operation.documented:
            lifts.append(f"extra_endpoints.{way.operation}")
            continue
        if way.setting and getattr(settings, way.setting[0]) != way.setting[1]:
            lifts.append('{} = "{}"'.format(*way.setting))
            note = f'{way.setting[0]} is "{getattr(settings, way.setting[0])}"'
            continue
        if step == "list" and settings.cursor_parameter is None:
            note = f"{way.note}; the first page only, where there are more"
            lift = ("cursor_parameter and cursor_field",)
            return Capability(name, step, Reach.PARTIAL, str(operation), True, note, lift)
        reach = Reach.FULL if way.complete else Reach.PARTIAL
        return Capability(name, step, reach, str(operation), True, way.note, tuple(lifts))
    return Capability(name, step, Reach.NONE, "", True, note, tuple(lifts))
