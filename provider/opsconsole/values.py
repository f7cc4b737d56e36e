"""Wire values, in which engines and lifecycles exchange attributes, and their comparison. Pure.

A value is None (null), UNKNOWN, a str, int, float, bool, a list of values or a dict of values.
Sets are lists, sorted and without duplicates. A resource's value is a dict with every attribute
present.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final


class Unknown:
    """The type of UNKNOWN: a value that is known only after apply."""

    _instance: Unknown | None = None

    def __new__(cls) -> Unknown:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false: ask `is UNKNOWN`")


UNKNOWN: Final = Unknown()

Value = Any
"""One wire value."""

Values = dict[str, Any]
"""The wire value of a resource: each attribute of its definition, by name, with its value."""


def text_of(values: Mapping[str, Value], name: str) -> str:
    """Return the text value of that name, or empty."""
    value = values.get(name)
    return value if isinstance(value, str) else ""


def holds_unknown(value: Value) -> bool:
    """Return whether `value` is UNKNOWN or holds it at any depth."""
    if not isinstance(value, (list, dict)):
        return value is UNKNOWN
    return any(map(holds_unknown, value if isinstance(value, list) else value.values()))


def unknown_names(values: Values) -> list[str]:
    """Return the names of the values that are UNKNOWN or hold it at any depth, in order."""
    return [
        name
        for name, value in values.items()
        # This runs for each attribute of each resource: most are null or unknown themselves.
        if value is UNKNOWN or (isinstance(value, (list, dict)) and holds_unknown(value))
    ]


def normalise_set(items: Sequence[Any]) -> list[Any]:
    """Return `items` sorted and without duplicates; unknown elements come last, each kept."""
    distinct = set(items)
    if distinct.isdisjoint((None, UNKNOWN)):
        return sorted(distinct)
    # Null cannot be compared with a text: it comes first.
    null = [None] if None in distinct else []
    unknown = [item for item in items if item is UNKNOWN]
    return [*null, *sorted(distinct.difference((None, UNKNOWN))), *unknown]


def is_same(left: Value, right: Value) -> bool:
    """Return whether two normalised wire values are equal; an unknown equals nothing but itself."""
    if left is right:
        return True
    if isinstance(left, str):
        return bool(left == right)
    if left is UNKNOWN or right is UNKNOWN:
        return False
    # In Python, True equals 1.
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and not changed_fields(left, right, left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    return bool(left == right)


def is_satisfied(asked: Value, kept: Value) -> bool:
    """Return whether `asked` is fulfilled by the value `kept`.

    A null member of an object in a list asks for nothing.
    """
    if not isinstance(asked, list) or not isinstance(kept, list) or len(asked) != len(kept):
        return is_same(asked, kept)
    return all(_is_entry_satisfied(*pair) for pair in zip(asked, kept, strict=True))


def _is_entry_satisfied(asked: Value, kept: Value) -> bool:
    if not isinstance(asked, dict) or not isinstance(kept, dict):
        return is_same(asked, kept)
    # A console may set by itself a field that the declaration leaves null.
    return all(value is None or is_same(value, kept.get(name)) for name, value in asked.items())


def is_shown(asked: Value, shown: Value) -> bool:
    """Return whether the value `shown` in an answer fulfils the request.

    A console may show an empty array as unset.
    """
    return is_satisfied(asked, shown) or (shown is None and asked == [])


def unsatisfied_fields(
    asked: Mapping[str, Value], shown: Mapping[str, Value], names: Iterable[str]
) -> list[str]:
    """Return the `names` whose value in an answer does not fulfil the request, in order."""
    return [name for name in names if not is_shown(asked.get(name), shown.get(name))]


def changed_fields(
    before: Mapping[str, Value], after: Mapping[str, Value], names: Iterable[str]
) -> list[str]:
    """Return the `names` whose values differ, in order."""
    return [
        name
        for name in names
        # Most values are the same object, or null in both.
        if (old := before.get(name)) is not (new := after.get(name)) and not is_same(old, new)
    ]
