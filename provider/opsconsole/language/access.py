"""Attributes and indexes, which take parts out of values (hcl's `GetAttr` and `Index`)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from opsconsole.language.conversion import convert, to_text
from opsconsole.language.failures import EvaluationError
from opsconsole.language.values import (
    DYNAMIC,
    NUMBER,
    STRING,
    Marks,
    Value,
    is_sequence,
    unknown,
    unpack,
)
from opsconsole.values import UNKNOWN

Step = str | int
"""An attribute's name, or a literal index: a whole number or a Quoted."""


class Quoted(str):
    """A string index, `["a"]`. It leads to the same value as the attribute `a`."""

    __slots__ = ()


def attribute(value: Value, name: str) -> Value:
    """Return the attribute or the map element `name` of `value`.

    Raises:
        EvaluationError: `value` has no such attribute or element.
    """
    type = value.type
    if type.kind not in ("object", "map", "dynamic"):
        hint = ""
        if isinstance(value.data, list) and value.data and isinstance(value.data[0], dict):
            hint = ": name one element"
        raise EvaluationError(f'a {type} has no attribute "{name}"{hint}')
    if value.is_null:
        raise EvaluationError(f'this value is null, so it has no attribute "{name}"')
    if type.kind == "object" and name not in type.names:
        raise EvaluationError(f'this object has no attribute named "{name}"')
    inner = type.inner[type.names.index(name)] if type.kind == "object" else type.element
    if value.data is UNKNOWN:
        return unknown(inner, value.marks)
    if name not in value.data:
        raise EvaluationError(f'this map has no element with the key "{name}"')
    return unpack(inner, value.data[name], value.marks)


def element(value: Value, key: Value) -> Value:
    """Return `value[key]`.

    Raises:
        EvaluationError: There is no such element.
    """
    type, marks = value.type, value.marks | key.marks
    if value.is_null:
        raise EvaluationError("this value is null, so it has no indices")
    if key.is_null:
        raise EvaluationError("null is not an index")
    if type is DYNAMIC:
        return unknown(marks=marks)
    if type.kind == "set":
        raise EvaluationError("the elements of a set have no index: convert it with tolist()")
    if is_sequence(value):
        return _item_at(value, convert(key, NUMBER).data, marks)
    if type.kind not in ("map", "object"):
        raise EvaluationError(f"a {type} has no indices")
    name = convert(key, STRING).data
    if name is UNKNOWN:
        return unknown(type.element, marks)
    known = type.names if type.kind == "object" else value.data
    if known is not UNKNOWN and name not in known:
        raise EvaluationError(f'this {type.kind} has no element "{name}"')
    return attribute(value, name).mark(marks)


def _item_at(value: Value, position: Any, marks: Marks) -> Value:
    type = value.type
    if position is UNKNOWN:
        return unknown(type.element, marks)
    if isinstance(position, Fraction):
        raise EvaluationError("an index of a sequence must be a whole number")
    if position < 0:
        raise EvaluationError("an index of a sequence cannot be negative")
    items = type.inner if type.kind == "tuple" else value.data
    if items is not UNKNOWN and position >= len(items):
        raise EvaluationError(f"index {to_text(position)} is beyond the {len(items)} elements")
    inner = type.inner[position] if type.kind == "tuple" else type.element
    return unpack(inner, UNKNOWN if value.data is UNKNOWN else value.data[position], marks)


def get_path(value: Value, steps: Sequence[Step]) -> Value:
    """Return the part of `value` that `steps` lead to."""
    for step in steps:
        if isinstance(step, int):
            value = element(value, Value(NUMBER, step))
        elif isinstance(step, Quoted):
            value = element(value, Value(STRING, str(step)))
        else:
            value = attribute(value, step)
    return value
