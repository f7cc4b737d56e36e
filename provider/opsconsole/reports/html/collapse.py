"""Makes a graph small enough to read: alike nodes of a crowded column become one.

What changes stays on its own as long as there is room for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Final

from opsconsole.reports.html.styles import Style
from opsconsole.reports.html.topology import Column, Edge, Topology, TopologyNode

ROOM: Final = 40
"""Nodes that one column may hold."""
_ALONE: Final = 24
_NOUNS = {
    Column.JUMP_HOST: "jump hosts",
    Column.HOST: "hosts",
    Column.AGENT: "agents",
    Column.SPECIALTY: "specialties",
    Column.PLUGIN: "plugins",
    Column.OTHER: "others",
}
Signature = Callable[[TopologyNode], Hashable]


def collapse(graph: Topology) -> Topology:
    """Return `graph` with at most about `ROOM` nodes in each column."""
    merged: dict[str, str] = {}
    nodes: dict[str, TopologyNode] = {}
    left, right = _neighbours(graph)
    for column in (
        Column.JUMP_HOST,
        Column.SPECIALTY,
        Column.PLUGIN,
        Column.OTHER,
        Column.HOST,
        Column.AGENT,
    ):
        members = [node for node in graph.nodes.values() if node.column is column]

        ties = _ties(left, right, merged)
        for group in _shrunk(members, [ties, _style], ROOM):
            for key in group.members:
                merged[key] = group.node.key
            nodes[group.node.key] = group.node
    return Topology(nodes, _edges(graph, merged))


class _Group:
    """A node and the keys of what it stands for."""

    def __init__(self, node: TopologyNode, members: Sequence[str]) -> None:
        self.node = node
        self.members = members


def _style(node: TopologyNode) -> Hashable:
    return node.style


def _ties(
    left: dict[str, set[str]], right: dict[str, set[str]], merged: dict[str, str]
) -> Signature:
    """Return a signature under which nodes are alike that share style and ties."""

    def signature(node: TopologyNode) -> Hashable:
        near = left.get(node.key, set()) | right.get(node.key, set())
        return node.style, frozenset(merged[key] for key in near if key in merged)

    return signature


def _neighbours(graph: Topology) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    left: defaultdict[str, set[str]] = defaultdict(set)
    right: defaultdict[str, set[str]] = defaultdict(set)
    for edge in graph.edges:
        left[edge.target].add(edge.source)
        right[edge.source].add(edge.target)
    return left, right


def _shrunk(
    members: list[TopologyNode], signatures: Sequence[Signature], room: int
) -> list[_Group]:
    if len(members) <= room:
        return [_Group(node, [node.key]) for node in members]
    loud = [node for node in members if not node.style.quiet]
    alone = {node.key for node in loud} if len(loud) <= _ALONE else set()
    single = [_Group(node, [node.key]) for node in members if node.key in alone]
    rest = [node for node in members if node.key not in alone]
    groups: list[list[TopologyNode]] = []
    for signature in signatures:
        groups = _grouped(rest, signature)
        if len(groups) + len(single) <= room:
            break
    return [*single, *map(_merged, groups)]


def _grouped(nodes: list[TopologyNode], signature: Signature) -> list[list[TopologyNode]]:
    groups: defaultdict[Hashable, list[TopologyNode]] = defaultdict(list)
    for node in nodes:
        groups[signature(node)].append(node)
    return list(groups.values())


def _merged(group: list[TopologyNode]) -> _Group:
    first = group[0]
    if len(group) == 1:
        return _Group(first, [first.key])
    style: Style = first.style
    node = TopologyNode(
        key=f"group\0{first.key}",
        column=first.column,
        title=f"{len(group):,} {_NOUNS[first.column]}",
        subtitle=f"{style.word}: {first.title} …",
        style=style,
        anchor=f"s-{style.name}",
        count=len(group),
    )
    return _Group(node, [member.key for member in group])


def _edges(graph: Topology, merged: dict[str, str]) -> tuple[Edge, ...]:
    found: dict[tuple[str, str], Edge] = {}
    for edge in graph.edges:
        pair = merged[edge.source], merged[edge.target]
        known = found.get(pair)
        if known is None:
            found[pair] = Edge(*pair, edge.style, edge.count)
            continue
        style = min(known.style, edge.style, key=lambda style: style.rank)
        found[pair] = Edge(*pair, style, known.count + edge.count)
    return tuple(found.values())
