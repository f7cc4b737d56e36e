"""The construct of `opsconsole_blacklisted_commands`: generated, not edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import cdktf
from constructs import Construct

from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import Count, DataSource, Lifecycle


class DataBlacklistedCommandsBlacklistedCommandsOutputReference(attributes.Fields):
    """The tokens of one object of `blacklisted_commands` of `DataBlacklistedCommands`."""

    id = attributes.text_output("The console's id of the row.")
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


class DataBlacklistedCommandsAttributes:
    """The attributes of `DataBlacklistedCommands`."""

    blacklisted_commands = attributes.objects_output(
        "The blacklisted commands, ordered by id.",
        DataBlacklistedCommandsBlacklistedCommandsOutputReference,
    )
    complete = attributes.flag_output(
        "Whether the list is certainly whole: false where there are more entries and no way to "
        "the next page is known, where the answer does not say, and where `list_query` narrows "
        "it."
    )
    total_count = attributes.whole_output(
        "The number of entries that the console says there are; null where it does not."
    )


class DataBlacklistedCommands(DataSource, DataBlacklistedCommandsAttributes):
    """Every blacklisted command that the console lists. The API document shows no such list: name
    the console's operation in `extra_endpoints` as `blacklist_list`.

    Args:
        scope: The construct that it belongs to.
        id_: Its name within `scope`.
        count, depends_on, for_each, lifecycle, provider: as in every construct of cdktf.

    Raises:
        TypeError, ValueError: An argument is of a wrong type, or out of its bounds.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_blacklisted_commands"

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
