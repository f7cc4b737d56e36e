"""The words of a drift report's comparison with an earlier one, for every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opsconsole.drift.report import Bucket, DriftEntry, DriftReport, Finding
from opsconsole.reports.styles import BUCKET_STYLES, RESOLVED, Style
from opsconsole.reports.text import printable


def headline(report: DriftReport) -> str:
    """Return what changed since the earlier report in one sentence; empty: not compared."""
    found = report.comparison
    if found is None:
        return ""
    if not found.checked_at:
        return "There is no earlier report, so all drift is new."
    unseen = sum(not entry.seen for entry in found.open)
    note = f" ({unseen:,} not seen by this check)" if unseen else ""
    return (
        f"Since {printable(found.checked_at)}: {len(found.new):,} new, "
        f"{len(found.resolved):,} resolved, {len(found.open):,} still open{note}."
    )


def mark(finding: Finding) -> str:
    """Return whether the drift of a finding is new; empty: it is none, or was not compared."""
    if finding.new is None:
        return ""
    if finding.new == finding.drifting:
        return "new"
    return f"new: {', '.join(finding.new)}" if finding.new else "still open"


def sections(report: DriftReport) -> Iterator[tuple[str, Style, Sequence[DriftEntry]]]:
    """Yield what no finding shows: heading, style, and resolved or unseen open drift."""
    found = report.comparison
    if found is not None and found.resolved:
        yield "Resolved", RESOLVED, found.resolved
    unseen = [entry for entry in found.open if not entry.seen] if found is not None else []
    if unseen:
        yield "Still open, not seen by this check", BUCKET_STYLES[Bucket.UNCHECKED], unseen
