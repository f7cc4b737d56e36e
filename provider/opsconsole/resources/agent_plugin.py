"""The definition of `opsconsole_agent_plugin`: one plugin attached to one agent."""

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

_PLUGIN = "Resources and their fields: Plugin (list entry)"

PLUGIN_FIELDS = (
    read_only("name", "The plugin's name.", section=_PLUGIN),
    Attribute(
        name="enabled",
        kind=Kind.BOOLEAN,
        description="Whether the plugin is enabled.",
        computed=True,
        creatable=False,
        section=_PLUGIN,
    ),
    read_only("org_id", "The org that the plugin belongs to.", section=_PLUGIN),
    read_only("created_at", "When the plugin was created, ISO 8601.", section=_PLUGIN),
    read_only(
        "updated_at", "When the plugin was last changed, ISO 8601.", volatile=True, section=_PLUGIN
    ),
)
"""The fields of a plugin list entry, its id aside."""

AGENT_PLUGIN = ResourceDefinition(
    name="agent_plugin",
    type_name="opsconsole_agent_plugin",
    title="plugin attachment",
    plural="plugins",
    label="id",
    reported_as=("name", "plugin_id"),
    import_id="AGENT_ID/PLUGIN_ID",
    description="One plugin attached to one agent.",
    operations={
        "create": "POST /api/v1/agents/{id}/plugins",
        "read": "GET /api/v1/agents/{id}/plugins",
        "delete": "DELETE /api/v1/agents/{id}/plugins/{pluginId}",
        "list": "GET /api/v1/agents/{id}/plugins",
    },
    lifted_by={},
    notes={
        "create": "attach",
        "read": "the agent's list, read once in a run",
        "update": "both ids replace",
        "delete": "detach",
        "list": "of each managed agent",
    },
    gone="detached, or not visible to this key: the agent's list of plugins does not show it",
    owner="agent_id",
    look=Look(("[/", "/]"), "parallelogram", "#f3e8ff"),
    attributes=(
        read_only("id", "`AGENT_ID/PLUGIN_ID`.", local=True),
        text(
            "agent_id",
            "Id of the agent.",
            required=True,
            change=ChangeRule.REPLACE,
            refers_to="agent",
            section="Endpoints: POST /api/v1/agents/{id}/plugins",
        ),
        text(
            "plugin_id",
            "Id of the plugin.",
            required=True,
            change=ChangeRule.REPLACE,
            section="Endpoints: POST /api/v1/agents/{id}/plugins",
        ),
        *PLUGIN_FIELDS,
    ),
)
