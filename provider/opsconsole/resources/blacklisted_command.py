"""The definition of `opsconsole_blacklisted_command`."""

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
from opsconsole.values import UNKNOWN, Attributes

_ROW = "Resources and their fields: BlacklistedCommand"


def _rules(config: Attributes) -> Iterator[Diagnostic]:
    if config.get("tenant_wide") is True and config.get("org_id") not in (None, UNKNOWN):
        yield error(
            "Both org_id and tenant_wide = true are declared",
            "`org_id` names the one org that the row governs, `tenant_wide = true` makes it "
            "govern them all: declare one of them.",
            ("tenant_wide",),
        )
    if config.get("no_description") is True and config.get("description") not in (None, UNKNOWN):
        yield error(
            "Both description and no_description = true are declared",
            "`no_description = true` makes the row have no description: declare one of them.",
            ("no_description",),
        )


BLACKLISTED_COMMAND = ResourceDefinition(
    name="blacklisted_command",
    type_name="opsconsole_blacklisted_command",
    title="blacklisted command",
    plural="blacklisted commands",
    label="pattern",
    import_id="blk_…",
    description=(
        "A command pattern that is refused at execution time. The console has no operation that "
        "creates or deletes one: the row of the declared `id` is adopted and updated, and removal "
        "leaves the row where it is."
    ),
    operations={
        "read": "GET /api/v1/blacklists/{id}",
        "update": "POST /api/v1/blacklists/{id}",
    },
    lifted_by={
        "create": "blacklist_create",
        "delete": "blacklist_delete",
        "list": "blacklist_list",
    },
    notes={
        "create": "the declared id is read and adopted",
        "read": "",
        "update": "changed fields only",
        "delete": "leaves management; the row stays",
        "list": "unmanaged entries are not seen",
    },
    gone="deleted, or not visible to this key (404)",
    rules=_rules,
    look=Look((">", "]"), "cds", "#fee2e2"),
    attributes=(
        text(
            "id",
            "The console's id of the row to adopt.",
            shown_description="The console's id of the row.",
            optional=True,
            computed=True,
            creatable=False,
            change=ChangeRule.REPLACE,
            section=_ROW,
        ),
        text(
            "pattern",
            "The command pattern that is refused, 1 to 200 characters.",
            optional=True,
            computed=True,
            min_length=1,
            max_length=200,
            section=_ROW,
        ),
        text(
            "description",
            "Why the command is refused.",
            optional=True,
            computed=True,
            nullable=True,
            section=_ROW,
        ),
        Attribute(
            name="no_description",
            kind=Kind.BOOLEAN,
            description="True writes `description: null`; omitted, it is left as it is.",
            optional=True,
            local=True,
            creatable=False,
            change=ChangeRule.LOCAL,
            section="Endpoints: POST /api/v1/blacklists/{id}",
        ),
        text(
            "org_id",
            "The org that the row governs. Omitted: the scope is left as it is.",
            shown_description="The org that the row governs; null where it governs every org of "
            "the tenant.",
            optional=True,
            computed=True,
            nullable=True,
            section=_ROW,
        ),
        Attribute(
            name="tenant_wide",
            kind=Kind.BOOLEAN,
            description="Whether the row governs every org of the tenant (`org_id` null).",
            optional=True,
            computed=True,
            local=True,
            creatable=False,
            section="Endpoints: POST /api/v1/blacklists/{id}",
        ),
        read_only("tenant_id", "The tenant that the row belongs to.", section=_ROW),
        read_only(
            "document_id",
            "The knowledge document that the row was extracted from; null when curated by hand.",
            nullable=True,
            section=_ROW,
        ),
        read_only(
            "source_section",
            "Heading path within that document; null for a row that was curated by hand.",
            nullable=True,
            section=_ROW,
        ),
        read_only(
            "text_hash",
            "Hash of the row's text.",
            nullable=True,
            follows=("pattern", "description"),
            section=_ROW,
        ),
        read_only("created_at", "When the row was created, ISO 8601.", section=_ROW),
        read_only(
            "updated_at", "When the row was last changed, ISO 8601.", volatile=True, section=_ROW
        ),
    ),
)
