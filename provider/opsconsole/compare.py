"""Normalise and diff, purely: what of two values of one definition differs.

Knows wire values and definitions' shapes only by duck type: nothing of engines or the console.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opsconsole.values import UNKNOWN, Value


def normalise_set(items: Sequence[Any]) -> list[Any]:
    """Return `items` sorted and without duplicates; unknown elements come last, each kept."""
    known = {item for item in items if item is not UNKNOWN}
    unknown = [item for item in items if item is UNKNOWN]
    return [*sorted(known, key=lambda item: (item is not None, item)), *unknown]


def same(left: Value, right: Value) -> bool:
    """Return whether two normalised wire values are equal; an unknown equals nothing but itself."""
    if left is right:
        return True
    if isinstance(left, str):
        return bool(left == right)
    if left is UNKNOWN or right is UNKNOWN:
        return False
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def satisfies(kept: Value, asked: Value) -> bool:
    """Return whether `kept` is what `asked` asks for.

    An object within a list asks for nothing where it holds null: a console may set such a field
    by itself.
    """
    if not isinstance(asked, list) or not isinstance(kept, list) or len(asked) != len(kept):
        return same(asked, kept)
    return all(_entry_satisfies(*pair) for pair in zip(kept, asked, strict=True))


def _entry_satisfies(kept: Value, asked: Value) -> bool:
    if not isinstance(asked, dict) or not isinstance(kept, dict):
        return same(asked, kept)
    return all(value is None or same(value, kept.get(name)) for name, value in asked.items())


def unsatisfied_fields(
    asked: Mapping[str, Value], kept: Mapping[str, Value], names: Iterable[str]
) -> list[str]:
    """Return the `names` whose value in `kept` does not satisfy `asked`, in order."""
    return [name for name in names if not satisfies(kept.get(name), asked.get(name))]


def changed_fields(
    before: Mapping[str, Value], after: Mapping[str, Value], names: Iterable[str]
) -> list[str]:
    """Return the `names` whose values differ, in order."""
    return [name for name in names if not same(before.get(name), after.get(name))]
