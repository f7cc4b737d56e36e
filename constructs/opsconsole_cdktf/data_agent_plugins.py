"""The construct of `opsconsole_agent_plugins`: generated from the definitions, not edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import cdktf
from constructs import Construct

from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import Count, DataSource, Lifecycle


class DataAgentPluginsPluginsOutputReference(attributes.Fields):
    """The tokens of one object of `plugins` of `DataAgentPlugins`."""

    id = attributes.text_output("The console's id of the plugin.")
    name = attributes.text_output("The plugin's name.")
    enabled = attributes.flag_output("Whether the plugin is enabled.")
    org_id = attributes.text_output("The org that the plugin belongs to.")
    created_at = attributes.text_output("When the plugin was created, ISO 8601.")
    updated_at = attributes.text_output("When the plugin was last changed, ISO 8601.")


class DataAgentPluginsAttributes:
    """The attributes of `DataAgentPlugins`."""

    agent_id = attributes.text("Id of the agent.")
    agent_id_input = attributes.Declaration[str]()
    plugins = attributes.objects_output(
        "The plugins, ordered by id.", DataAgentPluginsPluginsOutputReference
    )
    complete = attributes.flag_output(
        "Whether the list is certainly whole: false where there are more entries and no way to "
        "the next page is known, where the answer does not say, and where `list_query` narrows "
        "it."
    )
    total_count = attributes.whole_output(
        "The number of entries that the console says there are; null where it does not."
    )


class DataAgentPlugins(DataSource, DataAgentPluginsAttributes):
    """The plugins attached to one agent.

    Args:
        scope: The construct that it belongs to.
        id_: Its name within `scope`.
        agent_id: Id of the agent.
        count, depends_on, for_each, lifecycle, provider: as in every construct of cdktf.

    Raises:
        TypeError, ValueError: An argument is of a wrong type, or out of its bounds.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_agent_plugins"

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        agent_id: str,
        count: Count | None = None,
        depends_on: Sequence[cdktf.ITerraformDependable] | None = None,
        for_each: cdktf.ITerraformIterator | None = None,
        lifecycle: Lifecycle | None = None,
        provider: cdktf.TerraformProvider | None = None,
    ) -> None:
        super().__init__(scope, id_, locals())
