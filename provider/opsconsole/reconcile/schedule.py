"""Which steps may be taken: those whose predecessors are done, unless a failure keeps them back.

Runs nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from opsconsole.reconcile.order import (
    Identity,
    Node,
    Order,
    Step,
    StepKind,
    config_address,
    dropped_objects,
    object_of,
)
from opsconsole.values import Attributes, holds_unknown


class Schedule:
    """The steps of an order that are ready, as others finish."""

    def __init__(self, order: Order) -> None:
        self.steps = order.steps
        self._waits = {node: len(waits) for node, waits in order.graph.items()}
        self._followers: dict[Node, list[Node]] = {}
        for node, waits in order.graph.items():
            for waited in waits:
                self._followers.setdefault(waited, []).append(node)
                self._waits.setdefault(waited, 0)
        self._ready: deque[int] = deque()
        self._open = set(range(len(self.steps)))
        for node in [node for node, count in self._waits.items() if count == 0]:
            self._reach(node)

    def take_ready(self) -> Iterator[int]:
        """Yield the numbers of steps that have become ready, once each."""
        while self._ready:
            yield self._ready.popleft()

    def finish(self, number: int) -> None:
        """Note that a step is over, whatever came of it; its followers may become ready."""
        self._open.discard(number)
        self._release(number)

    def unfinished(self) -> list[Step]:
        """Return the steps that are not over, in order."""
        return [self.steps[number] for number in sorted(self._open)]

    def _release(self, node: Node) -> None:
        for follower in self._followers.get(node, ()):
            self._waits[follower] -= 1
            if self._waits[follower] == 0:
                self._reach(follower)

    def _reach(self, node: Node) -> None:
        if isinstance(node, int):
            self._ready.append(node)
        else:
            self._release(node)


ConfigOf = Callable[[Step], Attributes]
"""Evaluates a step's declaration with what is known now; UNKNOWN where something failed."""


class Failures:
    """The instances that failed or were skipped, each with the address that began it."""

    def __init__(self) -> None:
        self._instances: dict[str, str] = {}
        self._resources: dict[str, str] = {}
        self._held: dict[str, str] = {}
        self._referred: dict[Identity, str] = {}

    def __contains__(self, address: str) -> bool:
        """Return whether an instance failed or was skipped."""
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
        for dependency in (*step.change.depends_on, *step.change.released):
            self._held.setdefault(dependency, cause)

    def blocker(self, step: Step, config_of: ConfigOf) -> str:
        """Return the address of what keeps `step` from being taken, or nothing.

        Where a resource has several instances, one that failed stops only those that need a value
        of it: their declaration still holds an unknown. What an update was to let go of stays while
        it fails: a host would take its agent along.
        """
        change = step.change
        if change.address in self._instances:
            return self._instances[change.address]
        if not step.is_up:
            if change.cascade:
                return self._instances.get(change.cascade, "")
            still_named = self._referred.get(object_of(step), "")
            return still_named or self._held.get(config_address(change.address), "")
        for dependency in change.depends_on:
            cause = self._resources.get(dependency)
            alone = dependency in self._instances
            if cause and (alone or holds_unknown(config_of(step))):
                return cause
        return ""
