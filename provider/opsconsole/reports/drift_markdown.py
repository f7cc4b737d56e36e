"""A drift report as Markdown for a step summary, kept under 1 MB by sections."""

from __future__ import annotations

from collections.abc import Iterator

from opsconsole.drift.report import Bucket, DriftReport, Finding
from opsconsole.phrases import plural
from opsconsole.reports import comparison
from opsconsole.reports.drift_text import difference_lines, entry_text, title
from opsconsole.reports.markdown import (
    LIMIT,
    MarkdownSection,
    code,
    diff_texts,
    fenced,
    fit,
    folded,
    messages,
    plain,
)
from opsconsole.reports.styles import BUCKET_STYLES
from opsconsole.reports.verdict import (
    CheckOutcome,
    accepted_drift,
    coverage_text,
    in_bucket,
    judge,
    several_stacks,
    unseen_text,
)

_MARKS = {CheckOutcome.CLEAN: "✅", CheckOutcome.UNTOLD: "⚠️", CheckOutcome.DRIFT: "❌"}


def render(report: DriftReport, *, limit: int = LIMIT) -> str:
    """Return the report as Markdown of at most `limit` bytes.

    Sections are cut from their ends, each with a count of what was cut; resources in sync are
    counted, not listed.
    """
    return fit(_head(report), list(_sections(report)), limit)


def _head(report: DriftReport) -> str:
    verdict = judge(report)
    counts = report.counts
    rows = "".join(
        f"| {style.title} | {counts[bucket]:,} | {style.meaning} |\n"
        for bucket, style in BUCKET_STYLES.items()
    )
    facts = [
        *filter(None, (coverage_text(report),)),
        f"checked at {plain(report.checked_at)}",
        f"{plural(sum(report.calls.values()), 'request')}"
        + (" (nothing but GET)" if report.read_only else ""),
        f"{report.seconds:.1f} s",
    ]
    method = f"\n{plain(report.method)}\n" if report.method else ""
    since = f"{plain(comparison.headline(report))}\n\n" if report.comparison else ""
    return (
        f"## {_MARKS[verdict.outcome]} {verdict.headline}\n\n{verdict.explanation}\n\n{since}"
        f"| Bucket | Resources | Meaning |\n|---|--:|---|\n{rows}\n"
        f"{' · '.join(facts)}\n{method}"
    )


def _sections(report: DriftReport) -> Iterator[MarkdownSection]:
    stacks = several_stacks(report)
    if report.diagnostics:
        yield messages("What the check met", report.diagnostics)
    for bucket, style in BUCKET_STYLES.items():
        found = in_bucket(report, bucket)
        if found and bucket is not Bucket.IN_SYNC:
            opening = f"\n### {style.title} ({len(found):,})\n\n"
            yield MarkdownSection(opening, [_item(finding, stacks) for finding in found])
    for heading, _, entries in comparison.sections(report):
        lines = [f"- {plain(entry_text(entry, stacks))}\n" for entry in entries]
        yield MarkdownSection(f"\n### {heading} ({len(entries):,})\n\n", lines)
    accepted = accepted_drift(report)
    if accepted:
        opening = f"\n### Accepted by the baseline ({len(accepted):,})\n\n"
        yield MarkdownSection(opening, [_item(finding, stacks) for finding in accepted])
    if report.baseline:
        lines = [f"- {code(item.entry)}: {plain(item.problem)}\n" for item in report.baseline]
        yield MarkdownSection("\n### Baseline entries to look at\n\n", lines, "problem")


def _item(finding: Finding, stacks: bool) -> str:
    label = f" {plain(finding.label)}" if finding.label else ""
    facts = [
        plain(text)
        for text in (
            comparison.mark(finding),
            finding.reason,
            f"construct {finding.construct_path}" if finding.construct_path else "",
            finding.location,
            f"accepted: {finding.accepted}" if finding.accepted else "",
            unseen_text(finding),
        )
        if text
    ]
    headline = f"{code(title(finding, stacks))}{label}"
    if not finding.differences:
        return f"- {' · '.join([headline, *facts])}\n"
    body = fenced(diff_texts(difference_lines(finding)))
    if facts:
        body = f"{' · '.join(facts)}\n\n{body}"
    return folded(headline, body)
