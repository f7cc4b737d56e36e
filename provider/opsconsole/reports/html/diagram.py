"""The diagram of a page: hosts, their agents and related objects, and the ties between them.

Ties follow from the console's ids, or from the dependencies of a resource if an id is known only
after apply. In a crowded column, boxes of the same style are merged.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from opsconsole.reports.plan_parts import parse_address
from opsconsole.reports.view import ELSEWHERE, SAME, GraphItem, Style
from opsconsole.resources import AGENT, AGENT_PLUGIN, HOST, RESOURCES, SPECIALTY, referred_to
from opsconsole.text import natural_order, printable
from opsconsole.values import holds_unknown

ROOM: Final = 40
"""Boxes that one column may hold."""
_APART: Final = 24
"""Up to this number of boxes that need attention stay separate in a crowded column."""
WIDTH: Final = 208
HEIGHT: Final = 42
_STEP: Final = HEIGHT + 10
_ACROSS: Final = WIDTH + 76
_HEADER: Final = 40
_SIDE: Final = 24


class Column(IntEnum):
    """The column of a box, from left to right; the last three share a place."""

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


# Two boxes may look alike and stand for different resources, so identity tells them apart.
@dataclass(eq=False, slots=True)
class Box:
    """A resource, or `count` similar resources, with its position."""

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


@dataclass(slots=True)
class Diagram:
    """Boxes and the ties between them; a header has its text and place."""

    boxes: list[Box]
    ties: list[Tie]
    headers: list[tuple[str, int, int]] = field(default_factory=list)
    width: int = 0
    height: int = 0


def draw(items: Iterable[GraphItem]) -> Diagram | None:
    """Return the diagram of `items` with positions, or None if there are no ties."""
    diagram = diagram_of(items)
    # A report that was read from JSON has no references, so it has no ties.
    return lay_out(merge_alike(diagram)) if diagram.ties else None


def diagram_of(items: Iterable[GraphItem]) -> Diagram:
    """Return the diagram of `items`, still without positions."""
    builder = _Builder(list(items))
    return Diagram(list(builder.boxes.values()), list(builder.ties.values()))


class _Builder:
    def __init__(self, items: list[GraphItem]) -> None:
        self.boxes: dict[str, Box] = {}
        self.ties: dict[tuple[int, int], Tie] = {}
        self._items: dict[tuple[str, ...], GraphItem] = {}
        self._blocks: defaultdict[tuple[Any, ...], list[GraphItem]] = defaultdict(list)
        self._behind: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for item in items:
            self._items[item.stack, item.type_name, item.id] = item
            self._items[item.type_name, item.id] = item
            address = parse_address(item.address, item.type_name)
            block = (item.stack, address.config)
            self._blocks[block].append(item)
            self._blocks[*block, address.key].append(item)
            self._behind[block].update(parse_address(other).config for other in item.dependencies)
        hosts = [item for item in items if item.type_name == HOST.type_name]
        jumps = {
            jump.key
            for item in hosts
            for jump in self._referred_objects(item, "jump_host_ids", HOST.type_name)
            if isinstance(jump, GraphItem)
        }
        for item in items:
            column = _COLUMNS.get(item.type_name, Column.OTHERS)
            if item.key in jumps or item.values.get("is_jump_host") is True:
                column = Column.JUMP_HOSTS
            is_tie = item.type_name == AGENT_PLUGIN.type_name
            if not is_tie and (column < Column.OTHERS or _references_of(item)):
                subtitle = printable(item.address)
                title = item.label or subtitle
                self.boxes[item.key] = Box(column, title, subtitle, item.style, item.anchor)
        for item in items:
            self._tie_all(item)

    def _tie_all(self, item: GraphItem) -> None:
        """Add the ties from an item to the objects that it refers to; an attachment is a tie."""
        own = self.boxes.get(item.key)
        for name, target in _references_of(item):
            column = _COLUMNS.get(target, Column.OTHERS)
            if item.type_name == target == HOST.type_name:
                column = Column.JUMP_HOSTS
            for other in self._referred_objects(item, name, target):
                box = self._find_box(target, other, column)
                if own is None:
                    self._tie_plugins(box, item, "plugin_id", "name")
                else:
                    self._tie(*((own, box) if own.column < column else (box, own)), item.style)
        if own is not None:
            self._tie_plugins(own, item, "plugin_ids", "")

    def _tie_plugins(self, agent: Box, item: GraphItem, name: str, titled_by: str) -> None:
        title = "".join(_texts(item.values.get(titled_by)))
        for plugin in _texts(item.values.get(name)):
            box = Box(Column.PLUGINS, printable(plugin), printable(plugin), SAME, "")
            box = self.boxes.setdefault(f"plugin\0{plugin}", box)
            box.title = printable(title) or box.title
            self._tie(agent, box, item.style)

    def _referred_objects(
        self, item: GraphItem, name: str, type_name: str
    ) -> Iterator[GraphItem | str]:
        """Yield the objects that attribute `name` refers to: items, or ids of others."""
        value = item.values.get(name)
        known = _texts(value)
        for id in known:
            # A stack may refer to an object of another stack. Its own objects come first.
            elsewhere = self._items.get((type_name, id), id)
            yield self._items.get((item.stack, type_name, id), elsewhere)
        if holds_unknown(value):
            others = self._resolve_by_dependencies(item, type_name)
            yield from (other for other in others if other.id not in known)

    def _resolve_by_dependencies(self, item: GraphItem, type_name: str) -> Iterator[GraphItem]:
        """Yield the items of a type on which `item` depends directly."""
        configs = dict.fromkeys(parse_address(address).config for address in item.dependencies)
        near = [
            block
            for config in configs
            if (block := (item.stack, config)) in self._blocks
            and self._blocks[block][0].type_name == type_name
        ]
        # As in state, dependencies include indirect ones, which follow from a nearer dependency.
        behind = {config for block in near for config in self._behind[block]}
        key = parse_address(item.address, item.type_name).key
        for block in near:
            if block[1] not in behind:
                instances = self._blocks[block]
                yield from instances if len(instances) == 1 else self._blocks[*block, key]

    def _tie(self, source: Box, target: Box, style: Style) -> None:
        known = self.ties.get((id(source), id(target)))
        if known is None or style.rank < known.style.rank:
            self.ties[id(source), id(target)] = Tie(source, target, style)

    def _find_box(self, type_name: str, other: GraphItem | str, column: Column) -> Box:
        if isinstance(other, GraphItem):
            return self.boxes[other.key]
        box = Box(column, printable(other), ELSEWHERE.word, ELSEWHERE, "")
        return self.boxes.setdefault(f"{type_name}\0{other}", box)


def _references_of(item: GraphItem) -> list[tuple[str, str]]:
    """Return the attributes of an item that refer to others, and the type of each."""
    definition = RESOURCES.get(item.type_name)
    references = definition.references if definition is not None else ()
    return [(attribute.name, referred_to(attribute).type_name) for attribute in references]


def _texts(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str) and item]


def merge_alike(diagram: Diagram) -> Diagram:
    """Merge boxes of one style until each column has about `ROOM` boxes."""
    groups: defaultdict[tuple[Column, Style], list[Box]] = defaultdict(list)
    for box in diagram.boxes:
        groups[box.column, box.style].append(box)
    sizes = Counter(box.column for box in diagram.boxes)
    loud = Counter(box.column for box in diagram.boxes if not box.style.is_quiet)
    merged: dict[int, Box] = {}
    for (column, style), boxes in groups.items():
        stay = (
            len(boxes) == 1
            or sizes[column] <= ROOM
            or (not style.is_quiet and loud[column] <= _APART)
        )
        title, subtitle = f"{len(boxes):,} {_title(column)}", f"{style.word}: {boxes[0].title} …"
        anchor = f"s-{style.css_class}" if boxes[0].anchor else ""
        one = Box(column, title, subtitle, style, anchor, len(boxes))
        merged |= {id(box): box if stay else one for box in boxes}
    ties: dict[tuple[int, int], Tie] = {}
    for tie in diagram.ties:
        pair = merged[id(tie.source)], merged[id(tie.target)]
        known = ties.get((id(pair[0]), id(pair[1])), Tie(*pair, tie.style, 0))
        style = min(known.style, tie.style, key=lambda style: style.rank)
        ties[id(pair[0]), id(pair[1])] = Tie(*pair, style, known.count + tie.count)
    boxes = sorted(dict.fromkeys(merged.values()), key=lambda box: box.column)
    return Diagram(boxes, list(ties.values()))


def lay_out(diagram: Diagram) -> Diagram:
    """Position each box: columns from left to right, each centred vertically."""
    near: defaultdict[int, list[Box]] = defaultdict(list)
    for tie in diagram.ties:
        near[id(tie.source)].append(tie.target)
        near[id(tie.target)].append(tie.source)
    places: defaultdict[int, list[Box]] = defaultdict(list)
    for box in diagram.boxes:
        places[min(box.column, Column.SPECIALTIES)].append(box)
    columns = [places[place] for place in sorted(places)]
    ranks: dict[int, float] = {}

    def order(box: Box) -> tuple[Any, ...]:
        # A box is placed beside its neighbours on the left, so that ties are short.
        known = [ranks[id(other)] for other in near[id(box)] if id(other) in ranks]
        return box.column, sum(known) / len(known) if known else 1.0, natural_order(box.title)

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
                diagram.headers.append((_title(box.column).capitalize(), x, y - 14))
            box.x, box.y = x, y
            y += _STEP
    for number, box in enumerate(diagram.boxes):
        box.number = number
    width = 2 * _SIDE + (len(columns) - 1) * _ACROSS + WIDTH
    return Diagram(diagram.boxes, diagram.ties, diagram.headers, width, max(heights) + _SIDE)


def _title(column: Column) -> str:
    return column.name.replace("_", " ").lower()
