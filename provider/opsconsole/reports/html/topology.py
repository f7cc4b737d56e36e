"""The graph behind a page: hosts, jump hosts, agents, plugins, specialties, and their edges.

Edges are found by the console's ids; where an id is known only after apply, by what the resource
depends on. No drawing here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from opsconsole.definition import Attribute
from opsconsole.reports.labels import parsed
from opsconsole.reports.styles import ELSEWHERE, SAME, Style
from opsconsole.reports.text import printable
from opsconsole.resources import AGENT, AGENT_PLUGIN, HOST, RESOURCES, SPECIALTY, referred_to
from opsconsole.values import Attributes, holds_unknown


class Column(IntEnum):
    """Where a node stands, from left to right; the last three share a place."""

    JUMP_HOST = 0
    HOST = 1
    AGENT = 2
    SPECIALTY = 3
    PLUGIN = 4
    OTHER = 5


_COLUMNS = {
    HOST.type_name: Column.HOST,
    AGENT.type_name: Column.AGENT,
    SPECIALTY.type_name: Column.SPECIALTY,
}


@dataclass(frozen=True, slots=True)
class GraphItem:
    """One resource, as far as the graph needs it."""

    stack: str
    address: str
    type_name: str
    id: str
    label: str
    style: Style
    anchor: str
    values: Attributes = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What distinguishes it in a graph."""
        return f"{self.stack}\0{self.address}"


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """One box of the graph, which may stand for several resources."""

    key: str
    column: Column
    title: str
    subtitle: str
    style: Style
    anchor: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two nodes, which may stand for several."""

    source: str
    target: str
    style: Style
    count: int = 1


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes by key, and the edges between them."""

    nodes: dict[str, TopologyNode]
    edges: tuple[Edge, ...]


def graph_of(items: Iterable[GraphItem]) -> Topology:
    """Return the graph of `items`; a referenced object that is not among them gets a faint node."""
    return _Tying(list(items)).graph()


@dataclass
class _Block:
    """The instances of one block; grouped once, as each of thousands is looked up."""

    items: list[GraphItem] = field(default_factory=list)
    by_key: defaultdict[str | int | None, list[GraphItem]] = field(
        default_factory=lambda: defaultdict(list)
    )
    depends_on: set[str] = field(default_factory=set)
    _taken: set[tuple[str, ...]] = field(default_factory=set)

    def take(self, item: GraphItem) -> None:
        self.items.append(item)
        self.by_key[parsed(item.address, item.type_name).key].append(item)
        if item.depends_on not in self._taken:
            self._taken.add(item.depends_on)
            self.depends_on.update(parsed(address).config for address in item.depends_on)


def neighbours(graph: Topology) -> Mapping[str, Sequence[str]]:
    """Return the keys of each node's neighbours."""
    near: defaultdict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    return near


class _Tying:
    """Collects the edges of one set of items."""

    def __init__(self, items: list[GraphItem]) -> None:
        self._items = items
        self._nodes: dict[str, TopologyNode] = {}
        self._edges: dict[tuple[str, str], Edge] = {}
        self._by_id = {(item.stack, item.type_name, item.id): item for item in items}
        # A stack may refer to what another one manages.
        self._anywhere = {(item.type_name, item.id): item for item in items if item.id}
        self._blocks: defaultdict[tuple[str, str], _Block] = defaultdict(_Block)
        for item in items:
            self._blocks[item.stack, parsed(item.address, item.type_name).config].take(item)

    def graph(self) -> Topology:
        jumps = {
            jump.key
            for item in self._items
            if item.type_name == HOST.type_name
            for jump in self._references(item, "jump_host_ids", HOST.type_name)
            if not isinstance(jump, str)
        }
        for item in self._items:
            if item.type_name == HOST.type_name:
                jump = item.key in jumps or item.values.get("is_jump_host") is True
                self._put(item, Column.JUMP_HOST if jump else Column.HOST)
            elif item.type_name in _COLUMNS:
                self._put(item, _COLUMNS[item.type_name])
            elif item.type_name != AGENT_PLUGIN.type_name and _referring(item):
                self._put(item, Column.OTHER)
        for item in self._items:
            self._tie(item)
        return Topology(self._nodes, tuple(self._edges.values()))

    def _tie(self, item: GraphItem) -> None:
        """Add the edges from an item to the objects that its definition refers to."""
        if item.type_name == AGENT_PLUGIN.type_name:
            self._attach(item)
            return
        for attribute in _referring(item):
            target = referred_to(attribute).type_name
            column = _COLUMNS.get(target, Column.OTHER)
            if item.type_name == target == HOST.type_name:
                column = Column.JUMP_HOST
            for other in self._references(item, attribute.name, target):
                found = self._node(target, other, column)
                if self._nodes[item.key].column < column:
                    self._edge(item.key, found, item.style)
                else:
                    self._edge(found, item.key, item.style)
        if item.type_name == AGENT.type_name:
            for plugin in _texts(item.values.get("plugin_ids")):
                self._edge(item.key, self._plugin(plugin, ""), item.style)

    def _attach(self, item: GraphItem) -> None:
        agent_id, _, plugin_id = item.id.partition("/")
        plugin_id = next(iter(_texts(item.values.get("plugin_id"))), plugin_id)
        if not plugin_id:
            return
        found = list(self._references(item, "agent_id", AGENT.type_name))
        if not found and agent_id:
            found = [self._find(item.stack, AGENT.type_name, agent_id)]
        name = item.values.get("name")
        target = self._plugin(plugin_id, name if isinstance(name, str) else "")
        for agent in found:
            source = self._node(AGENT.type_name, agent, Column.AGENT)
            self._edge(source, target, item.style)

    def _references(self, item: GraphItem, name: str, type_name: str) -> Iterator[GraphItem | str]:
        """Yield what attribute `name` refers to: items, or ids of what is not among them."""
        value = item.values.get(name)
        seen = []
        for text in _texts(value):
            seen.append(text)
            yield self._find(item.stack, type_name, text)
        if holds_unknown(value):
            yield from (other for other in self._depended(item, type_name) if other.id not in seen)

    def _depended(self, item: GraphItem, type_name: str) -> list[GraphItem]:
        """Return the items of a type that `item` depends on, those behind another left out.

        Dependencies name blocks, and those that are behind others too, as in state.
        """
        near: dict[str, _Block] = {}
        for address in (parsed(dependency).config for dependency in item.depends_on):
            block = self._blocks.get((item.stack, address))
            if block is not None and block.items[0].type_name == type_name:
                near[address] = block
        behind = {address for block in near.values() for address in block.depends_on}
        key = parsed(item.address, item.type_name).key
        chosen: list[GraphItem] = []
        for address, block in near.items():
            if address not in behind:
                alone = len(block.items) == 1
                chosen += block.items if alone else block.by_key.get(key, [])
        return chosen

    def _edge(self, source: str, target: str, style: Style) -> None:
        known = self._edges.get((source, target))
        if known is None or style.rank < known.style.rank:
            self._edges[source, target] = Edge(source, target, style)

    def _put(self, item: GraphItem, column: Column) -> None:
        address = printable(item.address)
        title = item.label or address
        self._nodes[item.key] = TopologyNode(
            item.key, column, title, address, item.style, item.anchor
        )

    def _find(self, stack: str, type_name: str, id: str) -> GraphItem | str:
        """Return the item of an id, of its own stack if that has one; or the id."""
        elsewhere = self._anywhere.get((type_name, id), id)
        return self._by_id.get((stack, type_name, id), elsewhere)

    def _node(self, type_name: str, found: GraphItem | str, column: Column) -> str:
        """Return the key of the node of what is referred to, by its item or by its id."""
        if isinstance(found, str):
            key, title = f"{type_name}\0{found}", printable(found)
        else:
            key, title = found.key, found.label
        if key not in self._nodes:
            self._nodes[key] = TopologyNode(key, column, title, ELSEWHERE.word, ELSEWHERE, "")
        return key

    def _plugin(self, plugin_id: str, name: str) -> str:
        key = f"plugin\0{plugin_id}"
        known = self._nodes.get(key)
        if known is None or (name and known.title == plugin_id):
            self._nodes[key] = TopologyNode(
                key, Column.PLUGIN, printable(name or plugin_id), printable(plugin_id), SAME, ""
            )
        return key


def _referring(item: GraphItem) -> Sequence[Attribute]:
    definition = RESOURCES.get(item.type_name)
    return definition.references if definition is not None else ()


def _texts(value: Any) -> list[str]:
    """Return the known texts in `value`, a text or a list of them."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str) and item]
