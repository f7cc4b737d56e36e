"""The definition of `opsconsole_specialty`: clause `Resources and their fields: Specialty`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from opsconsole.bounds import Bounds
from opsconsole.definition import (
    Attribute,
    ChangeRule,
    Kind,
    NodeStyle,
    ResourceDefinition,
    Way,
    kept_locally,
    optional_computed,
    read_only,
    timestamps,
)
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.text import DURATION
from opsconsole.values import Values

_argument = partial(optional_computed, change=ChangeRule.REFUSE, lifted_by="specialty_update")


def _rules(config: Values) -> Iterator[Diagnostic]:
    if config.get("key") is None and config.get("id") is None:
        yield error(
            "Neither key nor id is declared",
            "A specialty is looked up by its `key`, or by its `id`: declare one of them.",
        )


SPECIALTY = ResourceDefinition(
    name="specialty",
    title="specialty",
    plural="specialties",
    label="key",
    import_forms=("spc_…", "key=KEY"),
    description=(
        "A specialty that agents carry. The console has no operation that creates one: the "
        "declared `key` is looked up and adopted. Removed, it stays on the console unless "
        "`deletion_policy` says otherwise; deleting it is refused while an agent carries it."
    ),
    ways={
        "create": (
            Way("specialty_create"),
            Way("", "the declared key is looked up and adopted"),
        ),
        "read": (Way("specialty_get"), Way("specialty_search", "one search serves all")),
        "update": (
            Way("specialty_update"),
            Way("", "a declared value that differs is an error at plan time"),
        ),
        "delete": (Way("specialty_delete", "refused while an agent carries it"),),
        "list": (Way("specialty_search", "one search serves all"),),
    },
    gone_reason="deleted, or not visible to this key",
    rules=_rules,
    node_style=NodeStyle(("{{", "}}"), "hexagon", "#fef9c3"),
    attributes=(
        optional_computed(
            "id",
            "The console's id of the specialty; it may be declared instead of `key`.",
            shown_description="The console's id of the specialty.",
            creatable=False,
            change=ChangeRule.REFUSE,
        ),
        optional_computed(
            "key", "The key that the specialty is looked up by.", change=ChangeRule.REFUSE
        ),
        _argument("name", "The specialty's name."),
        _argument("prompt", "The prompt that agents of this specialty work by."),
        _argument("description", "Purpose of the specialty."),
        _argument("execution_mode", "How agents of this specialty execute."),
        _argument("org_id", "The org that the specialty belongs to."),
        kept_locally(
            "deletion_policy",
            "What removal does: `abandon` (the default) leaves the specialty on the console; "
            "`delete` deletes it, and the console cannot create it again.",
            bounds=Bounds(allowed=("abandon", "delete")),
        ),
        kept_locally(
            "timeouts",
            "How long to wait.",
            Kind.OBJECT,
            attributes=(
                Attribute(
                    "delete",
                    "How long a delete may wait for the agents that carry the specialty to be "
                    "archived, such as `2m`; 2 minutes where none is set.",
                    optional=True,
                    bounds=Bounds(pattern=DURATION, hint="a duration such as 90s or 2m"),
                ),
            ),
        ),
        read_only("owner_id", "Who owns the specialty."),
        read_only("tenant_id", "The tenant that the specialty belongs to."),
        *timestamps("specialty"),
    ),
)
