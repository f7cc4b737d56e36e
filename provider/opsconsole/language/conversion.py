"""Conversion between types and to wire values, equality, and the order of sets, as in go-cty."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Final

from opsconsole.language.failures import EvaluationError
from opsconsole.language.numbers import (
    format_number,
    from_float,
    parse_number,
    precision_of,
    written_number,
)
from opsconsole.language.values import (
    BOOL,
    COLLECTIONS,
    DYNAMIC,
    NUMBER,
    PRIMITIVES,
    STRING,
    Type,
    Value,
    is_sequence,
    items_of,
    list_type,
    list_value,
    map_value,
    members_of,
    object_value,
    pack,
    set_type,
    strip_marks,
    tuple_value,
)
from opsconsole.state import WrittenNumber
from opsconsole.text import plural
from opsconsole.values import UNKNOWN, holds_unknown


def unify(types: Iterable[Type]) -> Type | None:
    """Return the type that all `types` convert to, or None; DYNAMIC fits every type.

    As in go-cty, an object and a tuple never have a common type, and DYNAMIC beside another type
    that is not primitive makes the result DYNAMIC.
    """
    distinct = dict.fromkeys(types)
    known = [type for type in distinct if type is not DYNAMIC]
    kinds = {type.kind for type in known}
    if {"object", "tuple"} <= kinds:
        return None
    if DYNAMIC in distinct and not PRIMITIVES.issuperset(known):
        return DYNAMIC
    if len(known) < 2:
        return known[0] if known else DYNAMIC
    if PRIMITIVES.issuperset(known):
        return STRING if STRING in known else None
    if kinds in ({"object"}, {"tuple"}):
        return _unify_each(known, "map" if "object" in kinds else "list")
    if kinds == {"map", "object"}:
        return _unify_all("map", known)
    if kinds == {"list", "tuple"}:
        inner = unify(type for of in known for type in of.inner if type is not DYNAMIC)
        return None if inner is None else list_type(inner)
    if len(kinds) == 1:
        return _unify_all(kinds.pop(), known)
    return _most_general(known)


def _unify_all(kind: str, types: Sequence[Type]) -> Type | None:
    """Return the collection whose elements all parts of `types` convert to."""
    element = unify(inner for type in types for inner in type.inner)
    return None if element is None else Type(kind, (element,))


def _unify_each(types: Sequence[Type], otherwise: str) -> Type | None:
    """Unify tuples or objects part by part, or else as a collection (`otherwise`)."""
    first, *others = types
    if any(type.names != first.names or len(type.inner) != len(first.inner) for type in others):
        return _unify_all(otherwise, types)
    inner: list[Type] = []
    for column in zip(*(type.inner for type in types), strict=True):
        common = unify(column)
        if common is None:
            return None
        inner.append(common)
    return Type(first.kind, inner, first.names)


_RANK: Final = {"list": 0, "tuple": 1, "set": 2}


def _most_general(types: Sequence[Type]) -> Type | None:
    """Return the first type that all others convert to, trying lists before sets."""

    def rank(type: Type) -> tuple[int, bool]:
        return _RANK.get(type.kind, 3), type.element != STRING

    for wanted in sorted(types, key=rank):
        if all(_can_convert(type, wanted) for type in types):
            return wanted
    return None


_SOURCES: Final = {
    **dict.fromkeys(("list", "set"), ("list", "set", "tuple")),
    "map": ("map", "object"),
}
"""The kinds whose parts become the elements of a kind of collection."""


def _can_convert(source: Type, wanted: Type) -> bool:
    """Return whether some values of one type convert to another."""
    if source == wanted or DYNAMIC in (source, wanted):
        return True
    if source in PRIMITIVES and wanted in PRIMITIVES:
        return STRING in (source, wanted)
    if source.kind in _SOURCES.get(wanted.kind, ()):
        return all(_can_convert(inner, wanted.element) for inner in source.inner)
    kinds = source.kind, wanted.kind
    if kinds == ("object", "object"):
        ours = source.attributes
        return all(
            name in ours and _can_convert(ours[name], inner)
            for name, inner in wanted.attributes.items()
        )
    if kinds == ("tuple", "tuple"):
        same = len(source.inner) == len(wanted.inner)
        return same and all(map(_can_convert, source.inner, wanted.inner))
    return kinds == ("map", "object")


def convert(value: Value, wanted: Type) -> Value:
    """Convert a value to a type. Marks are kept."""
    if value.type is wanted or wanted is DYNAMIC or value.type == wanted:
        return value
    if value.data is None or value.data is UNKNOWN:
        if not _can_convert(value.type, wanted):
            raise _type_error(wanted.kind, value)
        return Value(_complete(wanted, value.type), value.data, value.marks)
    if wanted in PRIMITIVES:
        return Value(wanted, _to_primitive(value, wanted), value.marks)
    if wanted.kind in ("list", "set", "tuple"):
        if not is_sequence(value, sets=wanted.kind != "tuple"):
            raise _type_error(wanted.kind, value)
        return (_to_tuple if wanted.kind == "tuple" else _to_list_or_set)(value, wanted)
    if not isinstance(value.data, dict):
        raise _type_error(wanted.kind, value)
    return (_to_map if wanted.kind == "map" else _to_object)(value, wanted)


def _type_error(what: str | Type, value: Value) -> EvaluationError:
    return EvaluationError(f"{_article(what)} is required, not {_article(value.type)}")


def _article(what: str | Type) -> str:
    return f"{'an' if str(what)[0] in 'ao' else 'a'} {what}"


def _mixture_error(wanted: Type) -> EvaluationError:
    return EvaluationError(f"all {wanted.kind} elements must have the same type")


def _complete(wanted: Type, source: Type) -> Type:
    """Return the collection type `wanted`, with elements of `any` typed as in `source`."""
    if wanted.kind not in COLLECTIONS or wanted.element != DYNAMIC:
        return wanted
    element = unify(source.inner)
    if element is None:
        raise _mixture_error(wanted)
    return Type(wanted.kind, (element,))


def _to_primitive(value: Value, wanted: Type) -> Any:
    data = value.data
    if value.type not in PRIMITIVES or {value.type, wanted} == {NUMBER, BOOL}:
        raise _type_error(wanted, value)
    if wanted is STRING:
        return to_text(data)
    if wanted is NUMBER:
        number = parse_number(data)
        if number is None:
            raise EvaluationError("a number is required")
        return number
    if data not in _BOOLEANS:
        raise EvaluationError("a bool is required")
    return _BOOLEANS[data]


_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}


def to_text(data: Any) -> str:
    """Return a known number or bool as a string."""
    return format_number(data) if type(data) is not bool else "true" if data else "false"


def _convert_elements(
    value: Value, items: Sequence[Value], wanted: Type
) -> tuple[list[Value], Type]:
    """Convert the elements of a value to the element type of a collection, which may be any."""
    element = wanted.element if wanted.element is not DYNAMIC else value.type.element
    if not items and not _can_convert(value.type.element, element):
        raise _type_error(wanted.kind, value)
    converted = [convert(item, element) for item in items]
    types = dict.fromkeys(item.type for item in converted)
    if types.keys() <= {element}:
        return converted, element
    common = unify(types)
    if common is DYNAMIC and wanted.kind == "map" and len(types) == 2:
        # Only in a map may a null without a type stand beside elements that are not primitive.
        common = next(type for type in types if type is not DYNAMIC)
    made = [] if common is None else [convert(item, common) for item in converted]
    if common is None or any(item.type != common for item in made):
        raise _mixture_error(wanted)
    return made, common


def _to_list_or_set(value: Value, wanted: Type) -> Value:
    items, element = _convert_elements(value, items_of(value), wanted)
    made = list_value if wanted.kind == "list" else make_set
    return made(items, element).mark(value.marks)


def make_set(items: Iterable[Value], element: Type) -> Value:
    """Return a set of `items`; marks of elements become marks of the set, as in go-cty."""
    marks: set[str] = set()
    data = [strip_marks(pack(item), marks) for item in items]
    return Value(set_type(element), order_set(data, element), frozenset(marks))


def _to_map(value: Value, wanted: Type) -> Value:
    members = members_of(value)
    converted, element = _convert_elements(value, [*members.values()], wanted)
    return map_value(dict(zip(members, converted, strict=True)), element).mark(value.marks)


def _to_object(value: Value, wanted: Type) -> Value:
    pairs = members_of(value)
    for name in wanted.names:
        if name not in pairs:
            raise EvaluationError(f'the attribute "{name}" is required')
    types = zip(wanted.names, wanted.inner, strict=True)
    return object_value({name: convert(pairs[name], inner) for name, inner in types}).mark(
        value.marks
    )


def _to_tuple(value: Value, wanted: Type) -> Value:
    items, types = items_of(value), wanted.inner
    if len(items) != len(types):
        raise EvaluationError(f"{plural(len(types), 'element')} required, not {len(items)}")
    return tuple_value(map(convert, items, types)).mark(value.marks)


def equal(left: Value, right: Value) -> Any:
    """Return whether `==` holds for two unmarked values: True, False or UNKNOWN.

    Values of different types differ, even a list and a tuple with the same elements.
    """
    if left.data is None or right.data is None:
        if UNKNOWN is left.data or UNKNOWN is right.data:
            return UNKNOWN
        return left.data is right.data
    # A part of unknown type may turn out to have the type of its counterpart.
    if left.type != right.type and not (
        _is_comparable(left.type, right.type)
        and (holds_unknown(left.data) or holds_unknown(right.data))
    ):
        return False
    if not left.is_known or not right.is_known:
        return UNKNOWN
    if isinstance(left.data, list | dict):
        if len(left.data) != len(right.data):
            return False
        if isinstance(left.data, dict) and left.data.keys() != right.data.keys():
            return False
        return all_of(map(equal, items_of(left), items_of(right)))
    # As in go-cty, numbers of any precision are equal if their texts are.
    return left.data == right.data or (
        left.type is NUMBER
        and precision_of(left.data) != precision_of(right.data)
        and format_number(left.data) == format_number(right.data)
    )


def _is_comparable(left: Type, right: Type) -> bool:
    """Return whether two types are equal in all parts that both know."""
    if left is DYNAMIC or right is DYNAMIC or left == right:
        return True
    same = (left.kind, left.names, len(left.inner)) == (right.kind, right.names, len(right.inner))
    return same and bool(left.inner) and all(map(_is_comparable, left.inner, right.inner))


def _decide(deciding: bool, results: Iterable[Any]) -> Any:
    """Return `deciding` if any result is that, even if others are unknown."""
    has_unknown = False
    for result in results:
        if result is deciding:
            return deciding
        has_unknown = has_unknown or result is UNKNOWN
    return UNKNOWN if has_unknown else not deciding


all_of = partial(_decide, False)
"""Returns whether all results hold: True, False or UNKNOWN."""
any_of = partial(_decide, True)
"""Returns whether one of the results holds: True, False or UNKNOWN."""


def order_set(items: Iterable[Any], element: Type) -> list[Any]:
    """Return a set's distinct data in order of iteration, then all unknown elements."""
    known: dict[str, Any] = {}
    unknowns = []
    for item in items:
        if item is UNKNOWN:
            # Two unknown elements may turn out to differ.
            unknowns.append(item)
        else:
            known.setdefault(fingerprint(item, element), item)
    return [*sorted(known.values(), key=lambda item: _position(item, element)), *unknowns]


def _position(item: Any, element: Type) -> tuple[Any, ...]:
    if item is None:
        return (1, "")
    if isinstance(item, str):
        return (0, item.encode())
    if element in (NUMBER, BOOL):
        return (0, item)
    return (0, fingerprint(item, element).encode())


def fingerprint(data: Any, type: Type) -> str:
    """Return a text that is equal exactly for equal unmarked data of the same type."""
    if data is UNKNOWN:
        return "?"
    if data is None:
        return "~"
    # Checked before numbers, because in Python a bool is an int.
    if isinstance(data, bool):
        return "T" if data else "F"
    if isinstance(data, str):
        # Quoted, so that no text looks like a number, a separator or one of the signs above.
        return json.dumps(data, ensure_ascii=False)
    if isinstance(data, int | Fraction):
        return format_number(data)
    if type.kind == "map":
        names = ((json.dumps(name, ensure_ascii=False), data[name]) for name in sorted(data))
        parts = (f"{name}:{fingerprint(item, type.element)};" for name, item in names)
        return f"{{{''.join(parts)}}}"
    if type.kind in COLLECTIONS:
        return f"[{''.join(f'{fingerprint(item, type.element)};' for item in data)}]"
    items = [data[name] for name in type.names] if type.kind == "object" else data
    parts = (f"{fingerprint(item, of)};" for item, of in zip(items, type.inner, strict=True))
    return f"<{''.join(parts)}>"


_SCALARS: Final = frozenset((str, int, bool, type(None)))


def to_wire(data: Any) -> Any:
    # Compares the exact type, because a RoundedInteger is an int too but may have another text.
    if type(data) in _SCALARS or data is UNKNOWN:
        return data
    if isinstance(data, Fraction):
        # A float would lose digits.
        return WrittenNumber(written_number(data))
    if isinstance(data, int):
        return int(format_number(data))
    if isinstance(data, list):
        return [to_wire(item) for item in data]
    return {key: to_wire(item) for key, item in data.items()}


def from_wire(data: Any, type: Type) -> Any:
    if data.__class__ in _SCALARS or data is UNKNOWN:
        return data
    if isinstance(data, WrittenNumber):
        return parse_number(data.text)
    if isinstance(data, float):
        return from_float(data)
    if isinstance(data, list):
        inner = type.inner if type.kind == "tuple" else [type.element] * len(data)
        items = [from_wire(item, of) for item, of in zip(data, inner, strict=True)]
        return order_set(items, type.element) if type.kind == "set" else items
    if type.kind == "object":
        return {name: from_wire(data.get(name), of) for name, of in type.attributes.items()}
    return {name: from_wire(item, type.element) for name, item in data.items()}
