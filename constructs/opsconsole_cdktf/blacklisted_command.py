"""The construct of `opsconsole_blacklisted_command`: generated, not edited."""

from __future__ import annotations

from typing import ClassVar, Unpack

import cdktf
from constructs import Construct

from opsconsole.resources import RESOURCES
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
    _definition: ClassVar[attributes.Definition] = RESOURCES["opsconsole_blacklisted_command"]

    id = attributes.text()
    id_input = attributes.Declaration[str]()
    reset_id = attributes.Reset()
    pattern = attributes.text()
    pattern_input = attributes.Declaration[str]()
    reset_pattern = attributes.Reset()
    description = attributes.text()
    description_input = attributes.Declaration[str]()
    reset_description = attributes.Reset()
    no_description = attributes.flag()
    no_description_input = attributes.Declaration[bool | cdktf.IResolvable]()
    reset_no_description = attributes.Reset()
    org_id = attributes.text()
    org_id_input = attributes.Declaration[str]()
    reset_org_id = attributes.Reset()
    tenant_wide = attributes.flag()
    tenant_wide_input = attributes.Declaration[bool | cdktf.IResolvable]()
    reset_tenant_wide = attributes.Reset()
    tenant_id = attributes.text_output()
    document_id = attributes.text_output()
    source_section = attributes.text_output()
    text_hash = attributes.text_output()
    created_at = attributes.text_output()
    updated_at = attributes.text_output()


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
