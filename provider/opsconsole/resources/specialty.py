"""The definition of `opsconsole_specialty`."""

from __future__ import annotations

from collections.abc import Iterator

from opsconsole.definition import (
    Attribute,
    ChangeRule,
    Kind,
    Look,
    ResourceDefinition,
    read_only,
    text,
)
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.values import Attributes

_SPECIALTY = "Resources and their fields: Specialty"


def _declared(name: str, description: str) -> Attribute:
    return text(
        name,
        description,
        optional=True,
        computed=True,
        change=ChangeRule.REFUSE,
        lifted_by="specialty_update",
        section=_SPECIALTY,
    )


def _rules(config: Attributes) -> Iterator[Diagnostic]:
    if config.get("key") is None and config.get("id") is None:
        yield error(
            "Neither key nor id is declared",
            "A specialty is looked up by its `key`, or by its `id`: declare one of them.",
        )


SPECIALTY = ResourceDefinition(
    name="specialty",
    type_name="opsconsole_specialty",
    title="specialty",
    plural="specialties",
    label="key",
    import_id="spc_… or key=KEY",
    description=(
        "A specialty that agents carry. The console has no operation that creates one: the "
        "declared `key` is looked up and adopted. Deleting it is refused while an agent carries it."
    ),
    operations={
        "read": "GET /api/v1/specialties/search",
        "delete": "DELETE /api/v1/specialties/{id}",
        "list": "GET /api/v1/specialties/search",
    },
    lifted_by={
        "create": "specialty_create",
        "read": "specialty_get",
        "update": "specialty_update",
    },
    notes={
        "create": "the declared key is looked up and adopted",
        "read": "one search serves all",
        "update": "a declared value that differs is an error at plan time",
        "delete": "refused while an agent carries it",
        "list": "one search serves all",
    },
    gone="deleted, or not visible to this key",
    rules=_rules,
    look=Look(("{{", "}}"), "hexagon", "#fef9c3"),
    attributes=(
        text(
            "id",
            "The console's id of the specialty; it may be declared instead of `key`.",
            shown_description="The console's id of the specialty.",
            optional=True,
            computed=True,
            creatable=False,
            change=ChangeRule.REFUSE,
            section=_SPECIALTY,
        ),
        text(
            "key",
            "The key that the specialty is looked up by.",
            optional=True,
            computed=True,
            change=ChangeRule.REFUSE,
            section=_SPECIALTY,
        ),
        _declared("name", "The specialty's name."),
        _declared("prompt", "The prompt that agents of this specialty work by."),
        _declared("description", "What the specialty is for."),
        _declared("execution_mode", "How agents of this specialty execute."),
        _declared("org_id", "The org that the specialty belongs to."),
        text(
            "deletion_policy",
            "What removal does: `delete` (the default) deletes the specialty, which the console "
            "cannot create again; `abandon` leaves it on the console.",
            optional=True,
            local=True,
            creatable=False,
            change=ChangeRule.LOCAL,
            allowed=("delete", "abandon"),
        ),
        Attribute(
            name="timeouts",
            kind=Kind.OBJECT,
            description="How long to wait.",
            optional=True,
            local=True,
            creatable=False,
            change=ChangeRule.LOCAL,
            attributes=(
                text(
                    "delete",
                    "How long a delete may wait for the agents that carry the specialty to be "
                    "archived, such as `2m`; 2 minutes where none is set.",
                    optional=True,
                    pattern=r"(\d+(\.\d+)?(ms|s|m|h))+",
                    pattern_hint="a duration such as 90s or 2m",
                ),
            ),
        ),
        read_only("owner_id", "Who owns the specialty.", section=_SPECIALTY),
        read_only("tenant_id", "The tenant that the specialty belongs to.", section=_SPECIALTY),
        read_only("created_at", "When the specialty was created, ISO 8601.", section=_SPECIALTY),
        read_only(
            "updated_at",
            "When the specialty was last changed, ISO 8601.",
            volatile=True,
            section=_SPECIALTY,
        ),
    ),
)
