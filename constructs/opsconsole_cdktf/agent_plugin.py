"""The construct of `opsconsole_agent_plugin`: generated, not edited."""

from __future__ import annotations

from typing import ClassVar, Unpack

from constructs import Construct

from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import MetaArguments, Resource


class AgentPluginAttributes:
    """The attributes of `AgentPlugin`."""

    id = attributes.text_output("`AGENT_ID/PLUGIN_ID`.")
    agent_id = attributes.text("Id of the agent.")
    agent_id_input = attributes.Declaration[str]()
    plugin_id = attributes.text("Id of the plugin.")
    plugin_id_input = attributes.Declaration[str]()
    name = attributes.text_output("The plugin's name.")
    enabled = attributes.flag_output("Whether the plugin is enabled.")
    org_id = attributes.text_output("The org that the plugin belongs to.")
    created_at = attributes.text_output("When the plugin was created, ISO 8601.")
    updated_at = attributes.text_output("When the plugin was last changed, ISO 8601.")


class AgentPlugin(Resource, AgentPluginAttributes):
    """One plugin attached to one agent.

    Args:
        agent_id: Id of the agent.
        plugin_id: Id of the plugin.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_agent_plugin"

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        agent_id: str,
        plugin_id: str,
        **others: Unpack[MetaArguments],
    ) -> None:
        super().__init__(scope, id_, agent_id=agent_id, plugin_id=plugin_id, **others)
