"""A loader for YAML that people write. It refuses what would be lost, and what would crash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import yaml

MAX_DEPTH: Final = 100
MERGE: Final = "tag:yaml.org,2002:merge"

# PyYAML has the C loader only if it was built with libyaml.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(_SafeLoader):  # type: ignore[misc]
    """The safe loader, with a limit for the depth, and each key of a mapping once.

    Raises:
        RecursionError: The text is nested beyond MAX_DEPTH.
        yaml.YAMLError: It is not YAML, or a key of a mapping is there twice.
    """

    def __init__(self, text: str | bytes) -> None:
        _check_depth(text)
        super().__init__(text)

    def get_single_node(self) -> yaml.Node | None:
        document: yaml.Node | None = super().get_single_node()
        for node in walk_nodes(document) if document else ():
            if isinstance(node, yaml.MappingNode):
                _refuse_duplicates(node)
        return document


def _check_depth(text: str | bytes) -> None:
    # The C loader recurses for each level without a bound, and crashes the process when the stack
    # overflows. Reading its events needs no recursion.
    depth = 0
    for event in yaml.parse(text, _SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise RecursionError("it is nested too deeply")


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
