"""Attributes, indexes and splats: taking parts out of values (hcl's `GetAttr`, `Index`, splats)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from opsconsole.language.conversion import convert, to_text
from opsconsole.language.failures import EvaluationError
from opsconsole.language.value_types import (
    NUMBER,
    STRING,
    ListValue,
    MapValue,
    Marked,
    SetValue,
    describe,
    mark,
    type_of,
)
from opsconsole.values import UNKNOWN


def attribute(value: Any, name: str) -> Any:
    """Return the attribute or the map element `name` of `value`.

    Raises:
        EvaluationError: There is none.
    """
    if isinstance(value, Marked):
        return mark(attribute(value.value, name), value.marks)
    if isinstance(value, dict):
        if name in value:
            return value[name]
        if isinstance(value, MapValue):
            raise EvaluationError(f'this map has no element with the key "{name}"')
        raise EvaluationError(f'this object has no attribute named "{name}"')
    if value is UNKNOWN:
        return UNKNOWN
    if value is None:
        raise EvaluationError(f'this value is null, so it has no attribute "{name}"')
    if isinstance(value, list) and value and isinstance(value[0], dict):
        raise EvaluationError(
            f'a {describe(type_of(value))} has no attribute "{name}": name one element'
        )
    raise EvaluationError(f'a {describe(type_of(value))} has no attribute "{name}"')


def element(value: Any, key: Any) -> Any:
    """Return `value[key]`.

    Raises:
        EvaluationError: There is none.
    """
    if isinstance(value, Marked):
        return mark(element(value.value, key), value.marks)
    if isinstance(key, Marked):
        return mark(element(value, key.value), key.marks)
    if value is None:
        raise EvaluationError("this value is null, so it has no indices")
    if key is None:
        raise EvaluationError("null is not an index")
    if value is UNKNOWN or key is UNKNOWN:
        return UNKNOWN
    if isinstance(value, SetValue):
        raise EvaluationError("the elements of a set have no index: convert it with tolist()")
    if isinstance(value, list):
        return _positioned(value, key)
    if isinstance(value, dict):
        name = convert(key, STRING)
        if name not in value:
            kind = "map" if isinstance(value, MapValue) else "object"
            raise EvaluationError(f'this {kind} has no element "{name}"')
        return value[name]
    raise EvaluationError(f"a {describe(type_of(value))} has no indices")


def _positioned(value: list[Any], key: Any) -> Any:
    position = convert(key, NUMBER)
    if isinstance(position, Fraction):
        raise EvaluationError("an index of a sequence must be a whole number")
    if position < 0:
        raise EvaluationError("an index of a sequence cannot be negative")
    if position >= len(value):
        raise EvaluationError(f"index {to_text(position)} is beyond the {len(value)} elements")
    return value[position]


def splat(value: Any, each: Callable[[Any], Any]) -> Any:
    """Return `each` of the elements of `value`; a single value counts as one, null as none."""
    if isinstance(value, Marked):
        return mark(splat(value.value, each), value.marks)
    if value is UNKNOWN:
        return UNKNOWN
    if value is None:
        return []
    if not isinstance(value, list):
        return [each(value)]
    if isinstance(value, SetValue) and not value.known:
        return UNKNOWN
    results = [each(item) for item in value]
    if isinstance(value, ListValue | SetValue):
        return _as_list(results)
    return results


def _as_list(results: list[Any]) -> Any:
    """A splat over a list yields a list where all results are of one type, else a tuple."""
    kinds = {type_of(item) for item in results}
    if len(kinds) == 1:
        return ListValue(results, kinds.pop())
    return results if kinds else ListValue([], "dynamic")
