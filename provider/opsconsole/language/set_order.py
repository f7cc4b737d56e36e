"""Equality of values, and the order in which a set iterates. Only unmarked values come here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from opsconsole.language.marks import Marked
from opsconsole.language.numeric import format_number
from opsconsole.language.value_types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    MapValue,
    SetValue,
    Type,
    type_of,
)
from opsconsole.values import UNKNOWN


def equal(left: Any, right: Any) -> Any:
    """Return whether two values are equal as `==` has it: True, False or UNKNOWN.

    Values of different types differ, a list and a tuple of the same elements included.
    """
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if left is None or right is None:
        return left is right
    if not _comparable(type_of(left), type_of(right)):
        return False
    if isinstance(left, SetValue):
        if not (left.settled and right.settled):
            return UNKNOWN
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, list):
        if len(left) != len(right):
            return False
        return all_of(equal(*pair) for pair in zip(left, right, strict=True))
    if isinstance(left, dict):
        if left.keys() != right.keys():
            return False
        return all_of(equal(left[key], right[key]) for key in left)
    return left == right


def _comparable(left: Type, right: Type) -> bool:
    """Return whether two types are the same where both are known."""
    if left == right or DYNAMIC in (left, right):
        return True
    if isinstance(left, str) or isinstance(right, str) or left[0] != right[0]:
        return False
    if left[0] == "tuple":
        return len(left[1]) == len(right[1]) and all(map(_comparable, left[1], right[1]))
    if left[0] == "object":
        return [name for name, _ in left[1]] == [name for name, _ in right[1]] and all(
            _comparable(one[1], other[1]) for one, other in zip(left[1], right[1], strict=True)
        )
    return _comparable(left[1], right[1])


def all_of(verdicts: Iterable[Any]) -> Any:
    """Return whether all of `verdicts` hold: True, False or UNKNOWN."""
    unknown = False
    for verdict in verdicts:
        if verdict is UNKNOWN:
            unknown = True
        elif not verdict:
            return False
    return UNKNOWN if unknown else True


def any_of(verdicts: Iterable[Any]) -> Any:
    """Return whether one of `verdicts` holds: True, False or UNKNOWN."""
    unknown = False
    for verdict in verdicts:
        if verdict is UNKNOWN:
            unknown = True
        elif verdict:
            return True
    return UNKNOWN if unknown else False


def ordered_set(items: Iterable[Any]) -> list[Any]:
    """Return the distinct `items` in the order of iteration; unknown ones last, each kept."""
    known: dict[str, Any] = {}
    unknown = []
    for item in items:
        if item is UNKNOWN:
            unknown.append(item)
        else:
            known.setdefault(fingerprint(item), item)
    return [*sorted(known.values(), key=_position), *unknown]


def _position(item: Any) -> tuple[Any, ...]:
    if item is None:
        return (1, "")
    kind = type_of(item)
    if kind == STRING:
        return (0, item.encode())
    if kind in (NUMBER, BOOL):
        return (0, item)
    return (0, fingerprint(item).encode())


def fingerprint(value: Any) -> str:
    """Return a text that is the same for equal values of one type only."""
    if isinstance(value, Marked):
        return fingerprint(value.value)
    if value is UNKNOWN:
        return "?"
    if value is None:
        return "~"
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | Fraction):
        return format_number(value)
    if isinstance(value, dict):
        if isinstance(value, MapValue):
            body = "".join(
                f"{fingerprint(key)}:{fingerprint(value[key])};" for key in sorted(value)
            )
            return f"{{{body}}}"
        return f"<{''.join(f'{fingerprint(value[key])};' for key in sorted(value))}>"
    inner = "".join(f"{fingerprint(item)};" for item in value)
    return f"<{inner}>" if type(value) is list else f"[{inner}]"
