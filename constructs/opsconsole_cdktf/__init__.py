"""CDKTF constructs for the operations console. Generated from the definitions."""

from opsconsole_cdktf import _checks as _checks  # adds to what every stack is checked by
from opsconsole_cdktf.agent import Agent, AgentArguments, AgentCredentialConfig, AgentDeletionPolicy
from opsconsole_cdktf.agent_plugin import AgentPlugin
from opsconsole_cdktf.blacklist_policy import BlacklistPolicy, BlacklistRule
from opsconsole_cdktf.blacklisted_command import BlacklistedCommand
from opsconsole_cdktf.data_sources import (
    DataAgent,
    DataAgentPlugins,
    DataAgents,
    DataBlacklistedCommand,
    DataBlacklistedCommands,
    DataHost,
    DataHosts,
    DataSpecialties,
    DataSpecialty,
)
from opsconsole_cdktf.fleet import BadRows, Fleet
from opsconsole_cdktf.host import (
    Host,
    HostArguments,
    HostDeletionPolicy,
    HostIpConnectMode,
    HostTargetType,
)
from opsconsole_cdktf.managed_host import ManagedHost
from opsconsole_cdktf.moved_blocks import MovedBlocks
from opsconsole_cdktf.provider import (
    OpsconsoleProvider,
    OpsconsoleProviderHostRead,
    OpsconsoleProviderOnExistingHost,
    OpsconsoleProviderOnMissing,
    OpsconsoleProviderOnMissingHost,
)
from opsconsole_cdktf.specialty import Specialty, SpecialtyDeletionPolicy, SpecialtyTimeouts
from opsconsole_cdktf.tags import Tags

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
