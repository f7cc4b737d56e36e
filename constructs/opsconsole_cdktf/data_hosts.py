"""The construct of `opsconsole_hosts`: generated from the definitions, not edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import cdktf
from constructs import Construct

from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import Count, DataSource, Lifecycle


class DataHostsHostsOutputReference(attributes.Fields):
    """The tokens of one object of `hosts` of `DataHosts`."""

    id = attributes.text_output("The console's id of the host.")
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


class DataHostsAttributes:
    """The attributes of `DataHosts`."""

    hosts = attributes.objects_output("The hosts, ordered by id.", DataHostsHostsOutputReference)
    complete = attributes.flag_output(
        "Whether the list is certainly whole: false where there are more entries and no way to "
        "the next page is known, where the answer does not say, and where `list_query` narrows "
        "it."
    )
    total_count = attributes.whole_output(
        "The number of entries that the console says there are; null where it does not."
    )


class DataHosts(DataSource, DataHostsAttributes):
    """Every host that the console lists. The API document shows no such list: name the console's
    operation in `extra_endpoints` as `host_list`.

    Args:
        scope: The construct that it belongs to.
        id_: Its name within `scope`.
        count, depends_on, for_each, lifecycle, provider: as in every construct of cdktf.

    Raises:
        TypeError, ValueError: An argument is of a wrong type, or out of its bounds.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_hosts"

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
