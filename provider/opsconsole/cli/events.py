"""How an apply goes, for programs: Terraform's machine-readable messages, one line of JSON each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime

from opsconsole.cli.progress_lines import InFlight, action_of, held_back, id_after, id_before
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.errors import OpsconsoleError
from opsconsole.lifecycle.interface import Outcome
from opsconsole.reconcile.changes import Action, Plan
from opsconsole.reconcile.order import Step
from opsconsole.reports import messages
from opsconsole.reports.messages import Message
from opsconsole.v1.limiter import HeldBack


def emit(message: Message) -> None:
    """Write one message to stdout."""
    sys.stdout.write(messages.line(message))


def emit_version() -> None:
    """Write whose messages these are, as the first of them."""
    emit(messages.version(now()))


def now() -> datetime:
    """Return the time for a message."""
    return datetime.now(UTC)


def emit_diagnostic(item: Diagnostic) -> None:
    """Write a diagnostic."""
    emit(messages.diagnostic(item, now()))


def emit_error(problem: OpsconsoleError) -> None:
    """Write why a command failed."""
    emit_diagnostic(error(problem.message.removesuffix("."), problem.remedy))


def emit_plan(plan: Plan) -> None:
    """Write what is planned, as Terraform's apply does before it begins."""
    for drift in plan.drift:
        emit(messages.resource_drift(drift, now()))
    for change in plan.acting():
        emit(messages.planned_change(change, now()))
    emit(messages.change_summary(plan.counts, "plan", now()))
    if plan.outputs:
        emit(messages.planned_outputs(plan.outputs, now()))
    for item in plan.diagnostics:
        emit_diagnostic(item)


class Events:
    """Tells each change as it begins, goes on and ends."""

    def __init__(self) -> None:
        self._in_flight = InFlight()
        self._waiting: Callable[[], HeldBack] = lambda: HeldBack(0, 0.0)

    def watch(self, waiting: Callable[[], HeldBack]) -> None:
        """Take what returns how long the console has the run wait."""
        self._waiting = waiting

    def begun(self, steps: int) -> None:
        """Emit nothing."""

    def started(self, step: Step) -> None:
        """Report what begins."""
        if action_of(step) is not Action.NO_OP or step.change.import_id:
            address = step.change.address
            self._in_flight.begin(step)
            emit(messages.apply_start(address, action_of(step), now(), id_before(step)))

    def finished(self, step: Step, outcome: Outcome, seconds: float) -> None:
        """Report what is over, and how."""
        address, action = step.change.address, action_of(step)
        self._in_flight.end(step)
        if action is Action.NO_OP and not step.change.import_id:
            return
        if outcome.failed:
            emit(messages.apply_errored(address, action, seconds, now()))
        else:
            shown = id_after(step, outcome)
            emit(messages.apply_complete(address, action, seconds, now(), shown))

    def skipped(self, step: Step, because: str) -> None:
        """Report what is skipped, and why."""
        if because:
            emit(messages.log(f"{step.change.address}: Skipped, as {because} failed", now()))

    def tick(self) -> None:
        """Report what has been under way for long."""
        held = held_back(self._waiting())
        if held:
            emit(messages.log(f"Waiting: {held}", now()))
        for step, seconds in self._in_flight.long():
            emit(messages.apply_progress(step.change.address, action_of(step), seconds, now()))
