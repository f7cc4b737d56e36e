"""The definitions of the data sources, drawn from those of the resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from opsconsole.definition import Attribute, ChangeRule, DataSourceDefinition, Kind
from opsconsole.resources.agent import AGENT
from opsconsole.resources.agent_plugin import PLUGIN_FIELDS
from opsconsole.resources.blacklisted_command import BLACKLISTED_COMMAND
from opsconsole.resources.host import HOST, HOW_HOSTS_ARE_READ
from opsconsole.resources.specialty import SPECIALTY

SELECTORS = ("id", "key", "name")
"""The attributes of which one selects a specialty."""


def _show(attribute: Attribute) -> Attribute:
    return replace(
        attribute,
        description=attribute.shown_description or attribute.description,
        required=False,
        needed_to_create=False,
        optional=False,
        computed=True,
        attributes=tuple(map(_show, attribute.attributes)),
    )


_ABOUT_THE_LIST = (
    Attribute(
        "complete",
        "Whether the list is certainly whole: false where there are more entries and no way to the "
        "next page is known, where the answer does not say, and where `list_query` narrows it.",
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


def _list_of(name: str, what: str, fields: Iterable[Attribute]) -> tuple[Attribute, ...]:
    """Return the attributes that show a list, in the order of ids."""
    parts = tuple(map(_show, fields))
    description = f"The {what}, ordered by id."
    entries = Attribute(name, description, Kind.OBJECT_LIST, computed=True, attributes=parts)
    return (entries, *_ABOUT_THE_LIST)


SPECIALTY_DATA = DataSourceDefinition(
    name="specialty",
    type_name="opsconsole_specialty",
    description="One specialty, found by exactly one of `id`, `key` or `name`.",
    resource="specialty",
    operations=("specialty_search",),
    attributes=tuple(
        replace(_show(attribute), optional=True, change=ChangeRule.UPDATE)
        if attribute.name in SELECTORS
        else _show(attribute)
        for attribute in SPECIALTY.answered
    ),
)

SPECIALTIES_DATA = DataSourceDefinition(
    name="specialties",
    type_name="opsconsole_specialties",
    description="Every specialty that the console shows.",
    resource="specialty",
    operations=("specialty_search",),
    attributes=_list_of("specialties", "specialties", SPECIALTY.answered),
)

AGENT_PLUGINS_DATA = DataSourceDefinition(
    name="agent_plugins",
    type_name="opsconsole_agent_plugins",
    description="The plugins attached to one agent.",
    resource="agent_plugin",
    operations=("plugin_list",),
    attributes=(
        Attribute("agent_id", "Id of the agent.", required=True, refers_to="agent"),
        *_list_of(
            "plugins",
            "plugins",
            (Attribute("id", "The console's id of the plugin.", computed=True), *PLUGIN_FIELDS),
        ),
    ),
)

_AGENT_FIELDS = tuple(item for item in AGENT.answered if item.name != "plugin_ids")
"""What an answer shows of an agent: its plugins are another list."""

_ROW_FIELDS = tuple(
    item for item in BLACKLISTED_COMMAND.attributes if item.name != "no_description"
)


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
        else _show(attribute)
        for attribute in attributes
    )


BLACKLISTED_COMMAND_DATA = DataSourceDefinition(
    name="blacklisted_command",
    type_name="opsconsole_blacklisted_command",
    description="One blacklisted command.",
    resource="blacklisted_command",
    operations=("blacklist_get",),
    attributes=_by_id("row", _ROW_FIELDS),
)


def _define_list(
    name: str, one: str, what: str, endpoint: str, fields: Iterable[Attribute]
) -> DataSourceDefinition:
    """Return the data source of a list that the document does not show."""
    return DataSourceDefinition(
        name=name,
        type_name=f"opsconsole_{name}",
        description=f"Every {one} that the console lists. The API document shows no such list: "
        f"name the console's operation in `extra_endpoints` as `{endpoint}`.",
        resource=one.replace(" ", "_"),
        operations=(endpoint,),
        attributes=_list_of(name, what, fields),
    )


HOST_DATA = DataSourceDefinition(
    name="host",
    type_name="opsconsole_host",
    description=f"One host, such as a jump host that somebody else manages. {HOW_HOSTS_ARE_READ}",
    resource="host",
    operations=("host_get", "host_update"),
    attributes=_by_id("host", HOST.answered),
)

AGENT_DATA = DataSourceDefinition(
    name="agent",
    type_name="opsconsole_agent",
    description="One agent. The API document shows no operation that reads one: name the console's "
    "in `extra_endpoints` as `agent_get`.",
    resource="agent",
    operations=("agent_get",),
    attributes=_by_id("agent", _AGENT_FIELDS),
)

HOSTS_DATA = _define_list("hosts", "host", "hosts", "host_list", HOST.answered)
AGENTS_DATA = _define_list("agents", "agent", "agents", "agent_list", _AGENT_FIELDS)
BLACKLISTED_COMMANDS_DATA = _define_list(
    "blacklisted_commands",
    "blacklisted command",
    "blacklisted commands",
    "blacklist_list",
    _ROW_FIELDS,
)

DATA_SOURCES: Final[Mapping[str, DataSourceDefinition]] = {
    definition.type_name: definition
    for definition in (
        SPECIALTY_DATA,
        SPECIALTIES_DATA,
        HOST_DATA,
        HOSTS_DATA,
        AGENT_DATA,
        AGENTS_DATA,
        AGENT_PLUGINS_DATA,
        BLACKLISTED_COMMAND_DATA,
        BLACKLISTED_COMMANDS_DATA,
    )
}
"""The data sources by Terraform type name."""
