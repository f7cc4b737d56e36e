"""The content of a drift report for readers, and the texts that all of its formats share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from opsconsole.drift.model import (
    Bucket,
    CheckOutcome,
    DriftEntry,
    DriftReport,
    Finding,
    format_percent,
    judge,
)
from opsconsole.reports.value_diff import Line, changed_value
from opsconsole.reports.view import (
    BUCKET_STYLES,
    RESOLVED,
    GraphItem,
    ResourceRow,
    Section,
    Style,
    View,
    group_rows,
    moment,
    style_of_finding,
)
from opsconsole.resources import RESOURCES
from opsconsole.text import SENSITIVE, printable, short_type


def unobserved_text(finding: Finding) -> str:
    """Name the attributes of a checked resource that the check did not see; empty if it saw all."""
    if not finding.unobserved or finding.bucket is Bucket.UNCHECKED:
        return ""
    return f"not seen by this check: {', '.join(finding.unobserved)}"


def since_text(report: DriftReport) -> str:
    """Return the changes since the earlier report in one sentence; empty if not compared."""
    comparison = report.comparison
    if comparison is None:
        return ""
    if not comparison.checked_at:
        return "There is no earlier report, so all drift is new."
    unseen = sum(not entry.seen for entry in comparison.open)
    note = f" ({unseen:,} not seen by this check)" if unseen else ""
    return (
        f"Since {printable(moment(comparison.checked_at))}: {len(comparison.new):,} new, "
        f"{len(comparison.resolved):,} resolved, {len(comparison.open):,} still open{note}."
    )


def new_text(finding: Finding) -> str:
    """Return whether the drift of a finding is new; empty without drift or comparison."""
    if finding.new is None:
        return ""
    if finding.new == finding.drifting:
        return "new"
    return f"new: {', '.join(finding.new)}" if finding.new else "still open"


def entry_text(entry: DriftEntry, *, stacks: bool) -> str:
    """Return resource and differences of drift without a finding, on one line."""
    label = f" ({printable(entry.label)})" if entry.label else ""
    return f"{title_of(entry, stacks=stacks)}{label}: {printable(', '.join(entry.what))}"


def title_of(item: Finding | DriftEntry, *, stacks: bool) -> str:
    """Return the address of a resource, with its stack if there are several."""
    address = printable(item.address)
    return f"{printable(item.stack)}: {address}" if stacks else address


_OUTCOMES = {
    CheckOutcome.CLEAN: ("✅", RESOLVED),
    CheckOutcome.UNDETERMINED: ("⚠️", BUCKET_STYLES[Bucket.UNCHECKED]),
    CheckOutcome.DRIFT: ("❌", BUCKET_STYLES[Bucket.CHANGED]),
}


def make_view(report: DriftReport, *, title: str = "") -> View:
    """Return the content of a drift report; new drift comes first in each section.

    Args:
        title: The name of the check; by default the name of the stack.
    """
    verdict = judge(report)
    mark, style = _OUTCOMES[verdict.outcome]
    stacks = sorted({printable(finding.stack) for finding in report.findings})
    findings = sorted(report.findings, key=lambda finding: not finding.new)
    return View(
        kind="Drift report",
        title=title or (stacks[0] if len(stacks) == 1 else ""),
        headline=verdict.headline,
        subline=" ".join(filter(None, (verdict.explanation, since_text(report)))),
        style=style,
        mark=mark,
        facts=tuple(_facts(report, stacks)),
        diagnostics=report.diagnostics,
        sections=_sections(report, findings),
        method=printable(report.method),
        notes=tuple((printable(item.entry), printable(item.problem)) for item in report.baseline),
        items=_items(findings),
    )


def _facts(report: DriftReport, stacks: list[str]) -> Iterator[tuple[str, str]]:
    if report.checked_at:
        yield ("Checked", printable(moment(report.checked_at)))
    if len(stacks) > 1:
        yield ("Stacks", f"{len(stacks):,}")
    yield from _coverage_facts(report)
    sent = f"{sum(report.calls.values()):,}"
    yield ("Requests", f"{sent} (GET only)" if report.read_only else sent)
    yield ("Took", f"{report.seconds:.1f} s")


def _coverage_facts(report: DriftReport) -> Iterator[tuple[str, str]]:
    """Yield the coverage of all resources, and of the required ones if it differs."""
    # 100 % of nothing would look like a complete check.
    if not any(finding.bucket.is_in_state for finding in report.findings):
        return
    coverage = format_percent(report.coverage())
    required = format_percent(report.required_coverage)
    minimum = format_percent(report.min_coverage)
    attributes = ""
    if any(item.unobserved for item in report.findings if item.bucket is Bucket.IN_SYNC):
        attributes = f" ({format_percent(report.attribute_coverage())} of the attributes)"
    yield ("Coverage", coverage + attributes)
    if required != coverage or report.required_coverage < report.min_coverage:
        yield ("Required coverage", f"{required} (minimum {minimum})")


def _sections(report: DriftReport, findings: Sequence[Finding]) -> tuple[Section, ...]:
    stacks = report.has_several_stacks
    sections = group_rows(_row(item, number, stacks) for number, item in enumerate(findings))
    if (comparison := report.comparison) is not None:
        sections += _entries("c-resolved", RESOLVED.title, RESOLVED, comparison.resolved, stacks)
        unseen = BUCKET_STYLES[Bucket.UNCHECKED]
        missed = [entry for entry in comparison.open if not entry.seen]
        sections += _entries("c-open", "Still open, not seen", unseen, missed, stacks)
    return tuple(sorted(sections, key=lambda section: section.style.is_quiet))


def _entries(
    anchor: str, title: str, style: Style, entries: Sequence[DriftEntry], stacks: bool
) -> Iterator[Section]:
    """Yield a section of drift that no finding shows, if there is any."""
    rows = tuple(
        ResourceRow(
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


def _row(finding: Finding, number: int, stacks: bool) -> ResourceRow:
    row = ResourceRow(
        f"r{number}",
        style_of_finding(finding),
        short_type(finding.type_name),
        title_of(finding, stacks=stacks),
        printable(finding.label),
    )
    if finding.bucket is Bucket.IN_SYNC:
        return row
    # The section shows its meaning above all rows.
    says_more = finding.reason.lower() != row.style.meaning.removesuffix(".").lower()
    # The reason names the call and its request id, which differ even if the cause is the same.
    gist = finding.cause.gist if finding.cause else finding.reason
    return replace(
        row,
        verb=printable(new_text(finding)) if finding.counted else "shown only",
        reason=printable(finding.reason) if says_more else "",
        remarks=tuple(_remarks(finding)),
        id=printable(finding.id),
        diff=tuple(difference_lines(finding)),
        differences=finding.differences,
        alike=None if finding.bucket.is_drift and finding.counted else gist,
    )


def _remarks(finding: Finding) -> Iterator[str]:
    for word, text in (
        ("accepted: ", finding.accepted),
        ("construct ", finding.construct_path),
        ("declared at ", finding.location),
        ("", unobserved_text(finding)),
    ):
        if text:
            yield f"{word}{printable(text)}"


def difference_lines(finding: Finding) -> Iterator[Line]:
    """Yield the lines that show the differences of a finding, from state to console."""
    width = max((len(item.attribute) for item in finding.differences), default=0)
    definition = RESOURCES.get(finding.type_name)
    kinds = definition.kinds if definition is not None else {}
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
