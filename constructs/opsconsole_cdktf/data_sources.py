"""The constructs of the data sources: generated, not edited."""

from __future__ import annotations

from typing import ClassVar, Unpack

from constructs import Construct

from opsconsole.resources import DATA_SOURCES
from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import DataMetaArguments, DataSource
from opsconsole_cdktf.agent import AgentCredentialConfigOutputReference


class ListAttributes:
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_specialties"]

    complete = attributes.flag_output()
    total_count = attributes.whole_output()


class SpecialtyFields:
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_specialty"]

    prompt = attributes.text_output()
    description = attributes.text_output()
    execution_mode = attributes.text_output()
    org_id = attributes.text_output()
    owner_id = attributes.text_output()
    tenant_id = attributes.text_output()
    created_at = attributes.text_output()
    updated_at = attributes.text_output()


class HostFields:
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_host"]

    name = attributes.text_output()
    org_id = attributes.text_output()
    public_ip = attributes.text_output()
    private_ip = attributes.text_output()
    ip_connect_mode = attributes.text_output()
    target_type = attributes.text_output()
    target_port = attributes.whole_output()
    skip_tls_verify = attributes.flag_output()
    additional_names = attributes.text_set_output()
    tags = attributes.text_set_output()
    knowledge = attributes.text_output()
    is_jump_host = attributes.flag_output()
    jump_host_ids = attributes.texts_output()
    jump_host_username_credential_id = attributes.text_output()
    jump_host_secret_credential_id = attributes.text_output()
    eligible_subnets = attributes.text_set_output()
    external_id = attributes.text_output()
    unique_id = attributes.text_output()
    mac = attributes.text_output()
    tenant_id = attributes.text_output()
    enrichment_source = attributes.text_output()
    created_at = attributes.text_output()
    updated_at = attributes.text_output()


class AgentFields:
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_agent"]

    org_id = attributes.text_output()
    name = attributes.text_output()
    host_id = attributes.text_output()
    specialty_id = attributes.text_output()
    main_engine = attributes.text_output()
    secondary_engine = attributes.text_output()
    remote_execution = attributes.flag_output()
    credential_config = attributes.objects_output(AgentCredentialConfigOutputReference)
    accessible_credential_ids = attributes.text_set_output()
    status = attributes.text_output()
    tenant_id = attributes.text_output()
    disabled_rule_ids = attributes.text_set_output()
    created_at = attributes.text_output()
    updated_at = attributes.text_output()


class BlacklistedCommandFields:
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_blacklisted_command"]

    pattern = attributes.text_output()
    description = attributes.text_output()
    org_id = attributes.text_output()
    tenant_wide = attributes.flag_output()
    tenant_id = attributes.text_output()
    document_id = attributes.text_output()
    source_section = attributes.text_output()
    text_hash = attributes.text_output()
    created_at = attributes.text_output()
    updated_at = attributes.text_output()


class DataSpecialtyOptions(DataMetaArguments, total=False):
    """The arguments of `DataSpecialty` that may be left out."""

    id: str | None
    key: str | None
    name: str | None


class DataSpecialtyAttributes(SpecialtyFields):
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_specialty"]

    id = attributes.text()
    id_input = attributes.Declaration[str]()
    reset_id = attributes.Reset()
    key = attributes.text()
    key_input = attributes.Declaration[str]()
    reset_key = attributes.Reset()
    name = attributes.text()
    name_input = attributes.Declaration[str]()
    reset_name = attributes.Reset()


class DataSpecialty(DataSource, DataSpecialtyAttributes):
    """One specialty, found by exactly one of `id`, `key` or `name`.

    Args:
        id: The console's id of the specialty.
        key: The key that the specialty is looked up by.
        name: The specialty's name.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_specialty"

    def __init__(self, scope: Construct, id_: str, **others: Unpack[DataSpecialtyOptions]) -> None:
        super().__init__(scope, id_, **others)


class DataSpecialtiesSpecialtiesOutputReference(attributes.Fields, SpecialtyFields):
    """The tokens of one object of `specialties` of `DataSpecialties`."""

    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_specialties"][
        "specialties"
    ]

    id = attributes.text_output()
    key = attributes.text_output()
    name = attributes.text_output()


class DataSpecialtiesAttributes(ListAttributes):
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_specialties"]

    specialties = attributes.objects_output(DataSpecialtiesSpecialtiesOutputReference)


class DataSpecialties(DataSource, DataSpecialtiesAttributes):
    """Every specialty that the console shows."""

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_specialties"

    def __init__(self, scope: Construct, id_: str, **others: Unpack[DataMetaArguments]) -> None:
        super().__init__(scope, id_, **others)


class DataHostAttributes(HostFields):
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_host"]

    id = attributes.text()
    id_input = attributes.Declaration[str]()


class DataHost(DataSource, DataHostAttributes):
    """One host, such as a jump host that somebody else manages. It is read by `host_get` where
    `extra_endpoints` names it, else by an empty update, which takes a key that may write hosts.

    Args:
        id: The console's id of the host.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_host"

    def __init__(
        self, scope: Construct, id_: str, *, id: str, **others: Unpack[DataMetaArguments]
    ) -> None:
        super().__init__(scope, id_, id=id, **others)


class DataHostsHostsOutputReference(attributes.Fields, HostFields):
    """The tokens of one object of `hosts` of `DataHosts`."""

    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_hosts"]["hosts"]

    id = attributes.text_output()


class DataHostsAttributes(ListAttributes):
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_hosts"]

    hosts = attributes.objects_output(DataHostsHostsOutputReference)


class DataHosts(DataSource, DataHostsAttributes):
    """Every host that the console lists. The API document shows no such list: name the console's
    operation in `extra_endpoints` as `host_list`."""

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_hosts"

    def __init__(self, scope: Construct, id_: str, **others: Unpack[DataMetaArguments]) -> None:
        super().__init__(scope, id_, **others)


class DataAgentAttributes(AgentFields):
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_agent"]

    id = attributes.text()
    id_input = attributes.Declaration[str]()


class DataAgent(DataSource, DataAgentAttributes):
    """One agent. The API document shows no operation that reads one: name the console's in
    `extra_endpoints` as `agent_get`.

    Args:
        id: The console's id of the agent.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_agent"

    def __init__(
        self, scope: Construct, id_: str, *, id: str, **others: Unpack[DataMetaArguments]
    ) -> None:
        super().__init__(scope, id_, id=id, **others)


class DataAgentsAgentsOutputReference(attributes.Fields, AgentFields):
    """The tokens of one object of `agents` of `DataAgents`."""

    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_agents"]["agents"]

    id = attributes.text_output()


class DataAgentsAttributes(ListAttributes):
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_agents"]

    agents = attributes.objects_output(DataAgentsAgentsOutputReference)


class DataAgents(DataSource, DataAgentsAttributes):
    """Every agent that the console lists. The API document shows no such list: name the console's
    operation in `extra_endpoints` as `agent_list`."""

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_agents"

    def __init__(self, scope: Construct, id_: str, **others: Unpack[DataMetaArguments]) -> None:
        super().__init__(scope, id_, **others)


class DataAgentPluginsPluginsOutputReference(attributes.Fields):
    """The tokens of one object of `plugins` of `DataAgentPlugins`."""

    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_agent_plugins"][
        "plugins"
    ]

    id = attributes.text_output()
    name = attributes.text_output()
    enabled = attributes.flag_output()
    org_id = attributes.text_output()
    created_at = attributes.text_output()
    updated_at = attributes.text_output()


class DataAgentPluginsAttributes(ListAttributes):
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_agent_plugins"]

    agent_id = attributes.text()
    agent_id_input = attributes.Declaration[str]()
    plugins = attributes.objects_output(DataAgentPluginsPluginsOutputReference)


class DataAgentPlugins(DataSource, DataAgentPluginsAttributes):
    """The plugins attached to one agent.

    Args:
        agent_id: Id of the agent.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_agent_plugins"

    def __init__(
        self, scope: Construct, id_: str, *, agent_id: str, **others: Unpack[DataMetaArguments]
    ) -> None:
        super().__init__(scope, id_, agent_id=agent_id, **others)


class DataBlacklistedCommandAttributes(BlacklistedCommandFields):
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_blacklisted_command"]

    id = attributes.text()
    id_input = attributes.Declaration[str]()


class DataBlacklistedCommand(DataSource, DataBlacklistedCommandAttributes):
    """One blacklisted command.

    Args:
        id: The console's id of the blacklisted command.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_blacklisted_command"

    def __init__(
        self, scope: Construct, id_: str, *, id: str, **others: Unpack[DataMetaArguments]
    ) -> None:
        super().__init__(scope, id_, id=id, **others)


class DataBlacklistedCommandsBlacklistedCommandsOutputReference(
    attributes.Fields, BlacklistedCommandFields
):
    """The tokens of one object of `blacklisted_commands` of `DataBlacklistedCommands`."""

    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_blacklisted_commands"][
        "blacklisted_commands"
    ]

    id = attributes.text_output()


class DataBlacklistedCommandsAttributes(ListAttributes):
    _definition: ClassVar[attributes.Definition] = DATA_SOURCES["opsconsole_blacklisted_commands"]

    blacklisted_commands = attributes.objects_output(
        DataBlacklistedCommandsBlacklistedCommandsOutputReference
    )


class DataBlacklistedCommands(DataSource, DataBlacklistedCommandsAttributes):
    """Every blacklisted command that the console lists. The API document shows no such list: name
    the console's operation in `extra_endpoints` as `blacklist_list`."""

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_blacklisted_commands"

    def __init__(self, scope: Construct, id_: str, **others: Unpack[DataMetaArguments]) -> None:
        super().__init__(scope, id_, **others)
