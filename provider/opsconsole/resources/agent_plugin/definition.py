"""The definition of `opsconsole_agent_plugin`: one plugin attached to one agent.

Clause `Endpoints: POST /api/v1/agents/{id}/plugins`.
"""

from __future__ import annotations

from opsconsole.definition import (
    Attribute,
    ChangeRule,
    Kind,
    NodeStyle,
    ResourceDefinition,
    Way,
    read_only,
    timestamps,
)

PLUGIN_FIELDS = (
    read_only("name", "The plugin's name."),
    read_only("enabled", "Whether the plugin is enabled.", Kind.BOOLEAN),
    read_only("org_id", "The org that the plugin belongs to."),
    *timestamps("plugin"),
)
"""The fields of a plugin, its id aside: `Resources and their fields: Plugin (list entry)`."""

AGENT_PLUGIN = ResourceDefinition(
    name="agent_plugin",
    title="plugin attachment",
    plural="plugins",
    label="id",
    reported_as=("name", "plugin_id"),
    import_forms=("AGENT_ID/PLUGIN_ID",),
    description="One plugin attached to one agent.",
    ways={
        "create": (Way("plugin_attach", "attach"),),
        "read": (Way("plugin_list", "the agent's list, read once in a run"),),
        "update": (Way("", "both ids replace"),),
        "delete": (Way("plugin_detach", "detach"),),
        "list": (Way("plugin_list", "of each managed agent"),),
    },
    gone_reason=(
        "detached, or not visible to this key: the agent's list of plugins does not show it"
    ),
    owner="agent_id",
    owner_deletion="archive",
    node_style=NodeStyle(("[/", "/]"), "parallelogram", "#f3e8ff"),
    attributes=(
        read_only("id", "`AGENT_ID/PLUGIN_ID`.", local=True),
        Attribute(
            "agent_id",
            "Id of the agent.",
            required=True,
            change=ChangeRule.REPLACE,
            refers_to="agent",
        ),
        Attribute("plugin_id", "Id of the plugin.", required=True, change=ChangeRule.REPLACE),
        *PLUGIN_FIELDS,
    ),
)
