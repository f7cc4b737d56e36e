"""The definition of `opsconsole_blacklisted_command`.

Clause `Resources and their fields: BlacklistedCommand`; that of `no_description` and `tenant_wide`
is `Endpoints: POST /api/v1/blacklists/{id}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from opsconsole.bounds import Bounds
from opsconsole.definition import (
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
from opsconsole.values import UNKNOWN, Values


def _rules(config: Values) -> Iterator[Diagnostic]:
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
    title="blacklisted command",
    plural="blacklisted commands",
    label="pattern",
    import_forms=("blk_…",),
    description=(
        "A command pattern that is refused at execution time. The console has no operation that "
        "creates or deletes one: the row of the declared `id` is adopted and updated, and removal "
        "leaves the row in place."
    ),
    ways={
        "create": (
            Way("blacklist_create"),
            Way("", "the declared id is read and adopted"),
        ),
        "read": (Way("blacklist_get"),),
        "update": (Way("blacklist_update", "changed fields only"),),
        "delete": (Way("blacklist_delete"), Way("", "leaves management; the row stays")),
        "list": (Way("blacklist_list"), Way("", "unmanaged rows are not seen")),
    },
    gone_reason="deleted, or not visible to this key (404)",
    rules=_rules,
    node_style=NodeStyle((">", "]"), "cds", "#fee2e2"),
    attributes=(
        optional_computed(
            "id",
            "The console's id of the row to adopt.",
            shown_description="The console's id of the row.",
            creatable=False,
            change=ChangeRule.REPLACE,
        ),
        optional_computed(
            "pattern",
            "The command pattern that is refused, 1 to 200 characters.",
            bounds=Bounds(min_length=1, max_length=200),
        ),
        optional_computed("description", "Why the command is refused.", nullable=True),
        kept_locally(
            "no_description",
            "True writes `description: null`; omitted, it is left as it is.",
            Kind.BOOLEAN,
        ),
        optional_computed(
            "org_id",
            "The org that the row governs. Omitted: the scope is left as it is.",
            shown_description="The org that the row governs; null where it governs every org of "
            "the tenant.",
            nullable=True,
        ),
        optional_computed(
            "tenant_wide",
            "Whether the row governs every org of the tenant (`org_id` null).",
            Kind.BOOLEAN,
            local=True,
            creatable=False,
        ),
        read_only("tenant_id", "The tenant that the row belongs to."),
        read_only(
            "document_id",
            "The knowledge document that the row was extracted from; null when curated by hand.",
            nullable=True,
        ),
        read_only(
            "source_section",
            "Heading path within that document; null for a row that was curated by hand.",
            nullable=True,
        ),
        read_only(
            "text_hash",
            "Hash of the row's text.",
            nullable=True,
            follows=("pattern", "description"),
        ),
        *timestamps("row"),
    ),
)
