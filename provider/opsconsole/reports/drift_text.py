"""A drift report on a terminal: what drifted, what could not be checked, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from opsconsole.drift.report import Bucket, DriftEntry, DriftReport, Finding
from opsconsole.phrases import plural
from opsconsole.reports import comparison, diagnostics_text
from opsconsole.reports.labels import kinds_of
from opsconsole.reports.styles import BUCKET_STYLES
from opsconsole.reports.text import SENSITIVE, SIGN_COLOURS, Pen, printable
from opsconsole.reports.value_diff import Line, changed_value
from opsconsole.reports.verdict import (
    CheckOutcome,
    accepted_drift,
    coverage_text,
    in_bucket,
    judge,
    several_stacks,
    unseen_text,
)

MANY = 10
"""Above this number, findings with one reason are summarised; drift never is."""
_SHOWN = 3
_OUTCOME_COLOURS = {
    CheckOutcome.CLEAN: "green",
    CheckOutcome.UNTOLD: "yellow",
    CheckOutcome.DRIFT: "red",
}


def render(report: DriftReport, *, colour: bool = False, width: int = 0) -> str:
    """Return the report as text; the verdict comes last, nearest the prompt.

    `width`: of the terminal that diagnostics are fitted to, or 0.
    """
    pen = Pen(colour)
    stacks = several_stacks(report)
    lines: list[str] = []
    for bucket in BUCKET_STYLES:
        if bucket is not Bucket.IN_SYNC:
            lines += _section(bucket, in_bucket(report, bucket), stacks, pen)
    lines += _accepted(report, stacks, pen)
    for heading, _, entries in comparison.sections(report):
        lines += [pen.paint(f"{heading} ({len(entries):,})", "bold"), ""]
        lines += [f"    {entry_text(entry, stacks)}" for entry in entries]
        lines.append("")
    lines += _baseline(report, pen)
    messages = diagnostics_text.render(report.diagnostics, colour=colour, width=width)
    return "\n".join(part for part in ("\n".join(lines), messages, _summary(report, pen)) if part)


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


def title(finding: Finding | DriftEntry, stacks: bool) -> str:
    """Return the address of a finding, with its stack where there are several."""
    address = printable(finding.address)
    return f"{printable(finding.stack)}: {address}" if stacks else address


def entry_text(entry: DriftEntry, stacks: bool) -> str:
    """Return the resource of drift that no finding shows, and what differed."""
    label = f" ({printable(entry.label)})" if entry.label else ""
    return f"{title(entry, stacks)}{label}: {printable(', '.join(entry.what))}"


def _section(bucket: Bucket, found: list[Finding], stacks: bool, pen: Pen) -> Iterator[str]:
    if not found:
        return
    style = BUCKET_STYLES[bucket]
    yield pen.paint(f"{style.title} ({len(found):,})", "bold", style.colour)
    yield ""
    alike = Counter(map(_kind, found))
    messages: set[tuple[object, ...]] = set()
    for finding in found:
        kind = _kind(finding)
        if not finding.is_drift and alike[kind] > MANY:
            if kind not in messages:
                messages.add(kind)
                yield from _many([item for item in found if _kind(item) == kind], stacks, pen)
        else:
            yield from _one(finding, stacks, pen)
    yield ""


def _kind(finding: Finding) -> tuple[object, ...]:
    """Return what findings have in common that are summarised together."""
    return finding.type_name, finding.cause.gist if finding.cause else finding.reason


def _many(found: Sequence[Finding], stacks: bool, pen: Pen) -> Iterator[str]:
    """Summarise findings with one reason: the first of them, and how many more there are."""
    sign = _sign(found[0].bucket, pen)
    for finding in found[:_SHOWN]:
        yield f"  {sign} {pen.bold(title(finding, stacks))}"
    more = f"{len(found) - _SHOWN:,} more {found[0].type_name}"
    yield f"  {sign} and {more}; the other formats list all"
    yield f"      {pen.paint(printable(found[0].reason), 'dim')}"


def _one(finding: Finding, stacks: bool, pen: Pen) -> Iterator[str]:
    sign = _sign(finding.bucket, pen)
    label = f" ({printable(finding.label)})" if finding.label else ""
    mark = comparison.mark(finding)
    shown = pen.paint(f", {printable(mark)}", "bold" if finding.new else "dim") if mark else ""
    yield f"  {sign} {pen.bold(title(finding, stacks))}{label}{shown}"
    for word, text in (
        ("", finding.reason),
        ("construct ", finding.construct_path),
        ("declared at ", finding.location),
        ("accepted: ", finding.accepted),
    ):
        if text:
            yield f"      {pen.paint(f'{word}{printable(text)}', 'dim')}"
    for line in difference_lines(finding):
        colour = SIGN_COLOURS.get(line.sign)
        yield pen.paint(line.plain, colour) if colour else line.plain
    if unseen := unseen_text(finding):
        yield f"      {pen.paint(printable(unseen), 'dim')}"


def _sign(bucket: Bucket, pen: Pen) -> str:
    style = BUCKET_STYLES[bucket]
    return pen.paint(style.text_sign, style.colour)


def _accepted(report: DriftReport, stacks: bool, pen: Pen) -> Iterator[str]:
    found = accepted_drift(report)
    if found:
        yield pen.paint(f"Accepted by the baseline ({len(found):,})", "bold")
        yield ""
        for finding in found:
            yield from _one(finding, stacks, pen)
        yield ""


def _baseline(report: DriftReport, pen: Pen) -> Iterator[str]:
    if report.baseline:
        heading = f"Baseline entries to look at ({len(report.baseline):,})"
        yield pen.paint(heading, "bold", "yellow")
        yield ""
        for item in report.baseline:
            yield f"  {pen.paint('!', 'yellow')} {printable(item.entry)}: {printable(item.problem)}"
        yield ""


def _summary(report: DriftReport, pen: Pen) -> str:
    verdict = judge(report)
    counts = report.counts
    tally = ", ".join(
        f"{counts[bucket]:,} {style.word}"
        for bucket, style in BUCKET_STYLES.items()
        if counts[bucket]
    )
    colour = _OUTCOME_COLOURS[verdict.outcome]
    coverage = coverage_text(report)
    sent = sum(report.calls.values())
    mode = "nothing but GET was sent, " if report.read_only else ""
    when = f"Checked at {printable(report.checked_at)}"
    lines = [
        f"{pen.paint(f'{verdict.headline}.', 'bold', colour)} {verdict.explanation}",
        comparison.headline(report),
        f"{tally or 'There is nothing to check'}.{coverage and f' {coverage}.'}",
        printable(report.method),
        f"{when}: {mode}{plural(sent, 'request')} in {report.seconds:.1f} s.",
    ]
    return "\n".join([*filter(None, lines), ""])
