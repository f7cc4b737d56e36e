"""A loader for YAML that people write, which bounds its size and refuses what would be lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import yaml

MAX_DEPTH: Final = 100
MAX_VALUES: Final = 5_000_000
MERGE: Final = "tag:yaml.org,2002:merge"

# PyYAML has the C loader only if it was built with libyaml.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(_SafeLoader):  # type: ignore[misc]
    """The safe loader, with bounds, and each key of a mapping once.

    Raises:
        RecursionError: The text is nested beyond MAX_DEPTH.
        yaml.YAMLError: It is not YAML, has more than MAX_VALUES, or has a key of a mapping twice.
    """

    def __init__(self, text: str | bytes) -> None:
        _check_bounds(text)
        super().__init__(text)

    def get_single_node(self) -> yaml.Node | None:
        document: yaml.Node | None = super().get_single_node()
        for node in walk_nodes(document) if document else ():
            if isinstance(node, yaml.MappingNode):
                _refuse_duplicates(node)
        return document


def _check_bounds(text: str | bytes) -> None:
    # The C loader recurses for each level without a bound, and crashes the process when the stack
    # overflows. Reading its events needs no recursion.
    sizes, known = [0], dict[str | None, int]()
    anchors: list[str | None] = []
    # The C loader's marks are of a class of their own, which type stubs do not take for a mark.
    events: Iterator[Any] = yaml.parse(text, _SafeLoader)
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            sizes.append(1)
            anchors.append(event.anchor)
            if len(sizes) > MAX_DEPTH + 1:
                raise RecursionError("it is nested too deeply")
        elif isinstance(event, yaml.CollectionEndEvent):
            size = known[anchors.pop()] = sizes.pop()
            sizes[-1] += size
        elif isinstance(event, yaml.NodeEvent):
            # An alias of an alias, and so on, can stand for any number of values. Messages that
            # show them would fill the memory.
            sizes[-1] += known.get(event.anchor, 1) if isinstance(event, yaml.AliasEvent) else 1
        if sizes[-1] > MAX_VALUES:
            raise yaml.MarkedYAMLError(
                problem=f"more than {MAX_VALUES:,} values, counting those that aliases repeat",
                problem_mark=event.start_mark,
            )


def walk_nodes(document: yaml.Node) -> Iterator[yaml.Node]:
    """Yield a node and all nodes in it, each once, in their order."""
    seen: set[int] = set()
    waiting = [document]
    while waiting:
        node = waiting.pop()
        # An alias is the same node again, and may lie inside of that node.
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, yaml.SequenceNode):
            waiting += reversed(node.value)
        elif isinstance(node, yaml.MappingNode):
            waiting += (part for pair in reversed(node.value) for part in reversed(pair))


def _refuse_duplicates(mapping: yaml.MappingNode) -> None:
    # The loader would keep the last of two equal keys, and silently drop the first.
    lines: dict[tuple[str, str], int] = {}
    for key, _ in mapping.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
            continue
        name, line = (key.tag, key.value), key.start_mark.line + 1
        if name in lines:
            raise yaml.MarkedYAMLError(
                problem=f"duplicate key {key.value!r}, first in line {lines[name]}",
                problem_mark=key.start_mark,
            )
        lines[name] = line
