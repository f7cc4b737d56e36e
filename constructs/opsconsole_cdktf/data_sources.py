"""The constructs of the data sources: generated, not edited."""

from __future__ import annotations

from typing import ClassVar, Unpack

from constructs import Construct

from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import DataMetaArguments, DataSource
from opsconsole_cdktf.agent import AgentCredentialConfigOutputReference


class ListAttributes:
    """The facts about the list of a data source."""

    complete = attributes.flag_output(
        "Whether the list is certainly whole: false where there are more entries and no way to "
        "the next page is known, where the answer does not say, and where `list_query` narrows "
        "it."
    )
    total_count = attributes.whole_output(
        "The number of entries that the console says there are; null where it does not."
    )


class SpecialtyFields:
    """The fields of one specialty."""

    prompt = attributes.text_output("The prompt that agents of this specialty work by.")
    description = attributes.text_output("Purpose of the specialty.")
    execution_mode = attributes.text_output("How agents of this specialty execute.")
    org_id = attributes.text_output("The org that the specialty belongs to.")
    owner_id = attributes.text_output("Who owns the specialty.")
    tenant_id = attributes.text_output("The tenant that the specialty belongs to.")
    created_at = attributes.text_output("When the specialty was created, ISO 8601.")
    updated_at = attributes.text_output("When the specialty was last changed, ISO 8601.")


class HostFields:
    """The fields of one host."""

    name = attributes.text_output("The host's name.")
    org_id = attributes.text_output("The org that the host belongs to.")
    public_ip = attributes.text_output("The address reached from outside.")
    private_ip = attributes.text_output("The address reached from inside.")
    ip_connect_mode = attributes.text_output(
        "Which address the console connects to. One of `auto`, `public`, `private`."
    )
    target_type = attributes.text_output(
        "The protocol that the host is reached by. One of `ssh`, `winrm`."
    )
    target_port = attributes.whole_output("The port that the host is reached at. 1 to 65535.")
    skip_tls_verify = attributes.flag_output("Whether the console accepts any certificate.")
    additional_names = attributes.text_set_output("Further names of the host.")
    tags = attributes.text_set_output("Tags, each shaped `<key>:<value>`.")
    knowledge = attributes.text_output("Free text that agents may use.")
    is_jump_host = attributes.flag_output("Whether other hosts are reached through it.")
    jump_host_ids = attributes.texts_output("Ids of the hosts used as jump hosts, in order.")
    jump_host_username_credential_id = attributes.text_output(
        "Id of the credential that holds the jump host's user name."
    )
    jump_host_secret_credential_id = attributes.text_output(
        "Id of the credential that holds the jump host's secret."
    )
    eligible_subnets = attributes.text_set_output("Subnets reached through the host.")
    external_id = attributes.text_output(
        "The console's `external_id`; the API document does not say what it means. Set at "
        "creation only."
    )
    unique_id = attributes.text_output(
        "The console's `unique_id`; the API document does not say what it means. Set at creation "
        "only."
    )
    mac = attributes.text_output(
        "The console's `mac`; the API document does not say what it means. Set at creation only."
    )
    tenant_id = attributes.text_output("The tenant that the host belongs to.")
    enrichment_source = attributes.text_output(
        "The console's `enrichment_source`; the API document does not say what it means."
    )
    created_at = attributes.text_output("When the host was created, ISO 8601.")
    updated_at = attributes.text_output("When the host was last changed, ISO 8601.")


class AgentFields:
    """The fields of one agent."""

    org_id = attributes.text_output("The org that the agent belongs to.")
    name = attributes.text_output("The agent's name.")
    host_id = attributes.text_output("Id of the host that the agent works on.")
    specialty_id = attributes.text_output("Id of the specialty that the agent carries.")
    main_engine = attributes.text_output("Identifier of the main engine.")
    secondary_engine = attributes.text_output("Identifier of the secondary engine.")
    remote_execution = attributes.flag_output("Whether the agent executes on the remote machine.")
    credential_config = attributes.objects_output(
        "The credentials that the agent uses.", AgentCredentialConfigOutputReference
    )
    accessible_credential_ids = attributes.text_set_output(
        "Ids of the credentials that the agent may use."
    )
    status = attributes.text_output("`idle`, `running`, `error` or `archived`.")
    tenant_id = attributes.text_output("The tenant that the agent belongs to.")
    disabled_rule_ids = attributes.text_set_output(
        "The console's `disabled_rule_ids`; the API document does not say what it means."
    )
    created_at = attributes.text_output("When the agent was created, ISO 8601.")
    updated_at = attributes.text_output("When the agent was last changed, ISO 8601.")


class BlacklistedCommandFields:
    """The fields of one blacklisted command."""

    pattern = attributes.text_output("The command pattern that is refused, 1 to 200 characters.")
    description = attributes.text_output("Why the command is refused.")
    org_id = attributes.text_output(
        "The org that the row governs; null where it governs every org of the tenant."
    )
    tenant_wide = attributes.flag_output(
        "Whether the row governs every org of the tenant (`org_id` null)."
    )
    tenant_id = attributes.text_output("The tenant that the row belongs to.")
    document_id = attributes.text_output(
        "The knowledge document that the row was extracted from; null when curated by hand."
    )
    source_section = attributes.text_output(
        "Heading path within that document; null for a row that was curated by hand."
    )
    text_hash = attributes.text_output("Hash of the row's text.")
    created_at = attributes.text_output("When the row was created, ISO 8601.")
    updated_at = attributes.text_output("When the row was last changed, ISO 8601.")


class DataSpecialtyOptions(DataMetaArguments, total=False):
    """The arguments of `DataSpecialty` that may be left out."""

    id: str | None
    key: str | None
    name: str | None


class DataSpecialtyAttributes(SpecialtyFields):
    """The attributes of `DataSpecialty`."""

    id = attributes.text("The console's id of the specialty.")
    id_input = attributes.Declaration[str]()
    reset_id = attributes.Reset()
    key = attributes.text("The key that the specialty is looked up by.")
    key_input = attributes.Declaration[str]()
    reset_key = attributes.Reset()
    name = attributes.text("The specialty's name.")
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

    id = attributes.text_output("The console's id of the specialty.")
    key = attributes.text_output("The key that the specialty is looked up by.")
    name = attributes.text_output("The specialty's name.")


class DataSpecialtiesAttributes(ListAttributes):
    """The attributes of `DataSpecialties`."""

    specialties = attributes.objects_output(
        "The specialties, ordered by id.", DataSpecialtiesSpecialtiesOutputReference
    )


class DataSpecialties(DataSource, DataSpecialtiesAttributes):
    """Every specialty that the console shows."""

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_specialties"

    def __init__(self, scope: Construct, id_: str, **others: Unpack[DataMetaArguments]) -> None:
        super().__init__(scope, id_, **others)


class DataHostAttributes(HostFields):
    """The attributes of `DataHost`."""

    id = attributes.text("The console's id of the host.")
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

    id = attributes.text_output("The console's id of the host.")


class DataHostsAttributes(ListAttributes):
    """The attributes of `DataHosts`."""

    hosts = attributes.objects_output("The hosts, ordered by id.", DataHostsHostsOutputReference)


class DataHosts(DataSource, DataHostsAttributes):
    """Every host that the console lists. The API document shows no such list: name the console's
    operation in `extra_endpoints` as `host_list`."""

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_hosts"

    def __init__(self, scope: Construct, id_: str, **others: Unpack[DataMetaArguments]) -> None:
        super().__init__(scope, id_, **others)


class DataAgentAttributes(AgentFields):
    """The attributes of `DataAgent`."""

    id = attributes.text("The console's id of the agent.")
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

    id = attributes.text_output("The console's id of the agent.")


class DataAgentsAttributes(ListAttributes):
    """The attributes of `DataAgents`."""

    agents = attributes.objects_output(
        "The agents, ordered by id.", DataAgentsAgentsOutputReference
    )


class DataAgents(DataSource, DataAgentsAttributes):
    """Every agent that the console lists. The API document shows no such list: name the console's
    operation in `extra_endpoints` as `agent_list`."""

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_agents"

    def __init__(self, scope: Construct, id_: str, **others: Unpack[DataMetaArguments]) -> None:
        super().__init__(scope, id_, **others)


class DataAgentPluginsPluginsOutputReference(attributes.Fields):
    """The tokens of one object of `plugins` of `DataAgentPlugins`."""

    id = attributes.text_output("The console's id of the plugin.")
    name = attributes.text_output("The plugin's name.")
    enabled = attributes.flag_output("Whether the plugin is enabled.")
    org_id = attributes.text_output("The org that the plugin belongs to.")
    created_at = attributes.text_output("When the plugin was created, ISO 8601.")
    updated_at = attributes.text_output("When the plugin was last changed, ISO 8601.")


class DataAgentPluginsAttributes(ListAttributes):
    """The attributes of `DataAgentPlugins`."""

    agent_id = attributes.text("Id of the agent.")
    agent_id_input = attributes.Declaration[str]()
    plugins = attributes.objects_output(
        "The plugins, ordered by id.", DataAgentPluginsPluginsOutputReference
    )


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
    """The attributes of `DataBlacklistedCommand`."""

    id = attributes.text("The console's id of the row.")
    id_input = attributes.Declaration[str]()


class DataBlacklistedCommand(DataSource, DataBlacklistedCommandAttributes):
    """One blacklisted command.

    Args:
        id: The console's id of the row.
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

    id = attributes.text_output("The console's id of the row.")


class DataBlacklistedCommandsAttributes(ListAttributes):
    """The attributes of `DataBlacklistedCommands`."""

    blacklisted_commands = attributes.objects_output(
        "The blacklisted commands, ordered by id.",
        DataBlacklistedCommandsBlacklistedCommandsOutputReference,
    )


class DataBlacklistedCommands(DataSource, DataBlacklistedCommandsAttributes):
    """Every blacklisted command that the console lists. The API document shows no such list: name
    the console's operation in `extra_endpoints` as `blacklist_list`."""

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_blacklisted_commands"

    def __init__(self, scope: Construct, id_: str, **others: Unpack[DataMetaArguments]) -> None:
        super().__init__(scope, id_, **others)
