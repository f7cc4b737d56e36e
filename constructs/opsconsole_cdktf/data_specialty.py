"""The construct of `opsconsole_specialty`: generated from the definitions, not edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import cdktf
from constructs import Construct

from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import Count, DataSource, Lifecycle


class DataSpecialtyAttributes:
    """The attributes of `DataSpecialty`."""

    id = attributes.text("The console's id of the specialty.")
    id_input = attributes.Declaration[str]()
    reset_id = attributes.Reset()
    key = attributes.text("The key that the specialty is looked up by.")
    key_input = attributes.Declaration[str]()
    reset_key = attributes.Reset()
    name = attributes.text("The specialty's name.")
    name_input = attributes.Declaration[str]()
    reset_name = attributes.Reset()
    prompt = attributes.text_output("The prompt that agents of this specialty work by.")
    description = attributes.text_output("What the specialty is for.")
    execution_mode = attributes.text_output("How agents of this specialty execute.")
    org_id = attributes.text_output("The org that the specialty belongs to.")
    owner_id = attributes.text_output("Who owns the specialty.")
    tenant_id = attributes.text_output("The tenant that the specialty belongs to.")
    created_at = attributes.text_output("When the specialty was created, ISO 8601.")
    updated_at = attributes.text_output("When the specialty was last changed, ISO 8601.")


class DataSpecialty(DataSource, DataSpecialtyAttributes):
    """One specialty, found by exactly one of `id`, `key` or `name`.

    Args:
        scope: The construct that it belongs to.
        id_: Its name within `scope`.
        id: The console's id of the specialty.
        key: The key that the specialty is looked up by.
        name: The specialty's name.
        count, depends_on, for_each, lifecycle, provider: as in every construct of cdktf.

    Raises:
        TypeError, ValueError: An argument is of a wrong type, or out of its bounds.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_specialty"

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        id: str | None = None,
        key: str | None = None,
        name: str | None = None,
        count: Count | None = None,
        depends_on: Sequence[cdktf.ITerraformDependable] | None = None,
        for_each: cdktf.ITerraformIterator | None = None,
        lifecycle: Lifecycle | None = None,
        provider: cdktf.TerraformProvider | None = None,
    ) -> None:
        super().__init__(scope, id_, locals())
