"""The construct of `opsconsole_agent_plugin`: generated, not edited."""

from __future__ import annotations

from typing import ClassVar, Unpack

from constructs import Construct

from opsconsole.resources import RESOURCES
from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import MetaArguments, Resource


class AgentPluginAttributes:
    _definition: ClassVar[attributes.Definition] = RESOURCES["opsconsole_agent_plugin"]

    id = attributes.text_output()
    agent_id = attributes.text()
    agent_id_input = attributes.Declaration[str]()
    plugin_id = attributes.text()
    plugin_id_input = attributes.Declaration[str]()
    name = attributes.text_output()
    enabled = attributes.flag_output()
    org_id = attributes.text_output()
    created_at = attributes.text_output()
    updated_at = attributes.text_output()


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
