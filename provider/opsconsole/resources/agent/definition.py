"""The definition of `opsconsole_agent`.

Clauses `Resources and their fields: Agent` and `CredentialConfig entry`; that of `plugin_ids` is
`Endpoints: POST /api/v1/agents`.
"""

from __future__ import annotations

from functools import partial

from opsconsole.bounds import Bounds
from opsconsole.definition import (
    Attribute,
    ChangeRule,
    Kind,
    NodeStyle,
    ResourceDefinition,
    Way,
    kept_locally,
    optional_computed,
    read_only,
    timestamps,
)

_argument = partial(optional_computed, change=ChangeRule.REPLACE, lifted_by="agent_update")

_CREDENTIAL_CONFIG = (
    Attribute("credential_id", "Id of the credential.", optional=True),
    Attribute("credential_role", "Purpose of the credential.", optional=True),
    Attribute("order", "Position among the agent's credentials.", Kind.INTEGER, optional=True),
    Attribute(
        "is_required", "Whether the agent cannot run without it.", Kind.BOOLEAN, optional=True
    ),
)

AGENT = ResourceDefinition(
    name="agent",
    title="agent",
    plural="agents",
    label="name",
    import_forms=("agt_…",),
    description=(
        "An agent, bound to a host and a specialty. The console has no operation that deletes an "
        "agent: it is archived when its host is deleted."
    ),
    ways={
        "create": (Way("agent_create"),),
        "read": (
            Way("agent_get"),
            Way(
                "plugin_list",
                "whether it exists, and its plugins; other fields as last answered",
                complete=False,
            ),
        ),
        "update": (
            Way("agent_update"),
            Way(
                "plugin_attach",
                "plugin_ids by attach and detach; any other change replaces",
                complete=False,
            ),
        ),
        "delete": (Way("agent_delete"), Way("", "archived when its host is deleted")),
        "list": (Way("agent_list"), Way("", "unmanaged agents are not seen")),
    },
    gone_reason="deleted, archived, or not visible to this key (404)",
    owner="host_id",
    owner_deletion="archive",
    node_style=NodeStyle(("([", "])"), "oval", "#dcfce7"),
    attributes=(
        read_only("id", "The console's id of the agent."),
        _argument(
            "org_id",
            "The org that the agent belongs to; the provider's `org_id` where none is set.",
            shown_description="The org that the agent belongs to.",
        ),
        _argument("name", "The agent's name."),
        _argument(
            "host_id",
            "Id of the host that the agent works on.",
            needed_to_create=True,
            refers_to="host",
        ),
        _argument(
            "specialty_id",
            "Id of the specialty that the agent carries.",
            needed_to_create=True,
            refers_to="specialty",
            blocks_deletion=True,
        ),
        _argument("main_engine", "Identifier of the main engine."),
        _argument("secondary_engine", "Identifier of the secondary engine."),
        _argument(
            "remote_execution", "Whether the agent executes on the remote machine.", Kind.BOOLEAN
        ),
        _argument(
            "credential_config",
            "The credentials that the agent uses. The console may set fields that an entry leaves "
            "out, which is not reported as a difference.",
            Kind.OBJECT_LIST,
            shown_description="The credentials that the agent uses.",
            attributes=_CREDENTIAL_CONFIG,
        ),
        Attribute(
            "plugin_ids",
            "The full set of the agent's plugins, kept by attaching and detaching. Omitted: "
            "plugins are left alone, or declared as `opsconsole_agent_plugin`.",
            Kind.STRING_SET,
            optional=True,
            change=ChangeRule.UPDATE,
        ),
        _argument(
            "accessible_credential_ids",
            "Ids of the credentials that the agent may use.",
            Kind.STRING_SET,
        ),
        kept_locally(
            "deletion_policy",
            "What removal means: `archive_with_host` (the default), `abandon`, which leaves the "
            "agent running, or `prevent`, which refuses any removal but by its host's deletion.",
            bounds=Bounds(allowed=("archive_with_host", "abandon", "prevent")),
        ),
        read_only("status", "`idle`, `running`, `error` or `archived`.", volatile=True),
        read_only("tenant_id", "The tenant that the agent belongs to."),
        read_only(
            "disabled_rule_ids",
            "The console's `disabled_rule_ids`; the API document does not say what it means.",
            Kind.STRING_SET,
        ),
        *timestamps("agent"),
    ),
)
