"""The definition of `opsconsole_agent`."""

from __future__ import annotations

from opsconsole.definition import (
    Attribute,
    ChangeRule,
    Kind,
    Look,
    ResourceDefinition,
    read_only,
    text,
)

_AGENT = "Resources and their fields: Agent"
_CREDENTIAL = "Resources and their fields: CredentialConfig entry"


def _settable(name: str, kind: Kind, description: str, **facts: object) -> Attribute:
    return Attribute(
        name=name,
        kind=kind,
        description=description,
        optional=True,
        computed=True,
        change=ChangeRule.REPLACE,
        lifted_by="agent_update",
        section=_AGENT,
        **facts,  # type: ignore[arg-type]  # facts are Attribute's own keywords
    )


_CREDENTIAL_CONFIG = (
    text("credential_id", "Id of the credential.", optional=True, section=_CREDENTIAL),
    text("credential_role", "What the credential is for.", optional=True, section=_CREDENTIAL),
    Attribute(
        name="order",
        kind=Kind.INTEGER,
        description="Position among the agent's credentials.",
        optional=True,
        section=_CREDENTIAL,
    ),
    Attribute(
        name="is_required",
        kind=Kind.BOOLEAN,
        description="Whether the agent cannot run without it.",
        optional=True,
        section=_CREDENTIAL,
    ),
)

AGENT = ResourceDefinition(
    name="agent",
    type_name="opsconsole_agent",
    title="agent",
    plural="agents",
    label="name",
    import_id="agt_…",
    description=(
        "An agent, bound to a host and a specialty. The console has no operation that deletes an "
        "agent: it is archived when its host is deleted."
    ),
    operations={
        "create": "POST /api/v1/agents",
        "read": "GET /api/v1/agents/{id}/plugins",
        "update": "POST /api/v1/agents/{id}/plugins",
    },
    lifted_by={
        "read": "agent_get",
        "update": "agent_update",
        "delete": "agent_delete",
        "list": "agent_list",
    },
    notes={
        "create": "",
        "read": "the agent itself",
        "update": "plugin_ids by attach and detach; any other change replaces",
        "delete": "archived when its host is deleted",
        "list": "unmanaged agents are not seen",
    },
    gone="deleted, archived, or not visible to this key (404)",
    owner="host_id",
    reads_whole=False,
    read_ways={
        "plugins": "whether it exists, and its plugins; other fields as last answered",
        "reattach": "its plugins; the whole agent by attaching an attached plugin again",
    },
    look=Look(("([", "])"), "oval", "#dcfce7"),
    attributes=(
        read_only("id", "The console's id of the agent.", section=_AGENT),
        _settable(
            "org_id",
            Kind.STRING,
            "The org that the agent belongs to; the provider's `org_id` where none is set.",
            shown_description="The org that the agent belongs to.",
        ),
        _settable("name", Kind.STRING, "The agent's name."),
        _settable(
            "host_id", Kind.STRING, "Id of the host that the agent works on.", refers_to="host"
        ),
        _settable(
            "specialty_id",
            Kind.STRING,
            "Id of the specialty that the agent carries.",
            refers_to="specialty",
            blocks_deletion=True,
        ),
        _settable("main_engine", Kind.STRING, "Identifier of the main engine."),
        _settable("secondary_engine", Kind.STRING, "Identifier of the secondary engine."),
        _settable(
            "remote_execution", Kind.BOOLEAN, "Whether the agent executes on the remote machine."
        ),
        _settable(
            "credential_config",
            Kind.OBJECT_LIST,
            "The credentials that the agent uses. The console may set what an entry leaves out; "
            "that is no difference.",
            shown_description="The credentials that the agent uses.",
            attributes=_CREDENTIAL_CONFIG,
        ),
        Attribute(
            name="plugin_ids",
            kind=Kind.STRING_SET,
            description=(
                "The full set of the agent's plugins, kept by attaching and detaching. Omitted: "
                "plugins are left alone, or declared as `opsconsole_agent_plugin`."
            ),
            optional=True,
            change=ChangeRule.UPDATE,
            section="Endpoints: POST /api/v1/agents",
        ),
        _settable(
            "accessible_credential_ids",
            Kind.STRING_SET,
            "Ids of the credentials that the agent may use.",
        ),
        text(
            "deletion_policy",
            "What removal means: `archive_with_host` (the default), `abandon`, which leaves the "
            "agent running, or `prevent`, which refuses any removal but by its host's deletion.",
            optional=True,
            local=True,
            creatable=False,
            change=ChangeRule.LOCAL,
            allowed=("archive_with_host", "abandon", "prevent"),
        ),
        read_only(
            "status", "`idle`, `running`, `error` or `archived`.", volatile=True, section=_AGENT
        ),
        read_only("tenant_id", "The tenant that the agent belongs to.", section=_AGENT),
        Attribute(
            name="disabled_rule_ids",
            kind=Kind.STRING_SET,
            description="The console's `disabled_rule_ids`; the API document does not say what "
            "it means.",
            computed=True,
            creatable=False,
            section=_AGENT,
        ),
        read_only("created_at", "When the agent was created, ISO 8601.", section=_AGENT),
        read_only(
            "updated_at",
            "When the agent was last changed, ISO 8601.",
            volatile=True,
            section=_AGENT,
        ),
    ),
)
