"""The registry of all definitions.

In the order of reports: a resource comes after its references. The lifecycle of each resource is
beside its definition, and is imported on first use (`lifecycles`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from opsconsole.definition import Attribute, ResourceDefinition
from opsconsole.resources.agent.definition import AGENT
from opsconsole.resources.agent_plugin.definition import AGENT_PLUGIN
from opsconsole.resources.blacklisted_command.definition import BLACKLISTED_COMMAND
from opsconsole.resources.data_sources import DATA_SOURCES
from opsconsole.resources.host.definition import HOST
from opsconsole.resources.specialty.definition import SPECIALTY
from opsconsole.v1.provider_settings import PROVIDER

RESOURCES: Final[Mapping[str, ResourceDefinition]] = {
    definition.type_name: definition
    for definition in (SPECIALTY, HOST, AGENT, AGENT_PLUGIN, BLACKLISTED_COMMAND)
}
"""The resources by Terraform type name."""

_PREFIX: Final = re.compile(r"\w+_(?=…)|\w+=(?=[A-Z])")
"""The prefix of an import id, as a form in the definition shows it."""


@cache
def referred_to(attribute: Attribute) -> ResourceDefinition:
    """Return the resource whose `id` an attribute holds."""
    return next(item for item in RESOURCES.values() if item.name == attribute.refers_to)


@cache
def owner_of(definition: ResourceDefinition) -> ResourceDefinition | None:
    """Return the resource whose deletion deletes this one too, or None."""
    return referred_to(definition[definition.owner]) if definition.owner else None


@cache
def owners_above(definition: ResourceDefinition) -> tuple[ResourceDefinition, ...]:
    """Return the owner of a resource, its owner, and so on."""
    above = owner_of(definition)
    return () if above is None else (above, *owners_above(above))


def owned_by(definition: ResourceDefinition) -> list[ResourceDefinition]:
    """Return the resources that the deletion of one deletes too."""
    return [item for item in RESOURCES.values() if definition in owners_above(item)]


@cache
def top_owner_types() -> frozenset[str]:
    """Return the types that own others and have no owner themselves."""
    above = map(owners_above, RESOURCES.values())
    return frozenset(owners[-1].type_name for owners in above if owners)


def resource_of_id(text: str) -> ResourceDefinition | None:
    """Return the resource of an import id with a prefix of the document's examples, or None."""
    for definition in RESOURCES.values():
        prefixes = map(_PREFIX.match, definition.import_forms)
        if text.startswith(tuple(found[0] for found in prefixes if found)):
            # The id of an attachment begins with the id of its agent.
            return AGENT_PLUGIN if definition is AGENT and "/" in text else definition
    return None


def blockers_of(definition: ResourceDefinition) -> list[tuple[ResourceDefinition, str]]:
    """Return the resources that block a resource's deletion, each with the attribute."""
    return [
        (other, attribute.name)
        for other in RESOURCES.values()
        for attribute in other.references
        if attribute.blocks_deletion and attribute.refers_to == definition.name
    ]


__all__ = [
    "AGENT",
    "AGENT_PLUGIN",
    "BLACKLISTED_COMMAND",
    "DATA_SOURCES",
    "HOST",
    "PROVIDER",
    "RESOURCES",
    "SPECIALTY",
    "blockers_of",
    "owned_by",
    "owner_of",
    "owners_above",
    "referred_to",
    "resource_of_id",
    "top_owner_types",
]
