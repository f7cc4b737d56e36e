"""Functions on lists, sets and tuples, and those that convert values."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial, reduce
from itertools import product
from math import prod
from typing import Any

from opsconsole.language.conversion import (
    any_of,
    common_element,
    convert,
    equal,
    fingerprint,
    make_set,
)
from opsconsole.language.failures import EvaluationError
from opsconsole.language.functions.registry import Signature, Unknowns
from opsconsole.language.unification import unify
from opsconsole.language.value_types import (
    BOOL,
    DYNAMIC,
    NO_MARKS,
    NUMBER,
    STRING,
    ListValue,
    Marks,
    Number,
    SetValue,
    check_elements,
    clusters,
    describe,
    mark,
    rounded,
    type_of,
    unmark,
)
from opsconsole.values import UNKNOWN, holds_unknown

LIST_OF_ANY = ("list", DYNAMIC)
LIST_OF_TEXT = ("list", STRING)
SET_OF_ANY = ("set", DYNAMIC)


def whole(number: Number, *, large: bool = False) -> int:
    """Return a number that must be whole, and of 64 bits unless it may be `large`."""
    if isinstance(number, Fraction):
        raise EvaluationError("a whole number is required")
    if not large and not -(2**63) <= number < 2**63:
        raise EvaluationError("a number of at most 64 bits is required")
    return number


def require_sequence(value: Any, *, sets: bool = True) -> list[Any]:
    """Return `value`, which must be a list or a tuple, or a set where `sets`."""
    if not isinstance(value, list) or (isinstance(value, SetValue) and not sets):
        allowed = "list, tuple or set" if sets else "list or tuple"
        raise EvaluationError(f"a {allowed} is required, not {describe(type_of(value))}")
    return value


def same_kind(items: list[Any], like: Any) -> Any:
    """Return `items` as a list where `like` is a list or a set, else as a tuple."""
    element = getattr(like, "element", None)
    return items if element is None else ListValue(items, element)


for _name, _wanted in {
    "tostring": STRING,
    "tonumber": NUMBER,
    "tobool": BOOL,
    "tolist": LIST_OF_ANY,
    "toset": SET_OF_ANY,
    "tomap": ("map", DYNAMIC),
}.items():
    Signature(_name, (DYNAMIC,), nulls=True, opaque=True)(partial(convert, wanted=_wanted))


@Signature("length", (DYNAMIC,), opaque=True)
def _length(value: Any) -> Any:
    if isinstance(value, str):
        return len(clusters(value))
    if isinstance(value, SetValue) and not value.known:
        return UNKNOWN
    if isinstance(value, list | dict):
        return len(value)
    raise EvaluationError("a string, a collection or a structure is required")


@Signature("element", (DYNAMIC, NUMBER), opaque=True)
def _element(items: Any, position: Number) -> Any:
    items = require_sequence(items, sets=False)
    if not items:
        raise EvaluationError("the list is empty")
    place = whole(position)
    if place < 0 and place % len(items) and not isinstance(items, ListValue):
        raise EvaluationError("the index must not be negative")
    return items[place % len(items)]


@Signature("concat", rest=DYNAMIC, opaque=True)
def _concat(*parts: Any) -> Any:
    if not parts:
        raise EvaluationError("at least one argument is required")
    if all(isinstance(part, ListValue) for part in parts):
        common = unify([type_of(part) for part in parts])
        if common is not None:
            items = [item for part in parts for item in convert(part, common)]
            return ListValue(items, common[1])
    return [item for part in parts for item in require_sequence(part, sets=False)]


@Signature("contains", (DYNAMIC, DYNAMIC))
def _contains(items: Any, wanted: Any) -> Any:
    return any_of(equal(wanted, item) for item in require_sequence(items))


@Signature("index", (DYNAMIC, DYNAMIC))
def _index(items: Any, wanted: Any) -> Any:
    for position, item in enumerate(require_sequence(items, sets=False)):
        verdict = equal(item, wanted)
        if verdict is UNKNOWN:
            return UNKNOWN
        if verdict:
            return position
    raise EvaluationError("the item is not in the list")


@Signature("distinct", (LIST_OF_ANY,), unknowns=Unknowns.ANY)
def _distinct(items: ListValue) -> ListValue:
    found: dict[str, Any] = {}
    for item in items:
        found.setdefault(fingerprint(item), item)
    return ListValue(found.values(), items.element)


Signature("compact", (LIST_OF_TEXT,), unknowns=Unknowns.ANY)(
    lambda items: ListValue(filter(None, items), STRING)
)


@Signature("chunklist", (LIST_OF_ANY, NUMBER), opaque=True)
def _chunklist(items: ListValue, size: Number) -> ListValue:
    step = whole(size)
    if step < 0:
        raise EvaluationError("the size must be positive")
    step = step or max(len(items), 1)
    chunks = [
        ListValue(items[start : start + step], items.element)
        for start in range(0, len(items), step)
    ]
    return ListValue(chunks, type_of(items))


@Signature("flatten", (DYNAMIC,), opaque=True)
def _flatten(items: Any) -> Any:
    flat, marks, known = _flattened(require_sequence(items))
    return mark(flat if known else UNKNOWN, marks)


def _flattened(items: Any) -> tuple[list[Any], Marks, bool]:
    flat: list[Any] = []
    marks = NO_MARKS
    known = not (isinstance(items, SetValue) and holds_unknown(items))
    for item in items:
        inner, inner_marks = unmark(item)
        if inner is UNKNOWN:
            known = False
        if isinstance(inner, list):
            deeper, found, all_known = _flattened(inner)
            flat += deeper
            marks |= inner_marks | found
            known = known and all_known
        else:
            flat.append(item)
    return flat, marks, known


Signature("reverse", (DYNAMIC,), opaque=True)(
    lambda items: same_kind(require_sequence(items)[::-1], items)
)


@Signature("slice", (DYNAMIC, NUMBER, NUMBER), opaque=True)
def _slice(items: Any, start: Number, end: Number) -> Any:
    items = require_sequence(items, sets=False)
    first, last = whole(start), whole(end)
    if not 0 <= first <= last <= len(items):
        raise EvaluationError(
            f"a slice from {first} to {last} is not inside a list of {len(items)} elements"
        )
    return same_kind(items[first:last], items)


@Signature("sort", (LIST_OF_TEXT,), unknowns=Unknowns.ANY)
def _sort(items: ListValue) -> ListValue:
    if None in items:
        raise EvaluationError("null cannot be sorted")
    return ListValue(sorted(items, key=str.encode), STRING)


@Signature("one", (DYNAMIC,))
def _one(items: Any) -> Any:
    items = require_sequence(items)
    if isinstance(items, SetValue) and len(items) > 1 and holds_unknown(items):
        return UNKNOWN
    if len(items) > 1:
        raise EvaluationError("there must be at most one element")
    return items[0] if items else None


@Signature("sum", (DYNAMIC,), unknowns=Unknowns.ANY)
def _sum(items: Any) -> Any:
    if not require_sequence(items):
        raise EvaluationError("an empty list has no sum")
    if None in items:
        raise EvaluationError("null is not a number")
    total: Number = 0
    for item in items:
        total = rounded(total + convert(item, NUMBER))
    return total


@Signature("alltrue", (("list", BOOL),))
def _alltrue(items: ListValue) -> Any:
    # As in Terraform: not known as soon as an unknown element comes before a false one.
    for item in items:
        if item is UNKNOWN:
            return UNKNOWN
        if not item:
            return False
    return True


Signature("anytrue", (("list", BOOL),))(any_of)


@Signature("coalesce", rest=DYNAMIC, nulls=True, unknowns=Unknowns.OWN)
def _coalesce(*values: Any) -> Any:
    kinds = [type_of(value) for value in values]
    wanted = unify(kinds)
    if wanted is None and DYNAMIC in kinds:
        wanted = DYNAMIC
    if wanted is None:
        raise EvaluationError("all arguments must have the same type")
    for value in values:
        converted = convert(value, wanted)
        if converted is UNKNOWN or not (
            converted is None or (wanted == STRING and converted == "")
        ):
            return converted
    raise EvaluationError("every argument is null or an empty string")


@Signature("coalescelist", rest=DYNAMIC, nulls=True, unknowns=Unknowns.OWN)
def _coalescelist(*values: Any) -> Any:
    if UNKNOWN not in [value if value is UNKNOWN else None for value in values]:
        values = tuple(value for value in values if value is not None)
        for value in values:
            require_sequence(value, sets=False)
    for value in values:
        if value is UNKNOWN or value:
            return value
    raise EvaluationError("every argument is null or empty")


@Signature("matchkeys", (LIST_OF_ANY, LIST_OF_ANY, LIST_OF_ANY))
def _matchkeys(values: ListValue, keys: ListValue, wanted: ListValue) -> Any:
    common = unify([type_of(keys), type_of(wanted)])
    if common is None:
        raise EvaluationError("keys and searchset must be of the same type")
    if len(values) != len(keys):
        raise EvaluationError("there must be as many keys as values")
    if not wanted:
        return ListValue([], values.element)
    if any(map(holds_unknown, (values, keys, wanted))):
        return UNKNOWN
    searched = {fingerprint(item) for item in convert(wanted, common)}
    pairs = zip(values, convert(keys, common), strict=True)
    chosen = [value for value, key in pairs if fingerprint(key) in searched]
    return ListValue(chosen, values.element)


@Signature("range", (NUMBER,), rest=NUMBER)
def _range(*numbers: Number) -> ListValue:
    if len(numbers) > 3:
        raise EvaluationError("one to three arguments are required")
    start, end = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2] if len(numbers) == 3 else (1 if end >= start else -1)
    if step == 0:
        raise EvaluationError("the step must not be zero")
    if (end - start) * step < 0:
        raise EvaluationError("the step leads away from the end")
    items: list[Number] = []
    current = start
    while (current < end) if step > 0 else (current > end):
        items.append(current)
        current = rounded(current + step)
        if len(items) > 1024:
            raise EvaluationError("more than 1024 values would be generated")
    return ListValue(items, NUMBER)


def _reduced(step: Callable[[set[str], set[str]], set[str]], *sets: Any) -> Any:
    element = unify([value.element for value in sets])
    if element is None:
        raise EvaluationError("the sets must have elements of one type")
    aligned = [convert(value, ("set", element)) for value in sets]
    items = {fingerprint(item): item for value in aligned for item in value}
    kept = reduce(step, ({fingerprint(item) for item in value} for value in aligned))
    return make_set([items[key] for key in kept], element)


for _name, _step in (("setunion", set.union), ("setintersection", set.intersection)):
    Signature(_name, (SET_OF_ANY,), rest=SET_OF_ANY, unknowns=Unknowns.ANY)(
        partial(_reduced, _step)
    )
Signature("setsubtract", (SET_OF_ANY, SET_OF_ANY), unknowns=Unknowns.ANY)(
    partial(_reduced, set.difference)
)


@Signature("setproduct", rest=DYNAMIC)
def _product(*parts: Any) -> Any:
    if len(parts) < 2:
        raise EvaluationError("at least two arguments are required")
    columns = []
    kinds = []
    for part in parts:
        require_sequence(part)
        if isinstance(part, SetValue) and holds_unknown(part):
            return UNKNOWN
        known = getattr(part, "element", None)
        kind = common_element(part, "list") if known is None else known
        kinds.append(kind)
        columns.append([convert(item, kind) for item in part])
    check_elements(len(columns) * prod(map(len, columns)))
    rows = [list(row) for row in product(*columns)]
    element = ("tuple", tuple(kinds))
    if any(isinstance(part, SetValue) for part in parts):
        return make_set(rows, element)
    return ListValue(rows, element)
