"""The definitions of everything that can be declared or read, and their registry.

Order matters where it is shown: a resource stands after those that it refers to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opsconsole.definition import DataSourceDefinition, ResourceDefinition
from opsconsole.resources.agent import AGENT
from opsconsole.resources.agent_plugin import AGENT_PLUGIN
from opsconsole.resources.blacklisted_command import BLACKLISTED_COMMAND
from opsconsole.resources.data_sources import (
    AGENT_DATA,
    AGENT_PLUGINS_DATA,
    AGENTS_DATA,
    BLACKLISTED_COMMAND_DATA,
    BLACKLISTED_COMMANDS_DATA,
    HOST_DATA,
    HOSTS_DATA,
    SPECIALTIES_DATA,
    SPECIALTY_DATA,
)
from opsconsole.resources.host import HOST
from opsconsole.resources.provider import PROVIDER
from opsconsole.resources.specialty import SPECIALTY

RESOURCES: Final[Mapping[str, ResourceDefinition]] = {
    definition.type_name: definition
    for definition in (SPECIALTY, HOST, AGENT, AGENT_PLUGIN, BLACKLISTED_COMMAND)
}
"""The resources by Terraform type name."""

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

__all__ = [
    "AGENT",
    "AGENTS_DATA",
    "AGENT_DATA",
    "AGENT_PLUGIN",
    "AGENT_PLUGINS_DATA",
    "BLACKLISTED_COMMAND",
    "BLACKLISTED_COMMANDS_DATA",
    "BLACKLISTED_COMMAND_DATA",
    "DATA_SOURCES",
    "HOST",
    "HOSTS_DATA",
    "HOST_DATA",
    "PROVIDER",
    "RESOURCES",
    "SPECIALTIES_DATA",
    "SPECIALTY",
    "SPECIALTY_DATA",
]
