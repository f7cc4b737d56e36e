"""The graph of a page: hosts, what they carry and what they are reached by, and their ties.

Ties are found by the console's ids; where an id is known only after apply, by what the resource
depends on. In a crowded column boxes of one style become one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from opsconsole.reports.labels import natural, parsed
from opsconsole.reports.report import GraphItem
from opsconsole.reports.styles import ELSEWHERE, SAME, Style
from opsconsole.reports.text import printable
from opsconsole.resources import AGENT, AGENT_PLUGIN, HOST, RESOURCES, SPECIALTY, referred_to
from opsconsole.values import holds_unknown

ROOM: Final = 40
"""Boxes that one column may hold."""
_APART: Final = 24
"""Up to so many boxes of a crowded column that need attention stay on their own."""
WIDTH: Final = 208
HEIGHT: Final = 42
_STEP: Final = HEIGHT + 10
_ACROSS: Final = WIDTH + 76
_HEADER: Final = 40
_SIDE: Final = 24


class Column(IntEnum):
    """Where a box stands, from left to right; the last three share a place."""

    JUMP_HOSTS = 0
    HOSTS = 1
    AGENTS = 2
    SPECIALTIES = 3
    PLUGINS = 4
    OTHERS = 5


_COLUMNS: Final = {
    HOST.type_name: Column.HOSTS,
    AGENT.type_name: Column.AGENTS,
    SPECIALTY.type_name: Column.SPECIALTIES,
}


@dataclass(eq=False, slots=True)
class Box:
    """A resource, or `count` that are alike, in its place."""

    column: Column
    title: str
    subtitle: str
    style: Style
    anchor: str
    count: int = 1
    x: int = 0
    y: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class Tie:
    """A line between two boxes, or `count` of them."""

    source: Box
    target: Box
    style: Style
    count: int = 1

    @property
    def path(self) -> str:
        """The line in SVG's words: from the right side of one box to the left side of another."""
        y, to_y = self.source.y + HEIGHT // 2, self.target.y + HEIGHT // 2
        if self.source.x == self.target.x:
            x = self.source.x
            return f"M{x} {y}C{x - 24} {y} {x - 24} {to_y} {x} {to_y}"
        x, to_x = self.source.x + WIDTH, self.target.x
        bend = (to_x - x) // 2
        return f"M{x} {y}C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}"


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes and the ties between them; a header has its text and place."""

    boxes: list[Box]
    ties: list[Tie]
    headers: list[tuple[str, int, int]]
    width: int = 0
    height: int = 0


def draw(items: Iterable[GraphItem]) -> Graph | None:
    """Return the graph of `items` in place; None where nothing is tied to anything.

    A report that was read from JSON holds no references.
    """
    graph = graph_of(items)
    return lay_out(merge_alike(graph)) if graph.ties else None


def graph_of(items: Iterable[GraphItem]) -> Graph:
    """Return the graph of `items`, not in place yet."""
    builder = _Builder(list(items))
    return Graph(list(builder.boxes.values()), list(builder.ties.values()), [])


class _Builder:
    """Collects the boxes and ties of one set of items."""

    def __init__(self, items: list[GraphItem]) -> None:
        self.boxes: dict[str, Box] = {}
        self.ties: dict[tuple[int, int], Tie] = {}
        self._own = {(item.stack, item.type_name, item.id): item for item in items}
        # A stack may refer to what another one manages.
        self._anywhere = {(item.type_name, item.id): item for item in items if item.id}
        self._blocks: defaultdict[tuple[Any, ...], list[GraphItem]] = defaultdict(list)
        self._behind: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for item in items:
            address = parsed(item.address, item.type_name)
            block = (item.stack, address.config)
            self._blocks[block].append(item)
            self._blocks[*block, address.key].append(item)
            self._behind[block].update(parsed(other).config for other in item.depends_on)
        hosts = [item for item in items if item.type_name == HOST.type_name]
        jumps = {
            jump.key
            for item in hosts
            for jump in self._referred(item, "jump_host_ids", HOST.type_name)
            if isinstance(jump, GraphItem)
        }
        for item in items:
            column = _COLUMNS.get(item.type_name, Column.OTHERS)
            if item.key in jumps or item.values.get("is_jump_host") is True:
                column = Column.JUMP_HOSTS
            # An attachment is a tie.
            if item.type_name != AGENT_PLUGIN.type_name and (
                column < Column.OTHERS or _refers(item)
            ):
                subtitle = printable(item.address)
                title = item.label or subtitle
                self.boxes[item.key] = Box(column, title, subtitle, item.style, item.anchor)
        for item in items:
            if item.type_name == AGENT_PLUGIN.type_name:
                self._attach(item)
            else:
                self._tie_all(item)

    def _tie_all(self, item: GraphItem) -> None:
        """Add the ties from an item to the objects that its definition refers to."""
        for name, target in _refers(item):
            column = _COLUMNS.get(target, Column.OTHERS)
            if item.type_name == target == HOST.type_name:
                column = Column.JUMP_HOSTS
            for other in self._referred(item, name, target):
                box, referred = self.boxes[item.key], self._box(target, other, column)
                left, right = (box, referred) if box.column < column else (referred, box)
                self._tie(left, right, item.style)
        if item.type_name == AGENT.type_name:
            for plugin in _texts(item.values.get("plugin_ids")):
                self._tie(self.boxes[item.key], self._plugin(plugin, ""), item.style)

    def _attach(self, item: GraphItem) -> None:
        name = "".join(_texts(item.values.get("name")))
        for agent in self._referred(item, "agent_id", AGENT.type_name):
            for plugin in _texts(item.values.get("plugin_id")):
                box = self._box(AGENT.type_name, agent, Column.AGENTS)
                self._tie(box, self._plugin(plugin, name), item.style)

    def _referred(self, item: GraphItem, name: str, type_name: str) -> Iterator[GraphItem | str]:
        """Yield what attribute `name` refers to: items, or ids of what is not among them."""
        value = item.values.get(name)
        known = _texts(value)
        yield from (self._find(item.stack, type_name, text) for text in known)
        if holds_unknown(value):
            others = self._depended(item, type_name)
            yield from (other for other in others if other.id not in known)

    def _find(self, stack: str, type_name: str, id: str) -> GraphItem | str:
        """Return the item of an id, of its own stack if that has one; or the id."""
        elsewhere = self._anywhere.get((type_name, id), id)
        return self._own.get((stack, type_name, id), elsewhere)

    def _depended(self, item: GraphItem, type_name: str) -> Iterator[GraphItem]:
        """Yield the items of a type that `item` depends on, those behind another left out.

        Dependencies name blocks, and those that are behind others too, as in state.
        """
        configs = dict.fromkeys(parsed(address).config for address in item.depends_on)
        blocks = [
            (item.stack, config) for config in configs if (item.stack, config) in self._blocks
        ]
        near = [block for block in blocks if self._blocks[block][0].type_name == type_name]
        behind = {config for block in near for config in self._behind[block]}
        key = parsed(item.address, item.type_name).key
        for block in near:
            if block[1] not in behind:
                instances = self._blocks[block]
                yield from instances if len(instances) == 1 else self._blocks[*block, key]

    def _tie(self, source: Box, target: Box, style: Style) -> None:
        known = self.ties.get((id(source), id(target)))
        if known is None or style.rank < known.style.rank:
            self.ties[id(source), id(target)] = Tie(source, target, style)

    def _box(self, type_name: str, found: GraphItem | str, column: Column) -> Box:
        """Return the box of what is referred to, by its item or by its id."""
        if isinstance(found, GraphItem):
            return self.boxes[found.key]
        box = Box(column, printable(found), ELSEWHERE.word, ELSEWHERE, "")
        return self.boxes.setdefault(f"{type_name}\0{found}", box)

    def _plugin(self, plugin_id: str, name: str) -> Box:
        box = Box(Column.PLUGINS, printable(plugin_id), printable(plugin_id), SAME, "")
        box = self.boxes.setdefault(f"plugin\0{plugin_id}", box)
        box.title = printable(name) or box.title
        return box


def _refers(item: GraphItem) -> list[tuple[str, str]]:
    """Return the attributes of an item that refer to others, and the type of each."""
    definition = RESOURCES.get(item.type_name)
    found = definition.references if definition is not None else ()
    return [(attribute.name, referred_to(attribute).type_name) for attribute in found]


def _texts(value: Any) -> list[str]:
    """Return the known texts in `value`, a text or a list of them."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str) and item]


def merge_alike(graph: Graph) -> Graph:
    """Return `graph` with at most about `ROOM` boxes in each column."""
    columns: defaultdict[Column, list[Box]] = defaultdict(list)
    for box in graph.boxes:
        columns[box.column].append(box)
    merged: dict[int, Box] = {}
    for column, boxes in columns.items():
        loud = [box for box in boxes if not box.style.quiet]
        apart = boxes if len(boxes) <= ROOM else loud if len(loud) <= _APART else []
        merged |= {id(box): box for box in apart}
        styles: defaultdict[Style, list[Box]] = defaultdict(list)
        for box in boxes:
            if id(box) not in merged:
                styles[box.style].append(box)
        for style, group in styles.items():
            title, subtitle = (
                f"{len(group):,} {_title(column)}",
                f"{style.word}: {group[0].title} …",
            )
            anchor = f"s-{style.name}" if group[0].anchor else ""
            one = Box(column, title, subtitle, style, anchor, len(group))
            merged |= {id(box): one for box in group}
    ties: dict[tuple[int, int], Tie] = {}
    for tie in graph.ties:
        pair = merged[id(tie.source)], merged[id(tie.target)]
        known = ties.get((id(pair[0]), id(pair[1])), Tie(*pair, tie.style, 0))
        style = min(known.style, tie.style, key=lambda style: style.rank)
        ties[id(pair[0]), id(pair[1])] = Tie(*pair, style, known.count + tie.count)
    return Graph(list(dict.fromkeys(merged.values())), list(ties.values()), [])


def lay_out(graph: Graph) -> Graph:
    """Give each box its place: columns from left to right, each in the middle of the height."""
    near: defaultdict[int, list[Box]] = defaultdict(list)
    for tie in graph.ties:
        near[id(tie.source)].append(tie.target)
        near[id(tie.target)].append(tie.source)
    places: defaultdict[int, list[Box]] = defaultdict(list)
    for box in graph.boxes:
        places[min(box.column, Column.SPECIALTIES)].append(box)
    columns = [places[place] for place in sorted(places)]
    ranks: dict[int, float] = {}

    def order(box: Box) -> tuple[Any, ...]:
        # Beside its neighbours on the left, so that ties are short.
        known = [ranks[id(other)] for other in near[id(box)] if id(other) in ranks]
        return box.column, sum(known) / len(known) if known else 1.0, natural(box.title)

    for column in columns:
        column.sort(key=order)
        ranks |= {id(box): index / len(column) for index, box in enumerate(column)}
    heights = [
        len(column) * _STEP + len({box.column for box in column}) * _HEADER for column in columns
    ]
    for index, (column, height) in enumerate(zip(columns, heights, strict=True)):
        x, y = _SIDE + index * _ACROSS, (max(heights) - height) // 2
        for above, box in zip([None, *column], column, strict=False):
            if above is None or above.column is not box.column:
                y += _HEADER
                graph.headers.append((_title(box.column).capitalize(), x, y - 14))
            box.x, box.y = x, y
            y += _STEP
    for number, box in enumerate(graph.boxes):
        box.number = number
    width = 2 * _SIDE + (len(columns) - 1) * _ACROSS + WIDTH
    return Graph(graph.boxes, graph.ties, graph.headers, width, max(heights) + _SIDE)


def _title(column: Column) -> str:
    return column.name.replace("_", " ").lower()
