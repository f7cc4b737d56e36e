"""What the diagnostics of a plan or an outcome say, by severity."""

from typing import Any

from opsconsole.diagnostics import Severity


def errors(outcome: Any) -> list[str]:
    """Return the summaries of its errors."""
    return _summaries(outcome, Severity.ERROR)


def warnings(outcome: Any) -> list[str]:
    """Return the summaries of its warnings."""
    return _summaries(outcome, Severity.WARNING)


def _summaries(outcome: Any, severity: Severity) -> list[str]:
    return [item.summary for item in outcome.diagnostics if item.severity is severity]
