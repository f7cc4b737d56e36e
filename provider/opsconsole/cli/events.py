"""Terraform's machine-readable messages, one line of JSON each, for other software."""

from __future__ import annotations

import sys

from opsconsole.clock import utc_now
from opsconsole.diagnostics import Diagnostic, diagnostics_of
from opsconsole.errors import OpsconsoleError
from opsconsole.reconcile.plan import Plan
from opsconsole.reports import messages
from opsconsole.reports.messages import Message


def emit(message: Message) -> None:
    """Write one message to stdout."""
    sys.stdout.write(messages.line(message))


def emit_version() -> None:
    """Write the version message, which is the first message."""
    emit(messages.version(utc_now()))


def emit_diagnostic(item: Diagnostic) -> None:
    """Write a diagnostic."""
    emit(messages.diagnostic(item, utc_now()))


def emit_error(problem: OpsconsoleError) -> None:
    """Write why a command failed."""
    for item in diagnostics_of(problem):
        emit_diagnostic(item)


def emit_plan(plan: Plan) -> None:
    """Write the planned changes, as Terraform's apply does before it begins."""
    for drift in plan.drift:
        emit(messages.resource_drift(drift, utc_now()))
    for change in plan.acting():
        emit(messages.planned_change(change, utc_now()))
    emit(messages.change_summary(plan.counts, "plan", utc_now()))
    if plan.outputs:
        emit(messages.planned_outputs(plan.outputs, utc_now()))
    for item in plan.diagnostics:
        emit_diagnostic(item)
