"""The report of a drift check for readers: its verdict, and the texts that all formats share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from opsconsole.diagnostics import are_temporary, has_error
from opsconsole.drift.report import Bucket, DriftEntry, DriftReport, Finding
from opsconsole.errors import TRY_LATER
from opsconsole.reports.report import (
    ACCEPTED,
    BUCKET_STYLES,
    RESOLVED,
    GraphItem,
    Report,
    Row,
    Section,
    Style,
    moment,
    style_of_finding,
)
from opsconsole.reports.value_diff import Line, changed_value
from opsconsole.resources import RESOURCES
from opsconsole.text import SENSITIVE, plural, printable, short_type


class CheckOutcome(Enum):
    """The outcome of a check; the values are its usual exit codes."""

    CLEAN = 0
    UNDETERMINED = 1
    DRIFT = 2

    @property
    def written(self) -> str:
        """The word for the outcome in reports."""
        return "untold" if self is CheckOutcome.UNDETERMINED else self.name.lower()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome, a headline, a sentence that explains it, and the exit code of the command."""

    outcome: CheckOutcome
    headline: str
    explanation: str
    exit_code: int


def judge(report: DriftReport) -> Verdict:
    """Return the verdict of a report; the report of one shard leaves unmanaged objects undecided.

    "Could not tell" takes precedence over drift. Drift that was seen is still named.
    """
    outcome, headline, explanation = _judge_outcome(report)
    if report.share is not None:
        explanation += (
            f" This is shard {report.share}: unmanaged objects count once "
            "`opsconsole drift merge` has the reports of all shards."
        )
    # A console that was only too busy is no error, and another check may see everything.
    is_temporary = are_temporary(report.diagnostics) and not report.drifted_findings
    code = TRY_LATER if is_temporary else outcome.value
    return Verdict(outcome, headline, explanation, code)


def _judge_outcome(report: DriftReport) -> tuple[CheckOutcome, str, str]:
    drifted = len(report.drifted_findings)
    seen = f"{plural(drifted, 'resource')} drifted" if drifted else "no drift was seen"
    accepted = sum(bool(finding.accepted) for finding in report.findings)
    note = f" {accepted:,} accepted." if accepted else ""
    required = report.required_coverage
    # This comes before drift, so that a check of half a fleet never looks like a check of the whole
    # fleet.
    if has_error(report.diagnostics):
        return CheckOutcome.UNDETERMINED, "Could not tell", f"The check met errors; {seen}."
    if required < report.min_coverage:
        text = f"{percent(required)} of what must be checked was seen; {seen}."
        return CheckOutcome.UNDETERMINED, "Could not tell", text
    if drifted:
        return CheckOutcome.DRIFT, "Drift", f"{seen[0].upper()}{seen[1:]}.{note}"
    in_state = [item.bucket for item in report.findings if item.bucket.is_in_state]
    checked = len(in_state) - in_state.count(Bucket.UNCHECKED)
    return CheckOutcome.CLEAN, "No drift", f"{plural(checked, 'resource')} in state checked.{note}"


def percent(value: float) -> str:
    """Return a percentage that shows 100 only if nothing is missing."""
    shown = f"{value:.1f}".removesuffix(".0")
    return "99.9 %" if shown == "100" and value < 100 else f"{shown} %"


def coverage_text(report: DriftReport) -> str:
    """Return the coverage, also in attributes if some of a resource in sync were not seen.

    The text is empty if no resource is in state.
    """
    # 100 % of nothing would look like a complete check.
    if not any(finding.bucket.is_in_state for finding in report.findings):
        return ""
    text = percent(report.coverage())
    if any(item.unobserved for item in report.findings if item.bucket is Bucket.IN_SYNC):
        text += f" ({percent(report.attribute_coverage())} of the attributes)"
    return text


def unseen_text(finding: Finding) -> str:
    """Return the attributes of a checked resource that the check did not see, as text or empty."""
    if not finding.unobserved or finding.bucket is Bucket.UNCHECKED:
        return ""
    return f"not seen by this check: {', '.join(finding.unobserved)}"


def since_text(report: DriftReport) -> str:
    """Return the changes since the earlier report in one sentence; empty if not compared."""
    found = report.comparison
    if found is None:
        return ""
    if not found.checked_at:
        return "There is no earlier report, so all drift is new."
    unseen = sum(not entry.seen for entry in found.open)
    note = f" ({unseen:,} not seen by this check)" if unseen else ""
    return (
        f"Since {printable(moment(found.checked_at))}: {len(found.new):,} new, "
        f"{len(found.resolved):,} resolved, {len(found.open):,} still open{note}."
    )


def new_text(finding: Finding) -> str:
    """Return whether the drift of a finding is new; empty without drift or comparison."""
    if finding.new is None:
        return ""
    if finding.new == finding.drifting:
        return "new"
    return f"new: {', '.join(finding.new)}" if finding.new else "still open"


def entry_text(entry: DriftEntry, *, stacks: bool) -> str:
    """Return the resource and the differences of drift that no finding shows, on one line."""
    label = f" ({printable(entry.label)})" if entry.label else ""
    return f"{title_of(entry, stacks=stacks)}{label}: {printable(', '.join(entry.what))}"


def title_of(item: Finding | DriftEntry, *, stacks: bool) -> str:
    """Return the address of a resource, with its stack where there are several."""
    address = printable(item.address)
    return f"{printable(item.stack)}: {address}" if stacks else address


def several_stacks(report: DriftReport) -> bool:
    """Return whether the report speaks of more than one stack."""
    return len({finding.stack for finding in report.findings}) > 1


def accepted_drift(report: DriftReport) -> list[Finding]:
    """Return the findings that would be drift if the baseline did not accept them."""
    return [finding for finding in report.findings if finding.accepted and finding.bucket.is_drift]


_OUTCOMES = {
    CheckOutcome.CLEAN: ("✅", RESOLVED),
    CheckOutcome.UNDETERMINED: ("⚠️", BUCKET_STYLES[Bucket.UNCHECKED]),
    CheckOutcome.DRIFT: ("❌", BUCKET_STYLES[Bucket.CHANGED]),
}


def to_report(report: DriftReport, *, title: str = "") -> Report:
    """Return a drift report for readers; new drift comes first in each section.

    Args:
        title: The name of the check; by default the name of the stack.
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
    sections = [
        Section(f"s-{style.name}", style.title, style.meaning, style, tuple(rows[style]))
        for style in (*BUCKET_STYLES.values(), ACCEPTED)
        if style in rows
    ]
    yield from (section for section in sections if not section.quiet)
    if (comparison := report.comparison) is not None:
        yield from _entries("c-resolved", RESOLVED.title, RESOLVED, comparison.resolved, stacks)
        unseen = BUCKET_STYLES[Bucket.UNCHECKED]
        missed = [entry for entry in comparison.open if not entry.seen]
        yield from _entries("c-open", "Still open, not seen", unseen, missed, stacks)
    yield from (section for section in sections if section.quiet)


def _entries(
    anchor: str, title: str, style: Style, entries: Sequence[DriftEntry], stacks: bool
) -> Iterator[Section]:
    """Yield a section of drift that no finding shows, if there is any."""
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
    # The reason names the call and its request id, which differ even if the cause is the same.
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
    definition = RESOURCES.get(finding.type_name)
    kinds = {item.name: item.kind for item in definition or ()}
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
