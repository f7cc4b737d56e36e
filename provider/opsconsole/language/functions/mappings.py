"""Functions on maps and objects."""

from __future__ import annotations

from typing import Any

from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError
from opsconsole.language.functions.collections import LIST_OF_TEXT, require_sequence
from opsconsole.language.functions.registry import Signature
from opsconsole.language.values import (
    DYNAMIC,
    STRING,
    Value,
    list_value,
    map_type,
    map_value,
    members_of,
    object_value,
    strip_marks,
    tuple_value,
    unknown,
)
from opsconsole.values import UNKNOWN, holds_unknown


def _members(value: Value) -> dict[str, Value]:
    if value.kind not in ("map", "object"):
        raise EvaluationError(f"a map or an object is required, not {value.type}")
    return members_of(value)


@Signature("keys", (DYNAMIC,), opaque=True)
def _keys(value: Value) -> Value:
    names = list(_members(value))
    if value.kind == "map":
        return Value(LIST_OF_TEXT, names)
    return tuple_value(Value(STRING, name) for name in names)


@Signature("values", (DYNAMIC,), opaque=True)
def _values(value: Value) -> Value:
    items = _members(value).values()
    if value.kind == "map":
        return list_value(items, value.type.element)
    return tuple_value(items)


@Signature("lookup", (DYNAMIC, STRING), rest=DYNAMIC, nulls=True, opaque=True, unknown_if="never")
def _lookup(source: Value, key: Any, *default: Value) -> Value:
    if len(default) > 1:
        raise EvaluationError("two or three arguments are required")
    if source.is_null or key is None:
        raise EvaluationError("an argument must not be null")
    if source.data is UNKNOWN:
        return unknown(source.type.element)
    members = _members(source)
    fallback = list(default)
    if source.kind == "map":
        # Converted even if the key exists, because a default of another type is always an error.
        fallback = [convert(value, source.type.element) for value in default]
    if key is UNKNOWN:
        return unknown(source.type.element)
    if key in members:
        return members[key]
    if fallback:
        return fallback[0]
    raise EvaluationError(f"there is no key {key!r}")


@Signature("merge", rest=DYNAMIC, nulls=True, opaque=True)
def _merge(*parts: Value) -> Value:
    merged: dict[str, Value] = {}
    for part in parts:
        if part.type != DYNAMIC and part.kind not in ("map", "object"):
            _members(part)
        if not part.is_null:
            merged.update(_members(part))
    if parts and parts[0].kind == "map" and all(part.type == parts[0].type for part in parts):
        return map_value(merged, parts[0].type.element)
    return object_value(merged)


@Signature("zipmap", (LIST_OF_TEXT, DYNAMIC), opaque=True)
def _zipmap(keys: list[Any], values: Value) -> Value:
    items = require_sequence(values, sets=False)
    if len(keys) != len(items):
        raise EvaluationError(f"there are {len(keys)} keys, but {len(items)} values")
    key_marks: set[str] = set()
    names = strip_marks(keys, key_marks)
    marks = frozenset(key_marks)
    if holds_unknown(names):
        return unknown(marks=marks)
    if None in names:
        raise EvaluationError("a key must not be null")
    pairs = dict(zip(names, items, strict=True))
    ordered = {name: pairs[name] for name in sorted(pairs)}
    if values.kind == "list":
        return map_value(ordered, values.type.element).mark(marks)
    return object_value(ordered).mark(marks)


@Signature(
    "transpose",
    (map_type(LIST_OF_TEXT),),
    unknown_if="part",
    returns=map_type(LIST_OF_TEXT),
)
def _transpose(source: dict[str, list[str]]) -> dict[str, list[str]]:
    turned: dict[str, list[str]] = {}
    for key in sorted(source):
        if source[key] is None or None in source[key]:
            raise EvaluationError("neither a list nor a string may be null")
        for item in source[key]:
            turned.setdefault(item, []).append(key)
    return {key: sorted(turned[key]) for key in sorted(turned)}
