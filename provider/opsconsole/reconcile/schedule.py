"""Handing out steps as soon as what they wait for is done. Pure bookkeeping: runs nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from opsconsole.reconcile.order import Node, Order, Step


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

    def step(self, number: int) -> Step:
        """Return a step by its number."""
        return self.steps[number]

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
