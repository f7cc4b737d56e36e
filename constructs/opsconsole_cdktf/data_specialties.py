"""The construct of `opsconsole_specialties`: generated from the definitions, not edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import cdktf
from constructs import Construct

from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import Count, DataSource, Lifecycle


class DataSpecialtiesSpecialtiesOutputReference(attributes.Fields):
    """The tokens of one object of `specialties` of `DataSpecialties`."""

    id = attributes.text_output("The console's id of the specialty.")
    key = attributes.text_output("The key that the specialty is looked up by.")
    name = attributes.text_output("The specialty's name.")
    prompt = attributes.text_output("The prompt that agents of this specialty work by.")
    description = attributes.text_output("What the specialty is for.")
    execution_mode = attributes.text_output("How agents of this specialty execute.")
    org_id = attributes.text_output("The org that the specialty belongs to.")
    owner_id = attributes.text_output("Who owns the specialty.")
    tenant_id = attributes.text_output("The tenant that the specialty belongs to.")
    created_at = attributes.text_output("When the specialty was created, ISO 8601.")
    updated_at = attributes.text_output("When the specialty was last changed, ISO 8601.")


class DataSpecialtiesAttributes:
    """The attributes of `DataSpecialties`."""

    specialties = attributes.objects_output(
        "The specialties, ordered by id.", DataSpecialtiesSpecialtiesOutputReference
    )
    complete = attributes.flag_output(
        "Whether the list is certainly whole: false where there are more entries and no way to "
        "the next page is known, where the answer does not say, and where `list_query` narrows "
        "it."
    )
    total_count = attributes.whole_output(
        "The number of entries that the console says there are; null where it does not."
    )


class DataSpecialties(DataSource, DataSpecialtiesAttributes):
    """Every specialty that the console shows.

    Args:
        scope: The construct that it belongs to.
        id_: Its name within `scope`.
        count, depends_on, for_each, lifecycle, provider: as in every construct of cdktf.

    Raises:
        TypeError, ValueError: An argument is of a wrong type, or out of its bounds.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_specialties"

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
