"""The order of apply: the steps that each step waits for, and the steps that are ready. Pure.

Creations follow dependencies, deletions run against them. An update that drops a reference precedes
the deletion of the object that it referred to. Objects deleted with an owner follow it. Steps
wait for all instances of a resource together, so 50,000 agents on 50,000 hosts make 100,000 edges,
not their product.

A deletion is a step *down*, any other step is *up*. A *gate* is a node without a step of its own,
such as the end of all steps up of one resource, or the beginning of its steps down. A *soft* edge
is left out where it would close a cycle.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from graphlib import CycleError, TopologicalSorter
from typing import Final, TypeVar

from opsconsole.errors import UserError
from opsconsole.reconcile.plan import Action, Change
from opsconsole.reconcile.prior import Identity, Name, name_of
from opsconsole.resources import RESOURCES, blockers_of, owner_of, owners_above, referred_to
from opsconsole.state import config_address


class StepKind(Enum):
    """The kind of a step; a replacement has two steps."""

    DELETE = "delete"
    CREATE = "create"
    UPDATE = "update"
    READ = "read"
    KEEP = "keep"
    """State alone changes: a moved address, an import, a forgotten instance."""

    # An order looks up each step by its kind, and Enum's own hash runs Python code.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a change, carried out by one call or none."""

    change: Change
    kind: StepKind
    console: str = ""
    """The key of its console, as ids are compared within one console only."""
    number: int = 0
    """Its place among the steps of its order."""

    @property
    def is_up(self) -> bool:
        """Whether it brings its instance to the declared values."""
        return self.kind is not StepKind.DELETE


Arranged = TypeVar("Arranged")
Node = int | tuple[str, str]
"""A step by its number, or a gate by its resource and its kind."""


class Order:
    """The steps of a plan, and which of them are ready."""

    def __init__(self, steps: Sequence[Step], graph: Mapping[Node, set[Node]]) -> None:
        """Prepare the order; `graph` has the nodes that each node waits for. Raises CycleError."""
        self.steps = steps
        self._graph = graph
        self._unfinished = set(range(len(steps)))
        # All nodes first, so that the steps are in the order of the graph's keys and not of sets.
        self._sorter = TopologicalSorter(dict.fromkeys(graph, ()))
        for node, waits in graph.items():
            self._sorter.add(node, *waits)
        self._sorter.prepare()
        self._ready = deque[int]()
        self._collect_ready()

    def take_ready(self) -> Iterator[Step]:
        """Yield the steps that have become ready, once each."""
        while self._ready:
            yield self.steps[self._ready.popleft()]

    def finish(self, step: Step) -> None:
        """Note that a step is over, with any outcome; waiting steps may become ready."""
        self._unfinished.discard(step.number)
        self._sorter.done(step.number)
        self._collect_ready()

    def _collect_ready(self) -> None:
        for node in self._sorter.get_ready():
            if isinstance(node, int):
                self._ready.append(node)
            else:
                # A gate has no step of its own.
                self._sorter.done(node)
                self._collect_ready()

    def list_unfinished(self) -> list[Step]:
        """Return the steps that are not over, in a valid sequence."""
        if not self._unfinished:
            return []
        in_sequence = _sort(self.steps, self._graph)
        return [step for step in in_sequence if step.number in self._unfinished]


def _sort(steps: Sequence[Step], graph: Mapping[Node, set[Node]]) -> list[Step]:
    sequence = TopologicalSorter(graph).static_order()
    return [steps[node] for node in sequence if isinstance(node, int)]


def order_steps(changes: Iterable[Change], console_of: Callable[[str], str]) -> Order:
    """Return the steps that apply `changes`, with their order.

    Args:
        console_of: Returns the console of a provider configuration's key.

    Raises:
        UserError: The dependencies form a cycle.
    """
    return _arrange(changes, console_of, Order)


def sort_steps(changes: Iterable[Change], console_of: Callable[[str], str]) -> list[Step]:
    """Return the steps that apply `changes` in a valid sequence; otherwise as `order_steps`."""
    return _arrange(changes, console_of, _sort)


def _arrange(
    changes: Iterable[Change],
    console_of: Callable[[str], str],
    arrange: Callable[[Sequence[Step], Mapping[Node, set[Node]]], Arranged],
) -> Arranged:
    kinds = ((change, kind) for change in changes for kind in _kinds(change))
    steps = [
        Step(change, kind, console_of(change.provider_key), number)
        for number, (change, kind) in enumerate(kinds)
    ]
    edges = _Edges(steps)
    for step in steps:
        if step.is_up:
            edges.add_up(step)
        else:
            edges.add_down(step)
        edges.add_soft(step)
    for graph in edges.graphs():
        with suppress(CycleError):
            return arrange(steps, graph)
    raise UserError(
        "The steps of this plan form a cycle: each waits for another.",
        "Apply a part of the plan first, with --target, or leave create_before_destroy out.",
    )


def _kinds(change: Change) -> tuple[StepKind, ...]:
    if change.action is Action.REPLACE:
        kinds = (StepKind.DELETE, StepKind.CREATE)
        return kinds[::-1] if change.create_first else kinds
    return (_KINDS[change.action],) if change.acts else ()


_KINDS: Final = {
    Action.NO_OP: StepKind.KEEP,
    Action.CREATE: StepKind.CREATE,
    Action.ADOPT: StepKind.CREATE,
    Action.READ: StepKind.READ,
    Action.UPDATE: StepKind.UPDATE,
    Action.DELETE: StepKind.DELETE,
    Action.FORGET: StepKind.KEEP,
}


class _Edges:
    """Collects which step of one plan waits for which."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.graph: dict[Node, set[Node]] = {}
        self.soft: defaultdict[Node, set[Node]] = defaultdict(set)
        self.by_name: dict[Node, set[Node]] = {}
        self._numbers: dict[tuple[str, StepKind], int] = {}
        self._deleting: set[str] = set()
        self._updates: dict[Identity, int] = {}
        self._deletions: dict[Identity, tuple[int, Change]] = {}
        self._leaving: dict[Name, list[int]] = {}
        self._leaving_names: dict[str, set[Name]] = {}
        self._coming: dict[Name, str] = {}
        self._carriers: dict[Identity, list[int]] = {}
        # An object whose deletion is blocked by others is deleted after the owners of these others.
        self._blocking: Mapping[str, list[str]] = {
            name: [
                owner.type_name
                for blocker, _ in blockers_of(definition)
                for owner in owners_above(blocker)[-1:]
            ]
            for name, definition in RESOURCES.items()
        }
        # Nothing waits for the steps up of any other resource.
        named = {name for step in steps for name in step.change.dependencies}
        for number, step in enumerate(steps):
            self._numbers[step.change.address, step.kind] = number
            if step.kind is StepKind.UPDATE:
                self._updates[object_of(step)] = number
            self.graph[number] = set()
            own = config_address(step.change.address)
            if step.is_up and own in named:
                self.graph.setdefault((own, "up"), set()).add(number)
            name = name_of(step.console, step.change.type_name, step.change.after)
            if step.kind is StepKind.CREATE and name is not None:
                self._coming[name] = own
            if not step.is_up:
                self._deleting.add(own)
                self._deletions[object_of(step)] = number, step.change
                name = name_of(step.console, step.change.type_name, step.change.before)
                if name is not None:
                    self._leaving.setdefault(name, []).append(number)
                    self._leaving_names.setdefault(own, set()).add(name)
                for carried in _carried_objects(step):
                    self._carriers.setdefault(carried, []).append(number)
                if step.change.deletes_top_owner:
                    owners = _owners_down(step.change.type_name, step.console)
                    self.graph.setdefault(owners, set()).add(number)

    def graphs(self) -> Iterator[dict[Node, set[Node]]]:
        """Yield the graph of all edges, then graphs without some soft edges that are in cycles."""
        graph = _union(self.graph, self.soft, self.by_name)
        yield graph
        # Edges by name are dropped first. Without its own soft edges, an agent might move after the
        # deletion of its old host, which archives the agent.
        by_name = _outside_of_cycles(self.by_name, graph)
        graph = _union(self.graph, self.soft, by_name)
        yield graph
        yield _union(self.graph, _outside_of_cycles(self.soft, graph), by_name)

    def add_up(self, step: Step) -> None:
        """Let a step wait for its dependencies, and a creation for deletions.

        It waits for the deletions of its own instance, and of its name or id: a console may confuse
        the objects.
        """
        change, number = step.change, step.number
        for gate in ((dependency, "up") for dependency in change.dependencies):
            if gate in self.graph:
                self.graph[number].add(gate)
        if step.kind is not StepKind.CREATE or change.create_first:
            return
        own = self._numbers.get((change.address, StepKind.DELETE))
        if own is not None:
            self.graph[number].add(own)
        name = name_of(step.console, change.type_name, change.after)
        deletions = self._leaving.get(name, []) if name else []
        # A known id is that of an adopted object, or one that the console does not make up.
        same_id = step.console, change.type_name, (change.after or {}).get("id")
        if same_id in self._deletions:
            deletions = [*deletions, self._deletions[same_id][0]]
        for deletion in deletions:
            self.by_name.setdefault(number, set()).add(deletion)

    def add_down(self, step: Step) -> None:
        """Let a deletion follow its owner's, or let the dependencies wait for it."""
        change, number = step.change, step.number
        if change.deleted_with:
            owner = self._numbers.get((change.deleted_with, StepKind.DELETE))
            if owner is not None:
                self.graph[number].add(owner)
            return
        own = config_address(change.address)
        for dependency in change.dependencies:
            if dependency in self._deleting and dependency != own:
                gate = (dependency, "down-begins")
                self.graph.setdefault(gate, set()).add(number)
        self.graph.setdefault((own, "down-begins"), set())
        self.graph[number].add((own, "down-begins"))
        if change.create_first:
            self.graph[number].add(self._numbers[change.address, StepKind.CREATE])

    def add_soft(self, step: Step) -> None:
        """Let a deletion wait for the updates that end references to it."""
        change, number = step.change, step.number
        if step.kind is StepKind.DELETE and not change.deleted_with:
            # The deletion also waits for the deletions of instances that carry its object, as a
            # literal id makes no dependency.
            if carriers := self._carriers.get(object_of(step)):
                self.soft[number].update(carriers)
            # These edges are soft, as its own declaration may refer to one of these owners.
            for name in self._blocking[change.type_name]:
                if (gate := _owners_down(name, step.console)) in self.graph:
                    self.soft[number].add(gate)
            definition = RESOURCES[change.type_name]
            owner = owner_of(definition)
            if owner is not None:
                owner_id = (change.before or {}).get(definition.owner, "")
                update = self._updates.get((step.console, owner.type_name, owner_id))
                if update is not None:
                    # The deletion changes the owner, so the owner's update comes after it.
                    self.soft[update].add(number)
        if step.kind is not StepKind.UPDATE:
            return
        for dependency in change.former_dependencies:
            if dependency in self._deleting and not self._is_succeeded(dependency, change):
                self.soft[dependency, "down-begins"].add(number)
        for dropped in dropped_objects(step):
            deletion = self._deletions.get(dropped)
            if deletion is None:
                continue
            deleted, own = deletion[1], config_address(deletion[1].address)
            replaced = deleted.action is Action.REPLACE and not deleted.create_first
            comes_first = replaced and own in change.dependencies
            if not comes_first and not self._is_succeeded(own, change):
                self.soft[deletion[0]].add(number)

    def _is_succeeded(self, deleted: str, update: Change) -> bool:
        """Return whether an update waits for a creation that follows a deletion by its name."""
        names = self._leaving_names.get(deleted, set())
        coming = {self._coming[name] for name in names if name in self._coming}
        # An owned object, which the deletion would take along, moves before it all the same.
        return not RESOURCES[update.type_name].owner and not coming.isdisjoint(update.dependencies)


def _owners_down(type_name: str, console: str) -> Node:
    """Return the gate of all deletions of owners of one type on one console."""
    return type_name, f"owners down {console}"


def object_of(step: Step) -> Identity:
    """Return the object that a deletion deletes, or an update updates."""
    change = step.change
    return step.console, change.type_name, (change.before or {}).get("id", "")


def _carried_objects(step: Step) -> Iterator[Identity]:
    change = step.change
    for attribute in () if change.deleted_with else RESOURCES[change.type_name].references:
        carried = (change.before or {}).get(attribute.name)
        if attribute.blocks_deletion and isinstance(carried, str):
            yield step.console, referred_to(attribute).type_name, carried


def dropped_objects(step: Step) -> Iterator[Identity]:
    """Yield each object that an update stops referring to."""
    change = step.change
    before, after = change.before or {}, change.after or {}
    for attribute in RESOURCES[change.type_name].references:
        # By value: after an import, or with a literal id, state may lack the dependency.
        old, new = before.get(attribute.name), after.get(attribute.name)
        remaining = new if isinstance(new, list) else [new]
        for object_id in old if isinstance(old, list) else [old]:
            if object_id is not None and object_id not in remaining:
                yield step.console, referred_to(attribute).type_name, object_id


def _union(*graphs: Mapping[Node, set[Node]]) -> dict[Node, set[Node]]:
    """Return the edges of several graphs."""
    union: defaultdict[Node, set[Node]] = defaultdict(set)
    for graph in graphs:
        for node, waits in graph.items():
            union[node] |= waits
    return union


def _outside_of_cycles(
    soft: Mapping[Node, set[Node]], graph: Mapping[Node, set[Node]]
) -> dict[Node, set[Node]]:
    """Return the soft edges of a graph that cannot be part of a cycle."""
    followers: dict[Node, set[Node]] = {node: set() for node in graph}
    for node, waits in graph.items():
        for waited in waits:
            followers[waited].add(node)
    circling = _never_ready(graph) & _never_ready(followers)
    return {node: waits - circling if node in circling else waits for node, waits in soft.items()}


def _never_ready(graph: Mapping[Node, set[Node]]) -> set[Node]:
    sorter = TopologicalSorter(graph)
    with suppress(CycleError):  # It still gives the nodes that do not wait for a cycle.
        sorter.prepare()
    circling = set(graph)
    while ready := sorter.get_ready():
        circling.difference_update(ready)
        sorter.done(*ready)
    return circling
