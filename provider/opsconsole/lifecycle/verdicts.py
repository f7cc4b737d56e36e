"""Reading the verdicts of a bulk import: what became of each row. Pure.

The base of `results[].index`, whether rows after a stop are listed and every status other than
`created` are not shown (the document: POST /api/v1/hosts/batch), so verdicts are matched in a way
that needs none of them; a row that cannot be matched is told apart, never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opsconsole.v1.console import ImportResult, RowResult


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an import said of one row; `matched` is false where nothing could be told."""

    matched: bool
    created: bool
    status: str = ""
    id: str | None = None
    error: str | None = None


UNMATCHED = Verdict(matched=False, created=False)


def verdicts(result: ImportResult, rows: int) -> list[Verdict]:
    """Return the verdict of each of `rows` rows, in the order in which they were sent."""
    base = _index_base(result.results, rows)
    if base is None:
        return [UNMATCHED] * rows
    found = [UNMATCHED] * rows
    for entry in result.results:
        if entry.index is None:
            continue
        found[entry.index - base] = Verdict(
            matched=True,
            created=entry.status == "created",
            status=entry.status or "",
            id=entry.id,
            error=entry.error,
        )
    return found


def all_created(result: ImportResult, rows: int) -> bool:
    """Tell whether the counts alone say that every row passed, whatever the words."""
    counts = result.counts
    others = sum(count for name, count in counts.items() if name != "created")
    return counts.get("created") == rows and others == 0


def was_created(verdict: Verdict, said: str | None) -> bool:
    """Tell whether a dry run says otherwise of a row than `said` did before its import.

    None: what was said before is not known, which settles nothing.
    """
    return said is not None and not verdict.created and verdict.status != said


def _index_base(results: Sequence[RowResult], rows: int) -> int | None:
    """Return what the first row's index is, or None where the results leave it open.

    Those that tell no index say nothing of it, and hide no others.
    """
    known = [entry.index for entry in results if entry.index is not None]
    if len(set(known)) != len(known) or not known:
        return None
    low, high = min(known), max(known)
    if low < 0 or high - low >= rows:
        return None
    if high - low == rows - 1:
        return low
    if low == 0:
        return 0
    return 1 if high == rows else None
