"""CDKTF constructs for the operations console. Generated from the definitions."""

from opsconsole_cdktn.agent import Agent, AgentArguments, AgentCredentialConfig, AgentDeletionPolicy
from opsconsole_cdktn.agent_plugin import AgentPlugin
from opsconsole_cdktn.blacklist_policy import BlacklistPolicy, BlacklistRule
from opsconsole_cdktn.blacklisted_command import BlacklistedCommand
from opsconsole_cdktn.data_agent import DataAgent
from opsconsole_cdktn.data_agent_plugins import DataAgentPlugins
from opsconsole_cdktn.data_agents import DataAgents
from opsconsole_cdktn.data_blacklisted_command import DataBlacklistedCommand
from opsconsole_cdktn.data_blacklisted_commands import DataBlacklistedCommands
from opsconsole_cdktn.data_host import DataHost
from opsconsole_cdktn.data_hosts import DataHosts
from opsconsole_cdktn.data_specialties import DataSpecialties
from opsconsole_cdktn.data_specialty import DataSpecialty
from opsconsole_cdktn.fleet import BadRows, Fleet
from opsconsole_cdktn.host import (
    Host,
    HostArguments,
    HostDeletionPolicy,
    HostIpConnectMode,
    HostTargetType,
)
from opsconsole_cdktn.managed_host import ManagedHost
from opsconsole_cdktn.moved_blocks import MovedBlocks
from opsconsole_cdktn.provider import (
    OpsconsoleProvider,
    OpsconsoleProviderHostRead,
    OpsconsoleProviderOnExistingHost,
    OpsconsoleProviderOnMissing,
    OpsconsoleProviderOnMissingHost,
)
from opsconsole_cdktn.specialty import Specialty, SpecialtyDeletionPolicy, SpecialtyTimeouts
from opsconsole_cdktn.tags import Tags

__all__ = [
    "Agent",
    "AgentArguments",
    "AgentCredentialConfig",
    "AgentDeletionPolicy",
    "AgentPlugin",
    "BadRows",
    "BlacklistPolicy",
    "BlacklistRule",
    "BlacklistedCommand",
    "DataAgent",
    "DataAgentPlugins",
    "DataAgents",
    "DataBlacklistedCommand",
    "DataBlacklistedCommands",
    "DataHost",
    "DataHosts",
    "DataSpecialties",
    "DataSpecialty",
    "Fleet",
    "Host",
    "HostArguments",
    "HostDeletionPolicy",
    "HostIpConnectMode",
    "HostTargetType",
    "ManagedHost",
    "MovedBlocks",
    "OpsconsoleProvider",
    "OpsconsoleProviderHostRead",
    "OpsconsoleProviderOnExistingHost",
    "OpsconsoleProviderOnMissing",
    "OpsconsoleProviderOnMissingHost",
    "Specialty",
    "SpecialtyDeletionPolicy",
    "SpecialtyTimeouts",
    "Tags",
]
