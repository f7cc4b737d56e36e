"""The construct of `opsconsole_agents`: generated from the definitions, not edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import cdktf
from constructs import Construct

from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import Count, DataSource, Lifecycle


class DataAgentsAgentsCredentialConfigOutputReference(attributes.Fields):
    """The tokens of one object of `credential_config` of `DataAgentsAgents`."""

    credential_id = attributes.text_output("Id of the credential.")
    credential_role = attributes.text_output("What the credential is for.")
    order = attributes.whole_output("Position among the agent's credentials.")
    is_required = attributes.flag_output("Whether the agent cannot run without it.")


class DataAgentsAgentsOutputReference(attributes.Fields):
    """The tokens of one object of `agents` of `DataAgents`."""

    id = attributes.text_output("The console's id of the agent.")
    org_id = attributes.text_output("The org that the agent belongs to.")
    name = attributes.text_output("The agent's name.")
    host_id = attributes.text_output("Id of the host that the agent works on.")
    specialty_id = attributes.text_output("Id of the specialty that the agent carries.")
    main_engine = attributes.text_output("Identifier of the main engine.")
    secondary_engine = attributes.text_output("Identifier of the secondary engine.")
    remote_execution = attributes.flag_output("Whether the agent executes on the remote machine.")
    credential_config = attributes.objects_output(
        "The credentials that the agent uses.", DataAgentsAgentsCredentialConfigOutputReference
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


class DataAgentsAttributes:
    """The attributes of `DataAgents`."""

    agents = attributes.objects_output(
        "The agents, ordered by id.", DataAgentsAgentsOutputReference
    )
    complete = attributes.flag_output(
        "Whether the list is certainly whole: false where there are more entries and no way to "
        "the next page is known, where the answer does not say, and where `list_query` narrows "
        "it."
    )
    total_count = attributes.whole_output(
        "The number of entries that the console says there are; null where it does not."
    )


class DataAgents(DataSource, DataAgentsAttributes):
    """Every agent that the console lists. The API document shows no such list: name the console's
    operation in `extra_endpoints` as `agent_list`.

    Args:
        scope: The construct that it belongs to.
        id_: Its name within `scope`.
        count, depends_on, for_each, lifecycle, provider: as in every construct of cdktf.

    Raises:
        TypeError, ValueError: An argument is of a wrong type, or out of its bounds.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_agents"

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        count: Count | None = None,
        depends_on: Sequence[cdktf.ITerraformDependable] | None = None,
        for_each: cdktf.ITerraformIterator | None = None,
        lifecycle: Lifecycle | None = None,
        provider: cdktf.TerraformProvider | None = None,
    ) -> None:
        super().__init__(scope, id_, locals())
