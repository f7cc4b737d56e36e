"""The picture of a graph: alike nodes of a crowded column made one, then coordinates.

What changes stays on its own as long as there is room for it. Columns go from left to right, edges
are short, no two boxes overlap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from opsconsole.reports.html.topology import (
    Column,
    Edge,
    GraphItem,
    Topology,
    TopologyNode,
    graph_of,
    neighbours,
)
from opsconsole.reports.labels import natural

ROOM: Final = 40
"""Nodes that one column may hold."""
_ALONE: Final = 24
"""Up to so many nodes of a crowded column that change stay on their own."""
WIDTH: Final = 208
HEIGHT: Final = 42
_GAP: Final = 10
_BETWEEN: Final = 76
_TOP: Final = 44
_SIDE: Final = 24
_HEADER: Final = 40
_LETTERS: Final = 20
_SUBTITLE: Final = 30
_PREFIX: Final = "opsconsole_"
TITLES: Final = {
    Column.JUMP_HOST: "Jump hosts",
    Column.HOST: "Hosts",
    Column.AGENT: "Agents",
    Column.SPECIALTY: "Specialties",
    Column.PLUGIN: "Plugins",
    Column.OTHER: "Others",
}


@dataclass(frozen=True, slots=True)
class Box:
    """A node in its place; `title` and `subtitle` are cut to fit."""

    node: TopologyNode
    number: int
    x: int
    y: int
    title: str
    subtitle: str


@dataclass(frozen=True, slots=True)
class Curve:
    """An edge as a path, between the boxes with these numbers."""

    edge: Edge
    source: int
    target: int
    path: str
    width: float


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that is drawn, and the size of the canvas; a header has its text and place."""

    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    headers: tuple[tuple[str, int, int], ...]
    width: int
    height: int


def picture_of(items: Iterable[GraphItem]) -> Picture | None:
    """Return the graph of `items` as it is drawn; None where nothing is tied to anything.

    A report that was read from JSON holds no references.
    """
    graph = graph_of(items)
    return lay_out(collapse(graph)) if graph.edges else None


def collapse(graph: Topology) -> Topology:
    """Return `graph` with at most about `ROOM` nodes in each column."""
    merged: dict[str, str] = {}
    nodes: dict[str, TopologyNode] = {}
    near = neighbours(graph)
    for column in (
        Column.JUMP_HOST,
        Column.SPECIALTY,
        Column.PLUGIN,
        Column.OTHER,
        Column.HOST,
        Column.AGENT,
    ):
        members = [node for node in graph.nodes.values() if node.column is column]
        for group in _groups(members, near, merged):
            one = _merged(group)
            merged |= {node.key: one.key for node in group}
            nodes[one.key] = one
    return Topology(nodes, _edges(graph, merged))


def _groups(
    members: list[TopologyNode], near: Mapping[str, Sequence[str]], merged: Mapping[str, str]
) -> list[list[TopologyNode]]:
    """Return the nodes of a column in groups: alike are those that share style and edges.

    Where those are still too many, alike are those that share their style.
    """
    if len(members) <= ROOM:
        return [[node] for node in members]
    loud = [node for node in members if not node.style.quiet]
    alone = [[node] for node in loud] if len(loud) <= _ALONE else []
    tied: defaultdict[object, list[TopologyNode]] = defaultdict(list)
    styled: defaultdict[object, list[TopologyNode]] = defaultdict(list)
    for node in members:
        if not alone or node.style.quiet:
            ties = frozenset(merged[key] for key in near.get(node.key, ()) if key in merged)
            tied[node.style, ties].append(node)
            styled[node.style].append(node)
    groups = tied if len(tied) + len(alone) <= ROOM else styled
    return [*alone, *groups.values()]


def _merged(group: Sequence[TopologyNode]) -> TopologyNode:
    first = group[0]
    if len(group) == 1:
        return first
    return TopologyNode(
        key=f"group\0{first.key}",
        column=first.column,
        title=f"{len(group):,} {TITLES[first.column].lower()}",
        subtitle=f"{first.style.word}: {first.title} …",
        style=first.style,
        anchor=f"s-{first.style.name}",
        count=len(group),
    )


def _edges(graph: Topology, merged: Mapping[str, str]) -> tuple[Edge, ...]:
    found: dict[tuple[str, str], Edge] = {}
    for edge in graph.edges:
        pair = merged[edge.source], merged[edge.target]
        known = found.get(pair, Edge(*pair, edge.style, 0))
        style = min(known.style, edge.style, key=lambda style: style.rank)
        found[pair] = Edge(*pair, style, known.count + edge.count)
    return tuple(found.values())


def lay_out(graph: Topology) -> Picture | None:
    """Place the nodes of `graph`; None where there is nothing to show."""
    if not graph.nodes:
        return None
    near = neighbours(graph)
    stacks = _stacks(graph, near)
    places: dict[str, float] = {}
    # The fullest column is placed first, then the others outward from it.
    fullest = max(stacks, key=lambda index: len(stacks[index]))
    for index in sorted(stacks, key=lambda index: (abs(index - fullest), index)):
        _place(stacks[index], near, places)
    lowest = min(places.values())
    tops = {key: round(top - lowest) + _TOP for key, top in places.items()}
    columns = sorted(index for index, stack in stacks.items() if stack)
    xs = {index: _SIDE + at * (WIDTH + _BETWEEN) for at, index in enumerate(columns)}
    boxes = _boxes(stacks, tops, xs)
    headers = [
        (TITLES[node.column], xs[index], tops[node.key] - 14)
        for index, stack in stacks.items()
        for above, node in zip([None, *stack], stack, strict=False)
        if above is None or above.column is not node.column
    ]
    return Picture(
        boxes=tuple(boxes.values()),
        curves=tuple(_curve(edge, boxes) for edge in graph.edges),
        headers=tuple(headers),
        width=2 * _SIDE + len(columns) * (WIDTH + _BETWEEN) - _BETWEEN,
        height=max(tops.values()) + HEIGHT + _SIDE,
    )


def _stacks(graph: Topology, near: Mapping[str, Sequence[str]]) -> dict[int, list[TopologyNode]]:
    """Return the nodes by visual column, each in the order of its neighbours on its left.

    Specialties, plugins and others share the last column.
    """
    stacks: dict[int, list[TopologyNode]] = {index: [] for index in range(4)}
    for node in graph.nodes.values():
        stacks[min(node.column, 3)].append(node)
    ranks: dict[str, int] = {}
    for stack in stacks.values():
        means: dict[str, float] = {}
        for node in stack:
            known = [ranks[key] for key in near.get(node.key, ()) if key in ranks]
            means[node.key] = sum(known) / len(known) if known else len(ranks)
        stack.sort(key=lambda node: (node.column, means[node.key], natural(node.title)))
        ranks |= {node.key: len(ranks) + index for index, node in enumerate(stack)}
    return stacks


def _place(
    stack: list[TopologyNode], near: Mapping[str, Sequence[str]], places: dict[str, float]
) -> None:
    """Give each node of a column the mean height of its placed neighbours, then push apart."""
    wished: dict[str, float] = {}
    for index, node in enumerate(stack):
        known = [places[key] for key in near.get(node.key, ()) if key in places]
        natural_place = float(index * (HEIGHT + _GAP))
        wished[node.key] = sum(known) / len(known) if known else natural_place
    stack.sort(key=lambda node: (node.column, wished[node.key]))
    tops: list[float] = []
    for index, node in enumerate(stack):
        step = HEIGHT + _GAP
        if index and node.column is not stack[index - 1].column:
            step += _HEADER
        tops.append(max(wished[node.key], tops[-1] + step) if tops else wished[node.key])
    pushed = [top - wished[node.key] for node, top in zip(stack, tops, strict=True)]
    # How far the column was pushed down on the average: the column moves up by that much, so that
    # it is centred again.
    shift = sum(pushed) / max(len(pushed), 1)
    for node, top in zip(stack, tops, strict=True):
        places[node.key] = top - shift


def _boxes(
    stacks: Mapping[int, Sequence[TopologyNode]],
    tops: Mapping[str, int],
    xs: Mapping[int, int],
) -> dict[str, Box]:
    found: dict[str, Box] = {}
    for index in sorted(xs):
        for node in stacks[index]:
            found[node.key] = Box(
                node,
                len(found),
                xs[index],
                tops[node.key],
                _cut(node.title, _LETTERS if node.style.quiet else _LETTERS - 2),
                _cut(node.subtitle.replace(_PREFIX, ""), _SUBTITLE),
            )
    return found


def _curve(edge: Edge, boxes: Mapping[str, Box]) -> Curve:
    source, target = boxes[edge.source], boxes[edge.target]
    y, to_y = source.y + HEIGHT // 2, target.y + HEIGHT // 2
    if source.x == target.x:
        x = source.x
        path = f"M{x} {y}C{x - 24} {y} {x - 24} {to_y} {x} {to_y}"
    else:
        x, to_x = source.x + WIDTH, target.x
        bend = (to_x - x) // 2
        path = f"M{x} {y}C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}"
    return Curve(edge, source.number, target.number, path, min(1.4 + edge.count**0.5 / 4, 5.0))


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"
