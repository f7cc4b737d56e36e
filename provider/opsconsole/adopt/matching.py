"""The hosts of a file that a console knows, as dry runs of an import tell. Nothing is imported.

No documented operation lists hosts: the verdicts of a dry run are what tells which of them exist.
"""

from __future__ import annotations

from opsconsole.errors import UserError
from opsconsole.lifecycle.file_import import FileImport, Rows, RowVerdict
from opsconsole.lifecycle.lifecycle import Lifecycle


async def matched_ids(lifecycle: Lifecycle, rows: Rows) -> tuple[list[str], list[str]]:
    """Return the ids of the hosts that exist, and what there is to say of the other rows.

    Raises:
        OpsconsoleError: The dry run could not be made.
        UserError: The console may have imported a row all the same.
    """
    told: list[RowVerdict] = []
    work = FileImport(lifecycle.session, True, False, told.extend)
    await work.run(rows)
    if work.imported_all_the_same:
        made = ", ".join(row.id for row in told if row.id) or "it names no id"
        raise UserError(
            f"The console does not say that it heeds dry_run, and may have imported a row: {made}.",
            "Look at the console. Give ids in place of an inventory.",
        )
    if work.problem is not None:
        raise work.problem
    ids = [row.id for row in told if row.id and not row.created]
    others = [row for row in told if not row.id or row.created]
    remarks = [_unmatched(row) for row in others]
    if work.told < len(rows.names):
        remarks.append(f"The dry run judged {work.told:,} of {len(rows.names):,} rows.")
    return ids, remarks


def _unmatched(row: RowVerdict) -> str:
    name = f" ({row.name})" if row.name else ""
    if row.created:
        return f"The console knows no host for row {row.number}{name}."
    error = f": {row.error}" if row.error else ""
    return f"Row {row.number}{name} has no id in the dry run, which says {row.status!r}{error}."
