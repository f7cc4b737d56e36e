"""Carrying out a plan: batches of ready steps, each made durable before what depends on it.

A failed instance fails alone; what depends on it is skipped and named. What happens to one batch
of like steps is in `batches`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from opsconsole.diagnostics import Diagnostic
from opsconsole.lifecycle.interface import Outcome
from opsconsole.reconcile.batches import Worker
from opsconsole.reconcile.failures import Failures
from opsconsole.reconcile.order import Leg, Order, Step
from opsconsole.reconcile.schedule import Schedule
from opsconsole.resources import AGENT, HOST

_BATCHES_IN_FLIGHT = 4
_BATCH = 200
_TOGETHER = {(HOST.type_name, Leg.CREATE): 2}
"""Batches of one kind at a time, where fewer serve: while the hosts of one import are read back the
next is imported. More would all end at once, and until then nothing of them were durable."""

Kind = tuple[str, str, Leg, bool]
"""What can be carried out together: provider, type, leg, and whether it follows a host."""


class Listener(Protocol):
    """Whoever wants to know how an apply goes: a progress bar, an event stream."""

    def begun(self, steps: int) -> None:
        """An apply of so many steps begins."""

    def started(self, step: Step) -> None:
        """A step is being carried out."""

    def finished(self, step: Step, outcome: Outcome, seconds: float) -> None:
        """A step is over; `outcome` tells how."""

    def skipped(self, step: Step, because: str) -> None:
        """A step is not carried out, as the instance at `because` failed.

        Empty: the other step of the same replacement has been told of.
        """


@dataclass
class Applied:
    """What an apply came to.

    Attributes:
        done: Steps that were carried out.
        failed: Steps that failed.
        skipped: Address of what was not tried to the address that failed.
        not_started: The steps that an interrupt left undone.
        diagnostics: Everything that the user is told, each with the address that it speaks of.
        rerouted: Ids of hosts that the console rerouted.
    """

    done: list[Step] = field(default_factory=list)
    failed: list[Step] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    not_started: list[Step] = field(default_factory=list)
    diagnostics: list[tuple[str, Diagnostic]] = field(default_factory=list)
    rerouted: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether everything was done that was planned."""
        return not (self.failed or self.skipped or self.not_started)


class Execution:
    """One apply of one order of steps."""

    def __init__(
        self, order: Order, worker: Worker, listener: Listener, import_chunk: int, limit: int
    ) -> None:
        self._schedule = Schedule(order)
        self._worker = worker
        self._listener = listener
        self._sizes = {
            (HOST.type_name, Leg.CREATE): import_chunk,
            (AGENT.type_name, Leg.CREATE): limit,
        }
        self._waiting: dict[Kind, deque[int]] = {}
        self._running: Counter[Kind] = Counter()
        self._failures = Failures()
        self._stopping = False
        self.applied = Applied()

    def stop(self) -> None:
        """Begin nothing more; `run` returns once what is in flight has finished."""
        self._stopping = True

    async def run(self) -> Applied:
        """Carry out the steps; return what they came to. Cancelled, it drops what is in flight.

        Raises:
            UserError: what was done cannot be made durable; nothing further is begun.
        """
        running: set[asyncio.Task[None]] = set()
        saving = asyncio.ensure_future(self._save())
        self._listener.begun(len(self._schedule.steps))
        try:
            while True:
                self._collect()
                while not self._stopping and len(running) < _BATCHES_IN_FLIGHT:
                    batch = self._next_batch()
                    if batch is None:
                        break
                    running.add(asyncio.create_task(self._carry_out(*batch)))
                if not running:
                    break
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
                if saving.done():
                    saving.result()
                    saving = asyncio.ensure_future(self._save())
        except asyncio.CancelledError:
            for task in running:
                task.cancel()
            raise
        finally:
            await asyncio.gather(*running, saving, return_exceptions=True)
        saving.result()
        self.applied.not_started = self._schedule.unfinished()
        return self.applied

    async def _save(self) -> None:
        """Write state if its turn has come, while changes go on."""
        await self._worker.session.checkpoint_if_due()

    def _collect(self) -> None:
        """Sort what has become ready by what can be done together; pass over what cannot be."""
        for number in self._schedule.take_ready():
            step = self._schedule.step(number)
            blocker = self._failures.blocker(step, self._worker.config_of)
            if blocker:
                told = step.change.address in self._failures
                self._failures.add(step, blocker)
                if not told:
                    self.applied.skipped[step.change.address] = blocker
                self._listener.skipped(step, "" if told else blocker)
                self._schedule.finish(number)
                continue
            change = step.change
            key = (change.provider, change.type_name, step.leg, bool(change.cascade))
            self._waiting.setdefault(key, deque()).append(number)

    def _next_batch(self) -> tuple[Kind, list[int]] | None:
        """Take the steps of a batch that can begin; None: there is none."""
        for kind, numbers in self._waiting.items():
            if numbers and self._running[kind] < _TOGETHER.get(kind[1:3], _BATCHES_IN_FLIGHT):
                size = min(self._sizes.get(kind[1:3], _BATCH), len(numbers))
                self._running[kind] += 1
                return kind, [numbers.popleft() for _ in range(size)]
        return None

    async def _carry_out(self, kind: Kind, numbers: Sequence[int]) -> None:
        steps = [self._schedule.step(number) for number in numbers]
        for step in steps:
            self._listener.started(step)
        begun = time.monotonic()
        outcomes = await self._worker.carry_out(steps)
        seconds = time.monotonic() - begun
        for number, step, outcome in zip(numbers, steps, outcomes, strict=True):
            address = step.change.address
            self.applied.diagnostics += ((address, item) for item in outcome.diagnostics)
            self.applied.rerouted += outcome.rerouted
            if outcome.failed:
                self.applied.failed.append(step)
                self._failures.add(step)
            else:
                self.applied.done.append(step)
            self._listener.finished(step, outcome, seconds)
            self._schedule.finish(number)
        self._running[kind] -= 1
