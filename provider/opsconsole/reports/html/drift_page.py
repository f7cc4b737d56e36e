"""A drift report as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator

from opsconsole.drift.report import Bucket, DriftEntry, DriftReport, Finding
from opsconsole.reports import comparison
from opsconsole.reports.drift_text import title as title_of
from opsconsole.reports.html.layout import picture_of
from opsconsole.reports.html.page import Page, ResourceRow, Section, pair_of, write
from opsconsole.reports.html.topology import GraphItem
from opsconsole.reports.labels import short_type
from opsconsole.reports.styles import (
    ACCEPTED,
    BUCKET_STYLES,
    Style,
    style_of_finding,
)
from opsconsole.reports.text import printable
from opsconsole.reports.verdict import (
    CheckOutcome,
    coverage_text,
    judge,
    several_stacks,
    unseen_text,
)

_MOODS = {CheckOutcome.CLEAN: "add", CheckOutcome.UNTOLD: "unseen", CheckOutcome.DRIFT: "change"}


def render(report: DriftReport, *, title: str = "") -> str:
    """Return the report as one self-contained HTML document.

    Args:
        title: The name of what was checked, for the head of the page.
    """
    return write(page_of(report, title=title))


def page_of(report: DriftReport, *, title: str = "") -> Page:
    """Return what the page shows."""
    verdict = judge(report)
    stacks = sorted({printable(finding.stack) for finding in report.findings})
    return Page(
        kind="Drift report",
        title=title or (stacks[0] if len(stacks) == 1 else ""),
        headline=verdict.headline,
        lede=" ".join(filter(None, (verdict.explanation, comparison.headline(report)))),
        mood=_MOODS[verdict.outcome],
        facts=tuple(_facts(report, stacks)),
        diagnostics=report.diagnostics,
        sections=tuple(_sections(report)),
        extra=(),
        notes=tuple((printable(item.entry), printable(item.problem)) for item in report.baseline),
        picture=picture_of(items_of(report)),
    )


def _facts(report: DriftReport, stacks: list[str]) -> Iterator[tuple[str, str]]:
    if report.checked_at:
        yield ("Checked", printable(report.checked_at))
    if len(stacks) > 1:
        yield ("Stacks", f"{len(stacks):,}")
    if coverage := coverage_text(report).removeprefix("Coverage "):
        yield ("Coverage", coverage)
    sent = f"{sum(report.calls.values()):,}"
    yield ("Requests", f"{sent}, nothing but GET" if report.read_only else sent)
    yield ("Took", f"{report.seconds:.1f} s")
    if report.method:
        yield ("Method", printable(report.method))


def _sections(report: DriftReport) -> Iterator[Section]:
    stacks = several_stacks(report)
    rows: dict[str, list[ResourceRow]] = {}
    for number, finding in enumerate(report.findings):
        rows.setdefault(style_of_finding(finding).name, []).append(_row(finding, number, stacks))
    for bucket, style in BUCKET_STYLES.items():
        if bucket is Bucket.IN_SYNC and ACCEPTED.name in rows:
            meaning = "Drift that the baseline accepts: shown, and not counted."
            accepted = tuple(rows[ACCEPTED.name])
            yield Section(f"s-{ACCEPTED.name}", "Accepted", meaning, ACCEPTED, accepted)
        if style.name in rows:
            yield Section(
                f"s-{style.name}",
                style.title,
                style.meaning,
                style,
                tuple(rows[style.name]),
                quiet=bucket is Bucket.IN_SYNC,
            )
    for heading, shown, entries in comparison.sections(report):
        anchor = f"c-{shown.name}"
        listed = tuple(
            _entry_row(entry, f"{anchor}{number}", shown, stacks)
            for number, entry in enumerate(entries)
        )
        meaning = "Drift of the earlier report that this check did not find again."
        yield Section(anchor, heading, meaning, shown, listed)


def _row(finding: Finding, number: int, stacks: bool) -> ResourceRow:
    quiet = finding.bucket is Bucket.IN_SYNC
    words = (BUCKET_STYLES[finding.bucket].word, comparison.mark(finding))
    word = printable(", ".join(filter(None, words)))
    return ResourceRow(
        anchor=f"r{number}",
        style=style_of_finding(finding),
        kind=short_type(finding.type_name),
        title=title_of(finding, stacks),
        label=printable(finding.label),
        verb="" if quiet else word if finding.counted else "shown only",
        remarks=() if quiet else tuple(_remarks(finding)),
        pairs=tuple(map(pair_of, finding.differences)),
    )


def _entry_row(entry: DriftEntry, anchor: str, style: Style, stacks: bool) -> ResourceRow:
    return ResourceRow(
        anchor,
        style,
        short_type(entry.type_name),
        title_of(entry, stacks),
        printable(entry.label),
        printable(", ".join(entry.what)),
    )


def _remarks(finding: Finding) -> Iterator[str]:
    for word, text in (
        ("", finding.reason),
        ("accepted: ", finding.accepted),
        ("construct ", finding.construct_path),
        ("declared at ", finding.location),
        ("id ", finding.id),
    ):
        if text:
            yield f"{word}{printable(text)}"
    if unseen := unseen_text(finding):
        yield printable(unseen)


def items_of(report: DriftReport) -> Iterator[GraphItem]:
    for number, finding in enumerate(report.findings):
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
