"""The construct of `opsconsole_blacklisted_command`: generated from the definitions, not edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import cdktn
from constructs import Construct

from opsconsole_cdktn import _attributes as attributes
from opsconsole_cdktn._declared import Count, DataSource, Lifecycle


class DataBlacklistedCommandAttributes:
    """The attributes of `DataBlacklistedCommand`."""

    id = attributes.text("The console's id of the row.")
    id_input = attributes.Declaration[str]()
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


class DataBlacklistedCommand(DataSource, DataBlacklistedCommandAttributes):
    """One blacklisted command.

    Args:
        scope: The construct that it belongs to.
        id_: Its name within `scope`.
        id: The console's id of the row.
        count, depends_on, for_each, lifecycle, provider: as in every construct of cdktn.

    Raises:
        TypeError, ValueError: An argument is of a wrong type, or out of its bounds.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_blacklisted_command"

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        id: str,
        count: Count | None = None,
        depends_on: Sequence[cdktn.ITerraformDependable] | None = None,
        for_each: cdktn.ITerraformIterator | None = None,
        lifecycle: Lifecycle | None = None,
        provider: cdktn.TerraformProvider | None = None,
    ) -> None:
        super().__init__(scope, id_, locals())
