"""The definitions of the four data sources, drawn from those of the resources."""

from __future__ import annotations

from dataclasses import replace

from opsconsole.definition import Attribute, DataSourceDefinition, Kind, text
from opsconsole.resources.agent_plugin import PLUGIN_FIELDS
from opsconsole.resources.blacklisted_command import BLACKLISTED_COMMAND
from opsconsole.resources.specialty import SPECIALTY

_SELECTORS = ("id", "key", "name")


def _shown(attribute: Attribute) -> Attribute:
    return replace(attribute, required=False, optional=False, computed=True)


def _selecting(attribute: Attribute) -> Attribute:
    return replace(attribute, required=False, optional=True, computed=True)


_COMPLETE = Attribute(
    name="complete",
    kind=Kind.BOOLEAN,
    description="Whether the list is certainly whole: false where there are more entries and no "
    "way to the next page is known, where the answer does not say, and where `list_query` narrows "
    "it.",
    computed=True,
)
_TOTAL_COUNT = Attribute(
    name="total_count",
    kind=Kind.INTEGER,
    description="The number of entries that the console says there are; null where it does not.",
    computed=True,
)
_ABOUT_THE_LIST = (_COMPLETE, _TOTAL_COUNT)

SPECIALTY_DATA = DataSourceDefinition(
    name="specialty",
    type_name="opsconsole_specialty",
    description="One specialty, found by exactly one of `id`, `key` or `name`.",
    resource="specialty",
    operation="GET /api/v1/specialties/search",
    attributes=tuple(
        _selecting(attribute) if attribute.name in _SELECTORS else _shown(attribute)
        for attribute in SPECIALTY.answered
    ),
)

SPECIALTIES_DATA = DataSourceDefinition(
    name="specialties",
    type_name="opsconsole_specialties",
    description="Every specialty that the console shows.",
    resource="specialty",
    operation="GET /api/v1/specialties/search",
    attributes=(
        Attribute(
            name="specialties",
            kind=Kind.OBJECT_LIST,
            description="The specialties, ordered by id.",
            computed=True,
            attributes=tuple(map(_shown, SPECIALTY.answered)),
        ),
        *_ABOUT_THE_LIST,
    ),
)

AGENT_PLUGINS_DATA = DataSourceDefinition(
    name="agent_plugins",
    type_name="opsconsole_agent_plugins",
    description="The plugins attached to one agent.",
    resource="agent_plugin",
    operation="GET /api/v1/agents/{id}/plugins",
    attributes=(
        text("agent_id", "Id of the agent.", required=True, refers_to="agent"),
        Attribute(
            name="plugins",
            kind=Kind.OBJECT_LIST,
            description="The plugins, ordered by id.",
            computed=True,
            attributes=(
                text("id", "The console's id of the plugin.", computed=True),
                *map(_shown, PLUGIN_FIELDS),
            ),
        ),
        *_ABOUT_THE_LIST,
    ),
)

BLACKLISTED_COMMAND_DATA = DataSourceDefinition(
    name="blacklisted_command",
    type_name="opsconsole_blacklisted_command",
    description="One blacklisted command.",
    resource="blacklisted_command",
    operation="GET /api/v1/blacklists/{id}",
    attributes=tuple(
        replace(attribute, required=True, optional=False, computed=False)
        if attribute.name == "id"
        else _shown(attribute)
        for attribute in BLACKLISTED_COMMAND.attributes
        if attribute.name != "no_description"
    ),
)
