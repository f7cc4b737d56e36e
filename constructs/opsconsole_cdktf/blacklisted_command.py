"""The construct of `opsconsole_blacklisted_command`: generated, not edited."""

from __future__ import annotations

from typing import ClassVar, Unpack

import cdktf
from constructs import Construct

from opsconsole.bounds import Bounds
from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import MetaArguments, Resource


class BlacklistedCommandOptions(MetaArguments, total=False):
    """The arguments of `BlacklistedCommand` that may be left out."""

    id: str | None
    pattern: str | None
    description: str | None
    no_description: bool | cdktf.IResolvable | None
    org_id: str | None
    tenant_wide: bool | cdktf.IResolvable | None


class BlacklistedCommandAttributes:
    """The attributes of `BlacklistedCommand`."""

    id = attributes.text("The console's id of the row to adopt.")
    id_input = attributes.Declaration[str]()
    reset_id = attributes.Reset()
    pattern = attributes.text(
        "The command pattern that is refused, 1 to 200 characters.",
        Bounds(min_length=1, max_length=200),
    )
    pattern_input = attributes.Declaration[str]()
    reset_pattern = attributes.Reset()
    description = attributes.text("Why the command is refused.")
    description_input = attributes.Declaration[str]()
    reset_description = attributes.Reset()
    no_description = attributes.flag(
        "True writes `description: null`; omitted, it is left as it is."
    )
    no_description_input = attributes.Declaration[bool | cdktf.IResolvable]()
    reset_no_description = attributes.Reset()
    org_id = attributes.text("The org that the row governs. Omitted: the scope is left as it is.")
    org_id_input = attributes.Declaration[str]()
    reset_org_id = attributes.Reset()
    tenant_wide = attributes.flag(
        "Whether the row governs every org of the tenant (`org_id` null)."
    )
    tenant_wide_input = attributes.Declaration[bool | cdktf.IResolvable]()
    reset_tenant_wide = attributes.Reset()
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


class BlacklistedCommand(Resource, BlacklistedCommandAttributes):
    """A command pattern that is refused at execution time. The console has no operation that
    creates or deletes one: the row of the declared `id` is adopted and updated, and removal leaves
    the row in place.

    Args:
        id: The console's id of the row to adopt.
        pattern: The command pattern that is refused, 1 to 200 characters.
        description: Why the command is refused.
        no_description: True writes `description: null`; omitted, it is left as it is.
        org_id: The org that the row governs. Omitted: the scope is left as it is.
        tenant_wide: Whether the row governs every org of the tenant (`org_id` null).
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_blacklisted_command"

    def __init__(
        self, scope: Construct, id_: str, **others: Unpack[BlacklistedCommandOptions]
    ) -> None:
        super().__init__(scope, id_, **others)
