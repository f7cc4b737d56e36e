"""The definitions of the data sources, derived from the resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from opsconsole.definition import (
    Attribute,
    ChangeRule,
    DataSourceDefinition,
    Kind,
    ResourceDefinition,
)
from opsconsole.resources.agent.definition import AGENT
from opsconsole.resources.agent_plugin.definition import AGENT_PLUGIN, PLUGIN_FIELDS
from opsconsole.resources.blacklisted_command.definition import BLACKLISTED_COMMAND
from opsconsole.resources.host.definition import HOST
from opsconsole.resources.specialty.definition import SPECIALTY
from opsconsole.v1.operations import OPERATIONS

SELECTORS = ("id", "key", "name")
"""The attributes of which one selects a specialty."""


def _as_shown(attribute: Attribute) -> Attribute:
    return replace(
        attribute,
        description=attribute.shown_description or attribute.description,
        required=False,
        needed_to_create=False,
        optional=False,
        computed=True,
        attributes=tuple(map(_as_shown, attribute.attributes)),
    )


_ABOUT_THE_LIST = (
    Attribute(
        "complete",
        "Whether the list is certainly complete: false where there are more entries and no way to "
        "the next page is known, where the answer does not say, and where `list_query` narrows it.",
        Kind.BOOLEAN,
        computed=True,
    ),
    Attribute(
        "total_count",
        "The number of entries that the console says there are; null where it does not.",
        Kind.INTEGER,
        computed=True,
    ),
)


def _list_attributes(name: str, what: str, fields: Iterable[Attribute]) -> tuple[Attribute, ...]:
    """Return the attributes that show a list, ordered by id."""
    parts = tuple(map(_as_shown, fields))
    description = f"The {what}, ordered by id."
    entries = Attribute(name, description, Kind.OBJECT_LIST, computed=True, attributes=parts)
    return (entries, *_ABOUT_THE_LIST)


def _by_id(what: str, attributes: Iterable[Attribute]) -> tuple[Attribute, ...]:
    return tuple(
        replace(
            attribute,
            description=f"The console's id of the {what}.",
            required=True,
            optional=False,
            computed=False,
            change=ChangeRule.UPDATE,
        )
        if attribute.name == "id"
        else _as_shown(attribute)
        for attribute in attributes
    )


def _describe(description: str, operation: str, undocumented: str) -> str:
    """Return a description, with another sentence if the document does not show an operation."""
    documented = OPERATIONS[operation].documented
    return description if documented else f"{description} {undocumented}"


def _define_list(
    resource: ResourceDefinition, endpoint: str, fields: Iterable[Attribute]
) -> DataSourceDefinition:
    name = resource.plural.replace(" ", "_")
    description = _describe(
        f"Every {resource.title} that the console lists.",
        endpoint,
        "The API document shows no such list: name the console's operation in `extra_endpoints` as "
        f"`{endpoint}`.",
    )
    attributes = _list_attributes(name, resource.plural, fields)
    return DataSourceDefinition(attributes, name, description, resource.name, (endpoint,))


_AGENT_FIELDS = tuple(item for item in AGENT.answer_fields if item.name != "plugin_ids")
"""What an answer shows of an agent: its plugins are another list."""

_COMMAND_FIELDS = tuple(
    item for item in BLACKLISTED_COMMAND.attributes if item.name != "no_description"
)
_PLUGIN_ID = Attribute("id", "The console's id of the plugin.", computed=True)

DATA_SOURCES: Final[Mapping[str, DataSourceDefinition]] = {
    definition.type_name: definition
    for definition in (
        DataSourceDefinition(
            name="specialty",
            description="One specialty, found by exactly one of `id`, `key` or `name`.",
            resource=SPECIALTY.name,
            operations=("specialty_search",),
            attributes=tuple(
                replace(_as_shown(attribute), optional=True, change=ChangeRule.UPDATE)
                if attribute.name in SELECTORS
                else _as_shown(attribute)
                for attribute in SPECIALTY.answer_fields
            ),
        ),
        DataSourceDefinition(
            name="specialties",
            description="Every specialty that the console shows.",
            resource=SPECIALTY.name,
            operations=("specialty_search",),
            attributes=_list_attributes("specialties", "specialties", SPECIALTY.answer_fields),
        ),
        DataSourceDefinition(
            name="host",
            description=_describe(
                "One host, such as a jump host that somebody else manages.",
                "host_get",
                "It is read by `host_get` where `extra_endpoints` names it, else by an empty "
                "update, which takes a key that may write hosts.",
            ),
            resource=HOST.name,
            operations=("host_get", "host_update"),
            attributes=_by_id("host", HOST.answer_fields),
        ),
        _define_list(HOST, "host_list", HOST.answer_fields),
        DataSourceDefinition(
            name="agent",
            description=_describe(
                "One agent.",
                "agent_get",
                "The API document shows no operation that reads one: name the console's in "
                "`extra_endpoints` as `agent_get`.",
            ),
            resource=AGENT.name,
            operations=("agent_get",),
            attributes=_by_id("agent", _AGENT_FIELDS),
        ),
        _define_list(AGENT, "agent_list", _AGENT_FIELDS),
        DataSourceDefinition(
            name="agent_plugins",
            description="The plugins attached to one agent.",
            resource=AGENT_PLUGIN.name,
            operations=("plugin_list",),
            attributes=(
                Attribute("agent_id", "Id of the agent.", required=True, refers_to="agent"),
                *_list_attributes("plugins", "plugins", (_PLUGIN_ID, *PLUGIN_FIELDS)),
            ),
        ),
        DataSourceDefinition(
            name="blacklisted_command",
            description="One blacklisted command.",
            resource=BLACKLISTED_COMMAND.name,
            operations=("blacklist_get",),
            attributes=_by_id(BLACKLISTED_COMMAND.title, _COMMAND_FIELDS),
        ),
        _define_list(BLACKLISTED_COMMAND, "blacklist_list", _COMMAND_FIELDS),
    )
}
"""The data sources by Terraform type name."""
