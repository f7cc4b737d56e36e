"""Marks: what a value is besides its content (sensitive, ephemeral), and how marks travel.

A mark wraps the smallest value that carries it. Whatever is computed from a marked value is
marked too. No evaluation here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from opsconsole.diagnostics import Path

SENSITIVE: Final = "sensitive"
"""Never shown in plans and outputs."""
EPHEMERAL: Final = "ephemeral"
"""Known during one run only: it may reach provider settings, never state."""

Marks = frozenset[str]
NO_MARKS: Final[Marks] = frozenset()
IS_SENSITIVE: Final[Marks] = frozenset((SENSITIVE,))


class Marked:
    """A value with marks. The value inside may hold marked values, but is not marked itself."""

    __slots__ = ("marks", "value")

    def __init__(self, value: Any, marks: Marks) -> None:
        self.value = value
        self.marks = marks

    def __repr__(self) -> str:
        return f"Marked({', '.join(sorted(self.marks))})"


def mark(value: Any, marks: Marks) -> Any:
    """Return `value` with `marks` added."""
    if not marks:
        return value
    if isinstance(value, Marked):
        return Marked(value.value, value.marks | marks)
    return Marked(value, marks)


def unmark(value: Any) -> tuple[Any, Marks]:
    """Return `value` without its outermost marks, and these."""
    if isinstance(value, Marked):
        return value.value, value.marks
    return value, NO_MARKS


def holds_marks(value: Any) -> bool:
    """Return whether `value` is marked at any depth."""
    if isinstance(value, Marked):
        return True
    if isinstance(value, dict):
        return any(map(holds_marks, value.values()))
    if isinstance(value, list):
        return any(map(holds_marks, value))
    return False


def unmark_deep(value: Any) -> tuple[Any, Marks]:
    """Return `value` without marks at any depth, and the union of all that were found."""
    if not holds_marks(value):
        return value, NO_MARKS
    found: set[str] = set()
    return _stripped(value, found), frozenset(found)


def _stripped(value: Any, found: set[str]) -> Any:
    if isinstance(value, Marked):
        found |= value.marks
        return _stripped(value.value, found)
    if isinstance(value, dict):
        return rebuilt(value, {key: _stripped(item, found) for key, item in value.items()})
    if isinstance(value, list):
        return rebuilt(value, [_stripped(item, found) for item in value])
    return value


def rebuilt(like: Any, items: Any) -> Any:
    """Return `items` as a collection of the same type as `like`, its element type included."""
    element = getattr(like, "element", None)
    return items if element is None else type(like)(items, element)


def marked_paths(value: Any, wanted: str, at: Path = ()) -> Iterator[Path]:
    """Yield the paths in `value` with the mark `wanted`; places below such a path are not named."""
    if isinstance(value, Marked):
        if wanted in value.marks:
            yield at
        else:
            yield from marked_paths(value.value, wanted, at)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from marked_paths(item, wanted, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from marked_paths(item, wanted, (*at, index))
