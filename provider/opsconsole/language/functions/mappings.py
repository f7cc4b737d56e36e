"""Functions on maps and objects."""

from __future__ import annotations

from typing import Any

from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError
from opsconsole.language.functions.collections import LIST_OF_TEXT
from opsconsole.language.functions.registry import Signature, Unknowns
from opsconsole.language.value_types import (
    DYNAMIC,
    STRING,
    ListValue,
    MapValue,
    SetValue,
    describe,
    mark,
    type_of,
    unmark_deep,
)
from opsconsole.values import UNKNOWN, holds_unknown


def _require_mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise EvaluationError(f"a map or an object is required, not {describe(type_of(value))}")
    return value


@Signature("keys", (DYNAMIC,), opaque=True)
def _keys(value: Any) -> Any:
    names = sorted(_require_mapping(value))
    return ListValue(names, STRING) if isinstance(value, MapValue) else names


@Signature("values", (DYNAMIC,), opaque=True)
def _values(value: Any) -> Any:
    items = [value[name] for name in sorted(_require_mapping(value))]
    return ListValue(items, value.element) if isinstance(value, MapValue) else items


@Signature(
    "lookup", (DYNAMIC, STRING), rest=DYNAMIC, nulls=True, opaque=True, unknowns=Unknowns.OWN
)
def _lookup(source: Any, key: Any, *default: Any) -> Any:
    if len(default) > 1:
        raise EvaluationError("two or three arguments are required")
    if source is None or key is None:
        raise EvaluationError("an argument must not be null")
    if source is UNKNOWN:
        return UNKNOWN
    _require_mapping(source)
    fallback = default
    if isinstance(source, MapValue):
        fallback = tuple(convert(value, source.element) for value in default)
    if key is UNKNOWN:
        return UNKNOWN
    if key in source:
        return source[key]
    if fallback:
        return fallback[0]
    raise EvaluationError(f"there is no key {key!r}")


@Signature("merge", rest=DYNAMIC, nulls=True, opaque=True)
def _merge(*parts: Any) -> Any:
    merged: dict[str, Any] = {}
    for part in parts:
        if part is not None:
            merged.update(_require_mapping(part))
    kinds = [type_of({} if part is None else part) for part in parts]
    if kinds and isinstance(parts[0], MapValue) and all(kind == kinds[0] for kind in kinds):
        return MapValue({name: merged[name] for name in sorted(merged)}, parts[0].element)
    return {name: merged[name] for name in sorted(merged)}


@Signature("zipmap", (LIST_OF_TEXT, DYNAMIC), opaque=True)
def _zipmap(keys: ListValue, values: Any) -> Any:
    if not isinstance(values, list) or isinstance(values, SetValue):
        raise EvaluationError("the values must be a list or a tuple")
    if len(keys) != len(values):
        raise EvaluationError(f"there are {len(keys)} keys, but {len(values)} values")
    keys, marks = unmark_deep(keys)
    if holds_unknown(keys):
        return mark(UNKNOWN, marks)
    if None in keys:
        raise EvaluationError("a key must not be null")
    pairs = dict(zip(keys, values, strict=True))
    ordered = {name: pairs[name] for name in sorted(pairs)}
    made = MapValue(ordered, values.element) if isinstance(values, ListValue) else ordered
    return mark(made, marks)


@Signature("transpose", (("map", LIST_OF_TEXT),), unknowns=Unknowns.ANY)
def _transpose(source: MapValue) -> MapValue:
    turned: dict[str, list[str]] = {}
    for key in sorted(source):
        if source[key] is None or None in source[key]:
            raise EvaluationError("neither a list nor a string may be null")
        for item in source[key]:
            turned.setdefault(item, []).append(key)
    lists = {key: ListValue(sorted(turned[key]), STRING) for key in sorted(turned)}
    return MapValue(lists, LIST_OF_TEXT)
