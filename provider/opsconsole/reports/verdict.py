"""The verdict of a drift report, and the words that all its formats share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from opsconsole.diagnostics import are_temporary, has_error
from opsconsole.drift.report import Bucket, DriftEntry, DriftReport, Finding
from opsconsole.errors import TRY_LATER
from opsconsole.phrases import plural
from opsconsole.reports.report import moment
from opsconsole.reports.text import printable


class CheckOutcome(Enum):
    """The outcome of a check; the values are its usual exit codes."""

    CLEAN = 0
    UNTOLD = 1
    DRIFT = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome, a headline, a sentence that explains it, and the exit code of the command."""

    outcome: CheckOutcome
    headline: str
    explanation: str
    exit_code: int


def judge(report: DriftReport) -> Verdict:
    """Return the verdict of a report; that of one shard leaves unmanaged objects undecided.

    "Could not tell" outranks drift, so that a check that saw half of a fleet is never taken for
    one that saw all of it. Drift that was seen is still named.
    """
    outcome, headline, explanation = _judge_outcome(report)
    if report.share is not None:
        explanation += (
            f" This is shard {report.share.shard}: unmanaged objects count once "
            "`opsconsole drift merge` has the reports of all shards."
        )
    # A console that was only too busy shows nothing wrong, and another check may see it all.
    is_temporary = are_temporary(report.diagnostics) and not report.drifted
    code = TRY_LATER if is_temporary else outcome.value
    return Verdict(outcome, headline, explanation, code)


def _judge_outcome(report: DriftReport) -> tuple[CheckOutcome, str, str]:
    drifted = len(report.drifted)
    seen = f"{plural(drifted, 'resource')} drifted" if drifted else "no drift was seen"
    accepted = sum(bool(finding.accepted) for finding in report.findings)
    note = f" {accepted:,} accepted." if accepted else ""
    required = report.required_coverage
    if has_error(report.diagnostics):
        return CheckOutcome.UNTOLD, "Could not tell", f"The check met errors; {seen}."
    if required < report.min_coverage:
        text = f"{percent(required)} of what must be checked was seen; {seen}."
        return CheckOutcome.UNTOLD, "Could not tell", text
    if drifted:
        return CheckOutcome.DRIFT, "Drift", f"{seen[0].upper()}{seen[1:]}.{note}"
    beside = (Bucket.UNMANAGED, Bucket.PENDING, Bucket.UNCHECKED)
    checked = sum(finding.bucket not in beside for finding in report.findings)
    return CheckOutcome.CLEAN, "No drift", f"{plural(checked, 'resource')} in state checked.{note}"


def percent(value: float) -> str:
    """Return a percentage that says 100 only where nothing is missing."""
    shown = f"{value:.1f}".removesuffix(".0")
    return "99.9 %" if shown == "100" and value < 100 else f"{shown} %"


def coverage_text(report: DriftReport) -> str:
    """Return the coverage, in attributes too where some of what is in sync was not seen.

    Empty where no resource is in state: 100 % of nothing would sound like a whole check.
    """
    beside = (Bucket.UNMANAGED, Bucket.PENDING)
    if all(finding.bucket in beside for finding in report.findings):
        return ""
    text = percent(report.coverage)
    if any(item.unobserved for item in report.findings if item.bucket is Bucket.IN_SYNC):
        text += f" ({percent(report.attribute_coverage)} of the attributes)"
    return text


def unseen_text(finding: Finding) -> str:
    """Say which attributes a check did not see of a resource that it checked, or nothing."""
    if not finding.unobserved or finding.bucket is Bucket.UNCHECKED:
        return ""
    return f"not seen by this check: {', '.join(finding.unobserved)}"


def since_text(report: DriftReport) -> str:
    """Return what changed since the earlier report in one sentence; empty: not compared."""
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
    """Return whether the drift of a finding is new; empty: it is none, or was not compared."""
    if finding.new is None:
        return ""
    if finding.new == finding.drifting:
        return "new"
    return f"new: {', '.join(finding.new)}" if finding.new else "still open"


def entry_text(entry: DriftEntry, *, stacks: bool) -> str:
    """Return the resource of drift that no finding shows, and what differed, on one line."""
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
    """Return the findings that would be drift, had the baseline not accepted them."""
    return [finding for finding in report.findings if finding.accepted and finding.bucket.is_drift]
