"""Functions on collections and structures, and conversions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import chain, product
from math import prod
from typing import Any

from opsconsole.language.conversion import any_of, convert, equal, fingerprint, make_set, unify
from opsconsole.language.failures import EvaluationError
from opsconsole.language.functions.registry import Signature
from opsconsole.language.numbers import Number, calculate, int64
from opsconsole.language.values import (
    BOOL,
    DYNAMIC,
    IS_SENSITIVE,
    NUMBER,
    PRIMITIVES,
    SENSITIVE,
    STRING,
    Type,
    Value,
    check_size,
    clusters,
    is_sequence,
    items_of,
    list_type,
    list_value,
    map_type,
    map_value,
    members_of,
    object_value,
    set_type,
    strip_marks,
    tuple_type,
    tuple_value,
    unknown,
    unpack,
)
from opsconsole.values import UNKNOWN, holds_unknown

LIST_OF_ANY = list_type(DYNAMIC)
LIST_OF_TEXT = list_type(STRING)
SET_OF_ANY = set_type(DYNAMIC)


def require_integer(number: Number, *, large: bool = False) -> int:
    """Return a number that must be whole, and must fit in 64 bits unless it may be `large`."""
    if isinstance(number, Fraction):
        raise EvaluationError("a whole number is required")
    if not large and not -(2**63) <= number < 2**63:
        raise EvaluationError("a number of at most 64 bits is required")
    return number


def require_sequence(value: Value, *, sets: bool = True) -> list[Value]:
    """Return the items of a list or a tuple, or also of a set if `sets` is true."""
    if not is_sequence(value, sets=sets):
        allowed = "list, tuple or set" if sets else "list or tuple"
        raise EvaluationError(f"a {allowed} is required, not {value.type}")
    return items_of(value)


def _common_type(values: Sequence[Value]) -> Type | None:
    """Return the type that all lists or sets convert to; one without typed elements fits any."""
    types = [value.type for value in values if value.type.element is not DYNAMIC]
    return unify(types or [values[0].type])


def sequence_like(value: Value, items: list[Value]) -> Value:
    """Return `items` as a list if `value` is a list or a set, else as a tuple."""
    if value.kind == "tuple":
        return tuple_value(items)
    return list_value(items, value.type.element)


for _name, _wanted in {
    "tostring": STRING,
    "tonumber": NUMBER,
    "tobool": BOOL,
    "tolist": LIST_OF_ANY,
    "toset": SET_OF_ANY,
    "tomap": map_type(DYNAMIC),
}.items():
    Signature(_name, (DYNAMIC,), nulls=True, opaque=True, unknown_if="never")(
        partial(convert, wanted=_wanted)
    )


Signature("sensitive", (DYNAMIC,), marked=True)(lambda value: value.mark(IS_SENSITIVE))
Signature("issensitive", (DYNAMIC,), marked=True)(
    lambda value: Value(BOOL, SENSITIVE in value.marks)
)
Signature("nonsensitive", (DYNAMIC,), marked=True)(
    lambda value: Value(value.type, value.data, value.marks - IS_SENSITIVE)
)


@Signature("length", (DYNAMIC,), opaque=True, returns=NUMBER)
def _length(value: Value) -> Any:
    if value.type == STRING:
        return int64(len(clusters(value.data)))
    if value.type in PRIMITIVES or value.type is DYNAMIC:
        raise EvaluationError("a string, a collection or a structure is required")
    return int64(len(value.data)) if value.is_known else UNKNOWN


@Signature("element", (DYNAMIC, NUMBER), opaque=True)
def _element(value: Value, position: Number) -> Value:
    items = require_sequence(value, sets=False)
    if not items:
        raise EvaluationError("the list is empty")
    place = require_integer(position)
    if place < 0 and place % len(items) and value.kind == "tuple":
        raise EvaluationError("the index must not be negative")
    return items[place % len(items)]


@Signature("concat", (DYNAMIC,), rest=DYNAMIC, opaque=True)
def _concat(*parts: Value) -> Value:
    for item in parts:
        require_sequence(item, sets=False)
    check_size(sum(item.size for item in parts))
    if all(item.kind == "list" for item in parts):
        common = _common_type(parts)
        if common is not None:
            lists = [convert(item, common) for item in parts]
            return Value(common, [*chain.from_iterable(item.data for item in lists)])
    types = tuple_type(type for item in parts for type in _types_of(item))
    return Value(types, [*chain.from_iterable(item.data for item in parts)])


def _types_of(value: Value) -> Sequence[Type]:
    return value.type.inner if value.kind == "tuple" else value.type.inner * len(value.data)


@Signature("contains", (DYNAMIC, DYNAMIC), returns=BOOL)
def _contains(value: Value, wanted: Value) -> Any:
    return any_of(equal(wanted, item) for item in require_sequence(value))


@Signature("index", (DYNAMIC, DYNAMIC), returns=NUMBER)
def _index(value: Value, wanted: Value) -> Any:
    for position, item in enumerate(require_sequence(value, sets=False)):
        result = equal(item, wanted)
        if result is UNKNOWN:
            return UNKNOWN
        if result:
            return int64(position)
    raise EvaluationError("the item is not in the list")


@Signature("distinct", (LIST_OF_ANY,), unknown_if="part")
def _distinct(value: Value) -> Value:
    element = value.type.element
    items: dict[str, Any] = {}
    for item in value.data:
        items.setdefault(fingerprint(item, element), item)
    return Value(value.type, [*items.values()])


Signature("compact", (LIST_OF_TEXT,), unknown_if="part", returns=LIST_OF_TEXT)(
    lambda items: [*filter(None, items)]
)


@Signature("chunklist", (LIST_OF_ANY, NUMBER), opaque=True)
def _chunklist(value: Value, size: Number) -> Value:
    step = require_integer(size)
    if step < 0:
        raise EvaluationError("the size must be positive")
    items = value.data
    # A size of 0 makes a single chunk, but `range` accepts no step of 0, even over an empty list.
    step = step or max(len(items), 1)
    return Value(
        list_type(value.type), [items[at : at + step] for at in range(0, len(items), step)]
    )


@Signature("flatten", (DYNAMIC,), opaque=True)
def _flatten(value: Value) -> Value:
    require_sequence(value)
    marks: set[str] = set()
    flat = [*_leaves(value, marks)]
    # An unknown value without a type may turn out to be a sequence.
    is_open = any(item.data is UNKNOWN and item.type is DYNAMIC for item in flat)
    return (unknown() if is_open else tuple_value(flat)).mark(frozenset(marks))


def _leaves(value: Value, marks: set[str]) -> Iterator[Value]:
    """Yield the items of a sequence at all depths, adding the marks of inner ones to `marks`."""
    if not value.is_known:
        yield unknown()
        return
    for item in items_of(value):
        if is_sequence(item) and not item.is_null:
            marks |= item.marks
            yield from _leaves(item, marks)
        else:
            yield item


Signature("reverse", (DYNAMIC,), opaque=True)(
    lambda value: sequence_like(value, require_sequence(value)[::-1])
)


@Signature("slice", (DYNAMIC, NUMBER, NUMBER), opaque=True)
def _slice(value: Value, start: Number, end: Number) -> Value:
    items = require_sequence(value, sets=False)
    first, last = require_integer(start), require_integer(end)
    if not 0 <= first <= last <= len(items):
        raise EvaluationError(
            f"a slice from {first} to {last} is not inside a list of {len(items)} elements"
        )
    return sequence_like(value, items[first:last])


@Signature("sort", (LIST_OF_TEXT,), unknown_if="part", returns=LIST_OF_TEXT)
def _sort(items: list[str]) -> list[str]:
    if None in items:
        raise EvaluationError("null cannot be sorted")
    return sorted(items, key=str.encode)


@Signature("one", (DYNAMIC,))
def _one(value: Value) -> Value:
    items = require_sequence(value)
    if not value.is_known and len(items) > 1:
        return unknown(value.type.element)
    if len(items) > 1:
        raise EvaluationError("there must be at most one element")
    return items[0] if items else Value(value.type.element, None)


@Signature("sum", (DYNAMIC,), unknown_if="part", returns=NUMBER)
def _sum(value: Value) -> Number:
    items = require_sequence(value)
    if not items:
        raise EvaluationError("an empty list has no sum")
    if any(item.is_null for item in items):
        raise EvaluationError("null is not a number")
    numbers: Iterator[Number] = (convert(item, NUMBER).data for item in items)
    return reduce(partial(calculate, "+"), numbers)


@Signature("alltrue", (list_type(BOOL),), returns=BOOL)
def _alltrue(items: list[Any]) -> Any:
    # As in Terraform, the result is unknown if an unknown element comes before a false one.
    for item in items:
        if item is UNKNOWN:
            return UNKNOWN
        if not item:
            return False
    return True


Signature("anytrue", (list_type(BOOL),), returns=BOOL)(any_of)


@Signature("coalesce", rest=DYNAMIC, nulls=True, unknown_if="never")
def _coalesce(*values: Value) -> Value:
    types = [value.type for value in values]
    wanted = unify(types)
    if wanted is None and DYNAMIC in types and PRIMITIVES.issuperset({*types} - {DYNAMIC}):
        wanted = DYNAMIC
    if wanted is None:
        raise EvaluationError("all arguments must have the same type")
    for value in values:
        converted = convert(value, wanted)
        if converted.data is UNKNOWN:
            return unknown(wanted)
        if not (converted.is_null or (wanted == STRING and converted.data == "")):
            return converted
    raise EvaluationError("every argument is null or an empty string")


@Signature("coalescelist", rest=DYNAMIC, nulls=True, unknown_if="never")
def _coalescelist(*values: Value) -> Value:
    # Check all arguments first, because a wrong argument fails even after the one that is returned.
    for value in values:
        if (value.type != DYNAMIC or value.is_null) and not is_sequence(value, sets=False):
            require_sequence(value, sets=False)
    for value in values:
        if value.data is UNKNOWN or value.data:
            return value
    raise EvaluationError("every argument is null or empty")


@Signature("matchkeys", (LIST_OF_ANY, LIST_OF_ANY, LIST_OF_ANY))
def _matchkeys(values: Value, keys: Value, wanted: Value) -> Value:
    common = _common_type([keys, wanted])
    if common is None:
        raise EvaluationError("keys and searchset must be of the same type")
    if len(values.data) != len(keys.data):
        raise EvaluationError("there must be as many keys as values")
    if not wanted.data:
        return Value(values.type, [])
    if any(holds_unknown(item.data) for item in (values, keys, wanted)):
        return unknown(values.type)
    searched = {fingerprint(item, common.element) for item in convert(wanted, common).data}
    pairs = zip(values.data, convert(keys, common).data, strict=True)
    chosen = [value for value, key in pairs if fingerprint(key, common.element) in searched]
    return Value(values.type, chosen)


@Signature("range", (NUMBER,), rest=NUMBER, returns=list_type(NUMBER))
def _range(*numbers: Number) -> list[Number]:
    if len(numbers) > 3:
        raise EvaluationError("one to three arguments are required")
    start, end = (int64(0), numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2] if len(numbers) == 3 else int64(1 if end >= start else -1)
    if step == 0:
        raise EvaluationError("the step must not be zero")
    if (end - start) * step < 0:
        raise EvaluationError("the step leads away from the end")
    items: list[Number] = []
    current = start
    while (current < end) if step > 0 else (current > end):
        items.append(current)
        current = calculate("+", current, step)
        # Terraform has the same limit.
        if len(items) > 1024:
            raise EvaluationError("more than 1024 values would be generated")
    return items


def _combine_sets(step: Callable[[set[str], set[str]], set[str]], *sets: Value) -> Value:
    common = _common_type(sets)
    if common is None:
        raise EvaluationError("the sets must have elements of one type")
    element = common.element
    aligned = [convert(value, common).data for value in sets]
    items = {fingerprint(item, element): item for data in aligned for item in data}
    kept = reduce(step, ({fingerprint(item, element) for item in data} for data in aligned))
    return make_set([unpack(element, items[key]) for key in kept], element)


for _name, _step in (("setunion", set.union), ("setintersection", set.intersection)):
    Signature(_name, (SET_OF_ANY,), rest=SET_OF_ANY, unknown_if="part")(
        partial(_combine_sets, _step)
    )
Signature("setsubtract", (SET_OF_ANY, SET_OF_ANY), unknown_if="part")(
    partial(_combine_sets, set.difference)
)


@Signature("setproduct", (DYNAMIC, DYNAMIC), rest=DYNAMIC)
def _product(*parts: Value) -> Value:
    for item in parts:
        require_sequence(item)
    if not all(item.is_known for item in parts):
        return unknown()
    columns = [item if item.kind != "tuple" else convert(item, LIST_OF_ANY) for item in parts]
    element = tuple_type(column.type.element for column in columns)
    # Check before any row is made, because the number of rows is a product.
    check_size(len(columns) * prod(len(column.data) for column in columns))
    rows = [list(row) for row in product(*(column.data for column in columns))]
    if any(item.kind == "set" for item in parts):
        return make_set([Value(element, row) for row in rows], element)
    return Value(list_type(element), rows)


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
