"""The verdict of a drift report, which decides the exit code."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from opsconsole.diagnostics import has_error
from opsconsole.drift.model import Bucket, DriftReport
from opsconsole.errors import TRY_LATER
from opsconsole.text import capitalise_first, plural


class CheckOutcome(Enum):
    """The outcome of a check."""

    CLEAN = "clean"
    # Version 1 of the report has this word.
    UNDETERMINED = "untold"
    DRIFT = "drift"


_EXIT_CODES: Final = {
    CheckOutcome.CLEAN: 0,
    CheckOutcome.UNDETERMINED: 1,
    CheckOutcome.DRIFT: 2,
}


class Verdict(NamedTuple):
    """The outcome, a headline, its explanation, and the exit code of the command."""

    outcome: CheckOutcome
    headline: str
    explanation: str
    exit_code: int


def judge(report: DriftReport) -> Verdict:
    """Return the verdict of a report; the report of one shard leaves unmanaged objects undecided.

    "Could not tell" takes precedence over drift. Drift that was seen is still named.
    """
    outcome, headline, explanation = _judge_outcome(report)
    if report.shard is not None:
        explanation += (
            f" This is shard {report.shard}: unmanaged objects count once "
            "`opsconsole drift merge` has the reports of all shards."
        )
    # A console that was only too busy is no error, and another check may see enough.
    is_temporary = report.may_be_conclusive_later and not report.drifted_findings
    code = TRY_LATER if is_temporary else _EXIT_CODES[outcome]
    return Verdict(outcome, headline, explanation, code)


def _judge_outcome(report: DriftReport) -> tuple[CheckOutcome, str, str]:
    drifted = len(report.drifted_findings)
    seen = f"{plural(drifted, 'resource')} drifted" if drifted else "no drift was seen"
    # This comes before drift, so that a check of half a fleet never looks like a check of the whole
    # fleet.
    if not report.is_conclusive:
        why = "The check met errors"
        if not has_error(report.diagnostics):
            required, minimum = (
                format_percent(report.required_coverage),
                format_percent(report.min_coverage),
            )
            why = f"Required coverage is {required}, below the minimum of {minimum}"
        return CheckOutcome.UNDETERMINED, "Could not tell", f"{why}; {seen}."
    accepted = len(report.accepted_findings)
    note = f" {accepted:,} accepted." if accepted else ""
    if drifted:
        return CheckOutcome.DRIFT, "Drift", f"{capitalise_first(seen)}.{note}"
    in_state = [item.bucket for item in report.findings if item.bucket.is_in_state]
    unchecked = in_state.count(Bucket.UNCHECKED)
    part = f"{len(in_state) - unchecked:,} of " if unchecked else ""
    text = f"{part}{plural(len(in_state), 'resource')} in state checked."
    if not in_state:
        alone = report.shard is not None and not report.shard.stacks
        text = "No stack belongs to this shard." if alone else "State is empty."
    return CheckOutcome.CLEAN, "No drift", f"{text}{note}"


def format_percent(value: float) -> str:
    """Return a percentage that shows 100 only if nothing is missing."""
    shown = f"{value:.1f}".removesuffix(".0")
    return "99.9 %" if shown == "100" and value < 100 else f"{shown} %"
