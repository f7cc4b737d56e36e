"""A drift report as Markdown for a step summary, kept under 1 MB by sections."""

from __future__ import annotations

from collections.abc import Iterator

from opsconsole.drift.report import Bucket, DriftReport, Finding
from opsconsole.phrases import plural
from opsconsole.reports.diagnostics_text import body_of
from opsconsole.reports.drift_text import difference_lines, title
from opsconsole.reports.markdown import (
    LIMIT,
    MarkdownSection,
    code,
    diff_texts,
    fenced,
    fit,
    folded,
    plain,
)
from opsconsole.reports.styles import BUCKET_STYLES
from opsconsole.reports.verdict import (
    CheckOutcome,
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
        f"Coverage {coverage_text(report)}",
        f"checked at {plain(report.checked_at)}",
        f"{plural(sum(report.calls.values()), 'request')}"
        + (" (nothing but GET)" if report.read_only else ""),
        f"{report.seconds:.1f} s",
    ]
    method = f"\n{plain(report.method)}\n" if report.method else ""
    return (
        f"## {_MARKS[verdict.outcome]} {verdict.headline}\n\n{verdict.explanation}\n\n"
        f"| Bucket | Resources | Meaning |\n|---|--:|---|\n{rows}\n"
        f"{' · '.join(facts)}\n{method}"
    )


def _sections(report: DriftReport) -> Iterator[MarkdownSection]:
    stacks = several_stacks(report)
    if report.diagnostics:
        items = [
            f"- **{item.severity.value.capitalize()}:** "
            f"{plain(' '.join([item.summary, *body_of(item).split()]))}\n"
            for item in report.diagnostics
        ]
        yield MarkdownSection("\n### What the check met\n\n", items, "message")
    for bucket, style in BUCKET_STYLES.items():
        found = in_bucket(report, bucket)
        if found and bucket is not Bucket.IN_SYNC:
            opening = f"\n### {style.title} ({len(found):,})\n\n"
            yield MarkdownSection(opening, [_item(finding, stacks) for finding in found])
    accepted = [item for item in report.findings if item.accepted and item.bucket.is_drift]
    if accepted:
        opening = f"\n### Accepted by the baseline ({len(accepted):,})\n\n"
        yield MarkdownSection(opening, [_item(finding, stacks) for finding in accepted])
    if report.baseline:
        entries = [f"- {code(item.entry)}: {plain(item.problem)}\n" for item in report.baseline]
        yield MarkdownSection("\n### Baseline entries to look at\n\n", entries, "entry")


def _item(finding: Finding, stacks: bool) -> str:
    label = f" {plain(finding.label)}" if finding.label else ""
    facts = [
        plain(text)
        for text in (
            finding.reason,
            f"construct {finding.construct_path}" if finding.construct_path else "",
            finding.location,
            f"accepted: {finding.accepted}" if finding.accepted else "",
            unseen_text(finding),
        )
        if text
    ]
    headline = f"{code(title(finding, stacks))}{label}"
    lines = [line for item in finding.differences for line in difference_lines(finding, item)]
    if not lines:
        return f"- {' · '.join([headline, *facts])}\n"
    body = fenced(diff_texts(lines))
    if facts:
        body = f"{' · '.join(facts)}\n\n{body}"
    return folded(headline, body)
