"""Messages of a command for other software, in Terraform's form: one line of JSON each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from opsconsole.cli.table import FAILED
from opsconsole.clock import utc_now
from opsconsole.diagnostics import Diagnostic, diagnostics_of
from opsconsole.errors import TRY_LATER, OpsconsoleError, Stopped
from opsconsole.reconcile.plan import Plan
from opsconsole.reports import messages
from opsconsole.reports.messages import Message


def emit(message: Message) -> None:
    sys.stdout.write(messages.line(message, utc_now()))


def run_with_messages(run: Callable[[], int]) -> int:
    """Write the version message, then return the exit code of `run`; its error becomes messages.

    Raises:
        Stopped: The run was told to stop.
    """
    emit(messages.version())
    try:
        return run()
    except Stopped:
        raise
    except OpsconsoleError as problem:
        emit_diagnostics(diagnostics_of(problem))
        return TRY_LATER if problem.is_temporary else FAILED


def emit_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    for item in diagnostics:
        emit(messages.diagnostic(item))


def emit_plan(plan: Plan) -> None:
    """Write the planned changes, as Terraform's apply does before it begins."""
    for drift in plan.drift:
        emit(messages.resource_drift(drift))
    for change in plan.acting():
        emit(messages.planned_change(change))
    emit(messages.change_summary(plan.counts, "plan"))
    if plan.outputs:
        emit(messages.planned_outputs(plan.outputs))
    emit_diagnostics(plan.diagnostics)
