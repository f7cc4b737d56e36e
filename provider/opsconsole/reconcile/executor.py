"""Carries out the steps of a plan concurrently.

An instance that fails does not stop others; its dependents are skipped and named. `step_worker`
carries out one step.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from opsconsole.diagnostics import Diagnostic, has_error
from opsconsole.errors import UserError
from opsconsole.lifecycle.interface import BULK_CREATES_AT_A_TIME, Outcome
from opsconsole.reconcile.order import Order, Step, StepKind, dropped_objects, object_of
from opsconsole.reconcile.plan import Action, ChangeCounts
from opsconsole.reconcile.prior import Identity
from opsconsole.reconcile.step_worker import StepWorker
from opsconsole.state import config_address
from opsconsole.values import Values, holds_unknown

_SAVE_PAUSE = 1.0
"""Seconds between two checks whether state is to be written."""


class ApplyListener(Protocol):
    """Observes an apply, such as a progress bar or an event stream."""

    def begin(self, steps: int) -> None:
        """An apply of this many steps begins."""

    def begin_step(self, step: Step) -> None:
        """A step begins."""

    def end_step(self, step: Step, outcome: Outcome, seconds: float) -> None:
        """A step is over."""

    def skip_step(self, step: Step, because: str) -> None:
        """A step is not carried out because the instance at `because` failed.

        `because` is empty if the other step of the same replacement was reported.
        """


@dataclass
class ApplyResult:
    """The outcome of an apply.

    Attributes:
        skipped: Address of a skipped instance to the address that failed.
        not_started: The steps that an interrupt left undone.
        unsettled: Addresses of creations whose outcome stays unknown; nothing was tried there.
        rerouted: Hosts that a console rerouted.
    """

    done: list[Step] = field(default_factory=list)
    failed: list[Step] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    not_started: list[Step] = field(default_factory=list)
    unsettled: tuple[str, ...] = ()
    diagnostics: list[Diagnostic] = field(default_factory=list)
    rerouted: set[Identity] = field(default_factory=set)
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether every step was done without an error."""
        # Failed, skipped and unsettled steps have an error among the diagnostics.
        return not self.not_started and not has_error(self.diagnostics)

    @property
    def counts(self) -> ChangeCounts:
        kinds = [step.kind for step in self.done]
        adopted = sum(step.change.action is Action.ADOPT for step in self.done)
        return ChangeCounts(
            add=kinds.count(StepKind.CREATE) - adopted,
            adopt=adopted,
            change=kinds.count(StepKind.UPDATE),
            destroy=kinds.count(StepKind.DELETE),
            imported=len({step.change.address for step in self.done if step.change.import_id}),
            forget=sum(step.change.action is Action.FORGET for step in self.done),
        )


class Failures:
    """The instances that failed or were skipped, each with the address of the first failure."""

    def __init__(self) -> None:
        self._instances: dict[str, str] = {}
        self._resources: dict[str, str] = {}
        self._needed: dict[str, str] = {}
        self._referred: dict[Identity, str] = {}

    def __contains__(self, address: str) -> bool:
        return address in self._instances

    def add(self, step: Step, cause: str = "") -> None:
        """Note that a step failed, or was skipped because of `cause`."""
        address = step.change.address
        cause = cause or address
        self._instances.setdefault(address, cause)
        if step.is_up:
            self._resources.setdefault(config_address(address), cause)
            for dropped in dropped_objects(step) if step.kind is StepKind.UPDATE else ():
                self._referred.setdefault(dropped, cause)
            return
        # The object may still exist and need these dependencies, so they are not deleted either.
        for dependency in (*step.change.dependencies, *step.change.former_dependencies):
            self._needed.setdefault(dependency, cause)

    def find_blocker(self, step: Step, config_of: Callable[[Step], Values]) -> str:
        """Return the address of the failure that blocks `step`, or ""."""
        change = step.change
        if change.address in self._instances:
            return self._instances[change.address]
        if not step.is_up:
            if change.deleted_with:
                return self._instances.get(change.deleted_with, "")
            # An object that a failed update was to release stays: a deleted host takes its agent.
            still_named = self._referred.get(object_of(step), "")
            return still_named or self._needed.get(config_address(change.address), "")
        for dependency in change.dependencies:
            cause = self._resources.get(dependency)
            # If a resource has several instances, a failed one stops only the steps that need its
            # values. Their declaration still holds an unknown value.
            alone = dependency in self._instances
            if cause and (alone or _has_unknown_values(step, config_of)):
                return cause
        return ""


def _has_unknown_values(step: Step, config_of: Callable[[Step], Values]) -> bool:
    try:
        return holds_unknown(config_of(step))
    except UserError:
        # The value of the failed resource may be the reason. The next plan shows it otherwise.
        return True


class Executor:
    """One apply of one order of steps."""

    def __init__(
        self, order: Order, worker: StepWorker, listener: ApplyListener, limit: int
    ) -> None:
        """Take the steps of a plan.

        Args:
            limit: How many steps run at a time; an import of many hosts counts as one.
        """
        self._order = order
        self._worker = worker
        self._listener = listener
        self._limit = limit
        # The steps of one request share provider, type and kind.
        self._waiting: dict[tuple[str, str, StepKind], deque[Step]] = {}
        self._begun: dict[int, float] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._bulk_creates = 0
        self._saving: asyncio.Task[None] | None = None
        self._save_timer: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._problem: BaseException | None = None
        self._failures = Failures()
        self._applied = ApplyResult()

    async def run(self) -> ApplyResult:
        """Carry out the steps; cancellation drops steps in flight.

        After the providers are stopped, no step begins, and steps in flight finish.

        Raises:
            UserError: Changes cannot be made durable; no further step begins.
        """
        begun = time.monotonic()
        self._listener.begin(len(self._order.steps))
        try:
            self._start_ready_steps()
            await self._idle.wait()
        except asyncio.CancelledError:
            for task in self._running:
                task.cancel()
            raise
        finally:
            if self._save_timer is not None:
                # Nobody would await a save that the timer begins after this.
                self._save_timer.cancel()
            saving = [self._saving] if self._saving is not None else []
            await asyncio.gather(*self._running, *saving, return_exceptions=True)
        if self._problem is not None:
            raise self._problem
        # The steps taken without a request are not durable yet.
        await self._worker.state_session.flush()
        self._applied.not_started = self._order.list_unfinished()
        self._applied.seconds = time.monotonic() - begun
        return self._applied

    def _start_ready_steps(self) -> None:
        """Begin steps while there is room; set `_idle` when none is running."""
        try:
            self._queue_ready_steps()
            # If several calls wait for one write of state, more steps begin than requests may be in
            # flight. The client holds their requests back.
            room = max(self._limit, self._worker.state_session.calls_at_once)
            providers = self._worker.providers
            while not providers.stopped and self._problem is None and len(self._running) < room:
                steps = self._take_next()
                if not steps:
                    break
                self._start(steps)
        except BaseException as problem:
            # In a task's callback, an exception would be logged only, and `run` would hang.
            self._problem = self._problem or problem
        if not self._running:
            self._idle.set()

    def _queue_ready_steps(self) -> None:
        """Queue ready steps by request; skip blocked ones, do those without a request."""
        for step in self._order.take_ready():
            blocker = self._failures.find_blocker(step, self._worker.config_of)
            if blocker:
                self._skip(step, blocker)
                continue
            outcome = self._worker.carry_out_without_request(step)
            if outcome is not None:
                self._note_start(step)
                self._note_outcome(step, outcome)
                continue
            key = (step.change.provider_key, step.change.type_name, step.kind)
            self._waiting.setdefault(key, deque()).append(step)

    def _skip(self, step: Step, blocker: str) -> None:
        reported = step.change.address in self._failures
        self._failures.add(step, blocker)
        if not reported:
            self._applied.skipped[step.change.address] = blocker
        self._listener.skip_step(step, "" if reported else blocker)
        self._order.finish(step)

    def _take_next(self) -> list[Step]:
        """Return the steps of the next request: one step, or the hosts of one import."""
        for steps in self._waiting.values():
            if not steps:
                continue
            limit = self._worker.max_creates_at_once(steps[0])
            if limit > 1 and self._bulk_creates >= BULK_CREATES_AT_A_TIME:
                continue
            return [steps.popleft() for _ in range(min(limit, len(steps)))]
        return []

    def _start(self, steps: Sequence[Step]) -> None:
        is_bulk = self._worker.max_creates_at_once(steps[0]) > 1
        self._bulk_creates += is_bulk
        for step in steps:
            self._note_start(step)
        task = asyncio.create_task(self._worker.carry_out(steps, self._end_step))
        self._running.add(task)
        task.add_done_callback(lambda task: self._end_task(task, is_bulk))

    def _note_start(self, step: Step) -> None:
        self._begun[step.number] = time.monotonic()
        self._listener.begin_step(step)

    def _end_task(self, task: asyncio.Task[None], is_bulk: bool) -> None:
        self._running.discard(task)
        self._bulk_creates -= is_bulk
        if not task.cancelled() and task.exception() is not None:
            self._problem = self._problem or task.exception()
        self._save_if_due()
        self._start_ready_steps()

    def _end_step(self, step: Step, outcome: Outcome) -> None:
        """Record the outcome of a step, and queue the steps that it makes ready."""
        self._note_outcome(step, outcome)
        # They share a record of the journal, so no crash separates them from the step.
        self._queue_ready_steps()

    def _note_outcome(self, step: Step, outcome: Outcome) -> None:
        begun = self._begun.pop(step.number)
        # The run was stopped before this step, which stays among the steps that were not started.
        if not outcome.begun:
            return
        seconds = time.monotonic() - begun
        address = step.change.address
        self._applied.diagnostics += (item.about(address) for item in outcome.diagnostics)
        self._applied.rerouted.update(
            (step.console, step.change.type_name, item) for item in outcome.rerouted
        )
        if outcome.failed:
            self._applied.failed.append(step)
            self._failures.add(step)
        else:
            self._applied.done.append(step)
        self._listener.end_step(step, outcome, seconds)
        self._order.finish(step)

    def _save_if_due(self) -> None:
        if self._saving is not None and self._saving.done():
            # Taken even after another problem: asyncio logs an exception that nobody takes.
            problem = self._saving.exception()
            self._problem = self._problem or problem
            self._saving = None
        state_session = self._worker.state_session
        if self._saving is None and state_session.is_due():
            self._saving = asyncio.create_task(state_session.checkpoint())
        if self._saving is not None or state_session.has_unwritten_changes:
            self._save_timer = self._save_timer or asyncio.get_running_loop().call_later(
                _SAVE_PAUSE, self._save_again
            )

    def _save_again(self) -> None:
        """Save state even while no step ends."""
        self._save_timer = None
        # If this machine fails during a long step, another one needs the changes completed by now.
        self._save_if_due()
