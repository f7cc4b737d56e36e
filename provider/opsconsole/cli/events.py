"""Messages of a command for other software, in Terraform's form: one line of JSON each."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable

from opsconsole.cli.table import FAILED
from opsconsole.clock import utc_now
from opsconsole.diagnostics import Diagnostic, diagnostics_of
from opsconsole.errors import TRY_LATER, OpsconsoleError, Stopped
from opsconsole.lifecycle.interface import Outcome
from opsconsole.reconcile.order import Step, StepKind
from opsconsole.reconcile.plan import Action, Plan
from opsconsole.reports import messages
from opsconsole.reports.messages import Hook, Message
from opsconsole.text import plural
from opsconsole.v1.limiter import HeldBack


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


TICK = 10.0
"""Seconds after which a step that is still running is reported again, as in Terraform."""


def _action_of(step: Step) -> Action:
    if step.kind is StepKind.KEEP or step.change.action is Action.ADOPT:
        return step.change.action
    # A replacement has two steps, each with an action of its own.
    return Action(step.kind.value)


def is_address_change_only(step: Step) -> bool:
    return step.change.action is Action.NO_OP and not step.change.import_id


def _object_id(value: object) -> str:
    object_id = value.get("id") if isinstance(value, dict) else None
    return object_id if isinstance(object_id, str) else ""


def describe_rate_limit_wait(waiting: HeldBack) -> str:
    """Describe a wait that the console asks for; empty for less than a second."""
    if waiting.seconds < 1:
        return ""
    count = plural(waiting.callers, "request")
    return f"the console limits requests: next in {waiting.seconds:.0f} s, {count} held back"


class ApplyMessages:
    """Sends one of Terraform's messages when a change begins, takes long, and ends.

    Attributes:
        waiting: Returns how long the console makes the run wait.
    """

    _most: int | None = None
    """How many slow changes are named each time; None names all of them."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self.waiting: Callable[[], HeldBack] = lambda: HeldBack(0, 0.0)
        self._send = send
        self._since: dict[str, tuple[Step, float]] = {}

    def begin(self, steps: int) -> None:
        """Send nothing."""

    def begin_step(self, step: Step) -> None:
        if is_address_change_only(step):
            return
        address = step.change.address
        self._since[address] = (step, time.monotonic())
        before = "" if step.kind is StepKind.CREATE else _object_id(step.change.before)
        self._send_hook(messages.apply_start(address, _action_of(step), before))

    def end_step(self, step: Step, outcome: Outcome, seconds: float) -> None:
        address, action = step.change.address, _action_of(step)
        self._since.pop(address, None)
        if is_address_change_only(step):
            return
        if outcome.failed:
            self._send_hook(messages.apply_errored(address, action, seconds))
        else:
            self._send_hook(
                messages.apply_complete(address, action, seconds, _object_id(outcome.state))
            )

    def skip_step(self, step: Step, because: str) -> None:
        if because:
            self._send_text(f"{step.change.address}: Skipped, because {because} failed")

    def tick(self) -> None:
        """Report the steps that have run for about ten seconds or more."""
        if held := describe_rate_limit_wait(self.waiting()):
            self._send_text(f"Waiting: {held}")
        now = time.monotonic()
        long = [(step, now - since) for step, since in self._since.values()]
        # With the full time, the next tick would leave out a step that began just after this tick.
        long = [(step, seconds) for step, seconds in long if seconds > TICK * 0.9]
        shown = long[: self._most]
        for step, seconds in shown:
            self._send_hook(messages.apply_progress(step.change.address, _action_of(step), seconds))
        if len(long) > len(shown):
            self._send_text(f"… and {len(long) - len(shown):,} more")

    def _send_hook(self, hook: Hook) -> None:
        self._send(hook.message())

    def _send_text(self, text: str) -> None:
        self._send(messages.log(text))
