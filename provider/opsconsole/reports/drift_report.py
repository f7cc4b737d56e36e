"""The report of a drift check, for readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from opsconsole.drift.report import Bucket, DriftEntry, DriftReport, Finding
from opsconsole.reports.labels import kinds_of, short_type
from opsconsole.reports.report import GraphItem, Report, Row, Section, moment
from opsconsole.reports.styles import (
    ACCEPTED,
    BUCKET_STYLES,
    RESOLVED,
    Style,
    style_of_finding,
)
from opsconsole.reports.text import SENSITIVE, printable
from opsconsole.reports.value_diff import Line, changed_value
from opsconsole.reports.verdict import (
    CheckOutcome,
    coverage_text,
    judge,
    new_text,
    several_stacks,
    since_text,
    title_of,
    unseen_text,
)

_OUTCOMES = {
    CheckOutcome.CLEAN: ("✅", RESOLVED),
    CheckOutcome.UNTOLD: ("⚠️", BUCKET_STYLES[Bucket.UNCHECKED]),
    CheckOutcome.DRIFT: ("❌", BUCKET_STYLES[Bucket.CHANGED]),
}


def to_report(report: DriftReport, *, title: str = "") -> Report:
    """Return what readers are shown of a drift report; new drift comes first in each section.

    Args:
        title: The name of what was checked; that of the stack by default.
    """
    verdict = judge(report)
    mark, style = _OUTCOMES[verdict.outcome]
    stacks = sorted({printable(finding.stack) for finding in report.findings})
    findings = sorted(report.findings, key=lambda finding: not finding.new)
    return Report(
        kind="Drift report",
        title=title or (stacks[0] if len(stacks) == 1 else ""),
        headline=verdict.headline,
        lede=" ".join(filter(None, (verdict.explanation, since_text(report)))),
        style=style,
        mark=mark,
        facts=tuple(_facts(report, stacks)),
        diagnostics=report.diagnostics,
        sections=tuple(_sections(report, findings)),
        method=printable(report.method),
        notes=tuple((printable(item.entry), printable(item.problem)) for item in report.baseline),
        items=_items(findings),
    )


def _facts(report: DriftReport, stacks: list[str]) -> Iterator[tuple[str, str]]:
    if report.checked_at:
        yield ("Checked", printable(moment(report.checked_at)))
    if len(stacks) > 1:
        yield ("Stacks", f"{len(stacks):,}")
    if coverage := coverage_text(report):
        yield ("Coverage", coverage)
    sent = f"{sum(report.calls.values()):,}"
    yield ("Requests", f"{sent}, nothing but GET" if report.read_only else sent)
    yield ("Took", f"{report.seconds:.1f} s")


def _sections(report: DriftReport, findings: Sequence[Finding]) -> Iterator[Section]:
    stacks = several_stacks(report)
    rows: dict[Style, list[Row]] = {}
    for number, finding in enumerate(findings):
        rows.setdefault(style_of_finding(finding), []).append(_row(finding, number, stacks))
    in_sync = BUCKET_STYLES[Bucket.IN_SYNC]
    unseen = BUCKET_STYLES[Bucket.UNCHECKED]
    for style in (*BUCKET_STYLES.values(), ACCEPTED):
        if style in rows and style is not in_sync:
            anchor = f"s-{style.name}"
            yield Section(anchor, style.title, style.meaning, style, tuple(rows[style]))
    if (found := report.comparison) is not None:
        yield from _entries("c-resolved", RESOLVED.title, RESOLVED, found.resolved, stacks)
        missed = [entry for entry in found.open if not entry.seen]
        yield from _entries("c-open", "Still open, not seen", unseen, missed, stacks)
    if in_sync in rows:
        yield Section("s-same", in_sync.title, in_sync.meaning, in_sync, tuple(rows[in_sync]), True)


def _entries(
    anchor: str, title: str, style: Style, entries: Sequence[DriftEntry], stacks: bool
) -> Iterator[Section]:
    """Yield a section of what no finding shows, if there is any."""
    rows = tuple(
        Row(
            f"{anchor}{number}",
            style,
            short_type(entry.type_name),
            title_of(entry, stacks=stacks),
            printable(entry.label),
            printable(", ".join(entry.what)),
        )
        for number, entry in enumerate(entries)
    )
    if rows:
        yield Section(anchor, title, style.meaning, style, rows)


def _row(finding: Finding, number: int, stacks: bool) -> Row:
    row = Row(
        f"r{number}",
        style_of_finding(finding),
        short_type(finding.type_name),
        title_of(finding, stacks=stacks),
        printable(finding.label),
    )
    if finding.bucket is Bucket.IN_SYNC:
        return row
    gist = finding.cause.gist if finding.cause else finding.reason
    return replace(
        row,
        verb=printable(new_text(finding)) if finding.counted else "shown only",
        reason=printable(finding.reason),
        remarks=tuple(_remarks(finding)),
        id=printable(finding.id),
        diff=tuple(difference_lines(finding)),
        differences=finding.differences,
        alike=None if finding.bucket.is_drift and finding.counted else (finding.type_name, gist),
    )


def _remarks(finding: Finding) -> Iterator[str]:
    for word, text in (
        ("accepted: ", finding.accepted),
        ("construct ", finding.construct_path),
        ("declared at ", finding.location),
        ("", unseen_text(finding)),
    ):
        if text:
            yield f"{word}{printable(text)}"


def difference_lines(finding: Finding) -> Iterator[Line]:
    """Yield the lines that show the differences of a finding, from state to console."""
    width = max((len(item.attribute) for item in finding.differences), default=0)
    kinds = kinds_of(finding.address, finding.type_name)
    for item in finding.differences:
        head = f"{printable(item.attribute):{width}} = "
        if item.sensitive:
            yield Line(1, "~", f"{head}{SENSITIVE}")
        else:
            kind = kinds.get(item.attribute)
            yield from changed_value(item.state, item.console, 1, head, kind, "")


def _items(findings: Sequence[Finding]) -> Iterator[GraphItem]:
    for number, finding in enumerate(findings):
        hidden = {item.attribute for item in finding.differences if item.sensitive}
        yield GraphItem(
            stack=finding.stack,
            address=finding.address,
            type_name=finding.type_name,
            id=finding.id,
            label=printable(finding.label),
            style=style_of_finding(finding),
            anchor=f"r{number}",
            values={name: value for name, value in finding.values.items() if name not in hidden},
        )
