"""The graph behind a page: hosts, jump hosts, agents, plugins and specialties, and their ties.

Ties are found by the console's ids; where an id is known only after apply, by what the resource
depends on. No drawing here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import Any

from opsconsole.reports.addresses import parsed
from opsconsole.reports.html.tones import ELSEWHERE, SAME, Tone
from opsconsole.reports.literals import printable
from opsconsole.resources import AGENT, AGENT_PLUGIN, HOST, SPECIALTY
from opsconsole.values import Attributes, holds_unknown


class Column(IntEnum):
    """Where a node stands, from left to right; the last two share a place."""

    JUMP_HOST = 0
    HOST = 1
    AGENT = 2
    SPECIALTY = 3
    PLUGIN = 4


@dataclass(frozen=True, slots=True)
class Thing:
    """One resource, as far as the graph needs it."""

    stack: str
    address: str
    type_name: str
    id: str
    label: str
    tone: Tone
    anchor: str
    values: Attributes = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """One box of the graph, which may stand for several resources."""

    key: str
    column: Column
    title: str
    subtitle: str
    tone: Tone
    anchor: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Edge:
    """A tie between two nodes, which may stand for several."""

    source: str
    target: str
    tone: Tone
    count: int = 1


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by key, and the ties between them."""

    nodes: dict[str, Node]
    edges: tuple[Edge, ...]


def graph_of(things: Iterable[Thing]) -> Graph:
    """Tie `things` to each other; what they refer to and is not among them gets a faint node."""
    return _Tying(list(things)).graph()


@dataclass
class _Block:
    """The instances of one block; gathered once, as each of thousands may be asked for."""

    things: list[Thing] = field(default_factory=list)
    by_key: defaultdict[str | int | None, list[Thing]] = field(
        default_factory=lambda: defaultdict(list)
    )
    depends_on: set[str] = field(default_factory=set)
    _taken: set[tuple[str, ...]] = field(default_factory=set)

    def take(self, thing: Thing) -> None:
        self.things.append(thing)
        self.by_key[parsed(thing.address, thing.type_name).key].append(thing)
        if thing.depends_on not in self._taken:
            self._taken.add(thing.depends_on)
            self.depends_on.update(_block(address, "") for address in thing.depends_on)


class _Tying:
    """The state of tying one set of things together."""

    def __init__(self, things: list[Thing]) -> None:
        self._things = things
        self._nodes: dict[str, Node] = {}
        self._edges: dict[tuple[str, str], Edge] = {}
        self._by_id = {(thing.stack, thing.type_name, thing.id): thing for thing in things}
        self._blocks: defaultdict[tuple[str, str], _Block] = defaultdict(_Block)
        for thing in things:
            self._blocks[thing.stack, _block(thing.address, thing.type_name)].take(thing)

    def graph(self) -> Graph:
        jumps = {self._key(HOST.type_name, jump) for jump in self._jump_hosts()}
        for thing in self._things:
            if thing.type_name == HOST.type_name:
                key = self._key(thing.type_name, thing)
                jump = key in jumps or thing.values.get("is_jump_host") is True
                self._put(thing, Column.JUMP_HOST if jump else Column.HOST)
            elif thing.type_name in (AGENT.type_name, SPECIALTY.type_name):
                self._put(
                    thing,
                    Column.AGENT if thing.type_name == AGENT.type_name else Column.SPECIALTY,
                )
        for thing in self._things:
            self._tie(thing)
        return Graph(self._nodes, tuple(self._edges.values()))

    def _jump_hosts(self) -> Iterator[Thing | str]:
        for thing in self._things:
            if thing.type_name == HOST.type_name:
                yield from self._references(thing, "jump_host_ids", HOST.type_name)

    def _tie(self, thing: Thing) -> None:
        if thing.type_name == HOST.type_name:
            for jump in self._references(thing, "jump_host_ids", HOST.type_name):
                self._join(self._node(thing.stack, HOST.type_name, jump, Column.JUMP_HOST), thing)
        elif thing.type_name == AGENT.type_name:
            own = self._key(AGENT.type_name, thing)
            for host in self._references(thing, "host_id", HOST.type_name):
                self._join(self._node(thing.stack, HOST.type_name, host, Column.HOST), thing)
            for other in self._references(thing, "specialty_id", SPECIALTY.type_name):
                target = self._node(thing.stack, SPECIALTY.type_name, other, Column.SPECIALTY)
                self._edge(own, target, thing.tone)
            for plugin in _texts(thing.values.get("plugin_ids")):
                self._edge(own, self._plugin(thing, plugin, ""), thing.tone)
        elif thing.type_name == AGENT_PLUGIN.type_name:
            self._attach(thing)

    def _attach(self, thing: Thing) -> None:
        agent_id, _, plugin_id = thing.id.partition("/")
        plugin_id = next(iter(_texts(thing.values.get("plugin_id"))), plugin_id)
        if not plugin_id:
            return
        found = list(self._references(thing, "agent_id", AGENT.type_name))
        if not found and agent_id:
            found = [self._by_id.get((thing.stack, AGENT.type_name, agent_id), agent_id)]
        name = thing.values.get("name")
        target = self._plugin(thing, plugin_id, name if isinstance(name, str) else "")
        for agent in found:
            source = self._node(thing.stack, AGENT.type_name, agent, Column.AGENT)
            self._edge(source, target, thing.tone)

    def _references(self, thing: Thing, name: str, type_name: str) -> Iterator[Thing | str]:
        """Yield what attribute `name` refers to: things, or ids of what is not among them."""
        value = thing.values.get(name)
        seen = []
        for text in _texts(value):
            seen.append(text)
            yield self._by_id.get((thing.stack, type_name, text), text)
        if holds_unknown(value):
            yield from (other for other in self._depended(thing, type_name) if other.id not in seen)

    def _depended(self, thing: Thing, type_name: str) -> list[Thing]:
        """Return the things of a type that `thing` depends on, those behind another left out.

        Dependencies name blocks, and those that are behind others too, as in state.
        """
        found = {
            address: self._blocks.get((thing.stack, address))
            for address in map(partial(_block, type_name=""), thing.depends_on)
        }
        near = {
            address: block
            for address, block in found.items()
            if block is not None and block.things[0].type_name == type_name
        }
        behind = {address for block in near.values() for address in block.depends_on}
        key = parsed(thing.address, thing.type_name).key
        chosen: list[Thing] = []
        for address, block in near.items():
            if address not in behind:
                alone = len(block.things) == 1
                chosen += block.things if alone else block.by_key.get(key, [])
        return chosen

    def _join(self, source: str, thing: Thing) -> None:
        self._edge(source, self._key(thing.type_name, thing), thing.tone)

    def _edge(self, source: str, target: str, tone: Tone) -> None:
        known = self._edges.get((source, target))
        if known is None or tone.rank < known.tone.rank:
            self._edges[source, target] = Edge(source, target, tone)

    def _put(self, thing: Thing, column: Column) -> None:
        key = self._key(thing.type_name, thing)
        address = printable(thing.address)
        title = thing.label or address
        self._nodes[key] = Node(key, column, title, address, thing.tone, thing.anchor)

    def _node(self, stack: str, type_name: str, found: Thing | str, column: Column) -> str:
        key = self._key(type_name, found, stack)
        if key not in self._nodes:
            title = printable(found) if isinstance(found, str) else found.label
            self._nodes[key] = Node(key, column, title, ELSEWHERE.word, ELSEWHERE, "")
        return key

    def _plugin(self, thing: Thing, plugin_id: str, name: str) -> str:
        key = f"plugin\0{plugin_id}"
        known = self._nodes.get(key)
        if known is None or (name and known.title == plugin_id):
            self._nodes[key] = Node(
                key, Column.PLUGIN, printable(name or plugin_id), printable(plugin_id), SAME, ""
            )
        return key

    def _key(self, type_name: str, found: Thing | str, stack: str = "") -> str:
        if isinstance(found, str):
            return f"{stack}\0{type_name}\0{found}"
        return f"{found.stack}\0{found.address}"


def _block(address: str, type_name: str) -> str:
    """Return the address of the block that declares an instance."""
    return parsed(address, type_name).config


def _texts(value: Any) -> list[str]:
    """Return the known texts in `value`, a text or a list of them."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str) and item]
