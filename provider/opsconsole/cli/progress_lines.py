"""How an apply goes, line by line: one when a change begins, one when it is over."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

from opsconsole.lifecycle.interface import Outcome
from opsconsole.phrases import plural
from opsconsole.reconcile.changes import Action
from opsconsole.reconcile.order import Step, StepKind
from opsconsole.reports import messages
from opsconsole.v1.limiter import HeldBack

FEW = 40
"""Up to so many steps each has its own line, on a terminal too."""

TICK = 10.0
"""Seconds after which a step that is under way is spoken of again, as in Terraform."""

_ACTIONS = {
    StepKind.CREATE: Action.CREATE,
    StepKind.DELETE: Action.DELETE,
    StepKind.UPDATE: Action.UPDATE,
    StepKind.READ: Action.READ,
}


def action_of(step: Step) -> Action:
    """Return what a step does, as messages name it."""
    return _ACTIONS.get(step.kind, step.change.action)


def id_before(step: Step) -> str:
    """Return the console's id of what a step begins with, or empty."""
    return "" if step.kind is StepKind.CREATE else _id(step.change.before)


def id_after(step: Step, outcome: Outcome) -> str:
    """Return the console's id of what a step leaves, or empty."""
    return _id(outcome.state)


def _id(value: object) -> str:
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def held_back(waiting: HeldBack) -> str:
    """Return what is to be said of a wait that the console asks for; empty below a second."""
    if waiting.seconds < 1:
        return ""
    count = plural(waiting.callers, "request")
    return f"the console limits requests: next in {waiting.seconds:.0f} s, {count} held back"


class InFlight:
    """The steps that are under way, and since when."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[Step, float]] = {}

    def begin(self, step: Step) -> None:
        """Note that a step begins."""
        self._since[step.change.address] = (step, time.monotonic())

    def end(self, step: Step) -> None:
        """Note that a step is over."""
        self._since.pop(step.change.address, None)

    def long(self) -> list[tuple[Step, float]]:
        """Return what has been under way for about ten seconds or more, with the seconds."""
        now = time.monotonic()
        return [(step, now - at) for step, at in self._since.values() if now - at > TICK * 0.9]


class Lines:
    """Writes a line when a change begins and another when it is over, as Terraform does."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._in_flight = InFlight()
        self._waiting: Callable[[], HeldBack] = lambda: HeldBack(0, 0.0)

    def watch(self, waiting: Callable[[], HeldBack]) -> None:
        """Take what returns how long the console has the run wait."""
        self._waiting = waiting

    def begun(self, steps: int) -> None:
        """Nothing is said."""

    def started(self, step: Step) -> None:
        """Say what begins; what needs no call is said when it is over."""
        if step.change.cascade or step.kind is StepKind.KEEP:
            return
        self._in_flight.begin(step)
        at = datetime.now(UTC)
        message = messages.apply_start(step.change.address, action_of(step), at, id_before(step))
        self._write(message["@message"])

    def finished(self, step: Step, outcome: Outcome, seconds: float) -> None:
        """Say what is over, and how."""
        address, action = step.change.address, action_of(step)
        self._in_flight.end(step)
        if step.change.cascade and step.kind is StepKind.DELETE:
            self._write(f"{address}: Archived with {step.change.cascade}")
            return
        if action is Action.NO_OP and not step.change.import_id:
            self._write(f"{address}: Moved from {step.change.previous_address}")
            return
        at = datetime.now(UTC)
        if outcome.failed:
            message = messages.apply_errored(address, action, seconds, at)
        else:
            shown = id_after(step, outcome)
            message = messages.apply_complete(address, action, seconds, at, shown)
        self._write(message["@message"])

    def skipped(self, step: Step, because: str) -> None:
        """Say what is passed over, and why."""
        if because:
            self._write(f"{step.change.address}: Skipped, as {because} failed")

    def tick(self) -> None:
        """Say what has been under way for long; of many, the first."""
        held = held_back(self._waiting())
        if held:
            self._write(f"Waiting: {held}")
        going = self._in_flight.long()
        for step, seconds in going[:FEW]:
            at = datetime.now(UTC)
            message = messages.apply_progress(step.change.address, action_of(step), seconds, at)
            self._write(message["@message"])
        if len(going) > FEW:
            self._write(f"… and {len(going) - FEW:,} more")


class Printer:
    """Writes lines to stdout; those of one moment reach the reader together."""

    def __init__(self) -> None:
        self._waiting = False

    def __call__(self, text: str) -> None:
        """Write a line; it is flushed before the event loop goes on."""
        sys.stdout.write(f"{text}\n")
        if not self._waiting:
            self._waiting = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._waiting = False
        sys.stdout.flush()
