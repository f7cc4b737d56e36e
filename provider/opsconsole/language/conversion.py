"""Conversion of values to types, as Terraform does it for arguments, variables and attributes;
and between values of the language and wire values, by the definitions of attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from opsconsole.definition import Attribute, Kind
from opsconsole.language.failures import EvaluationError
from opsconsole.language.marks import IS_SENSITIVE, NO_MARKS, Marked, mark, unmark_deep
from opsconsole.language.numeric import format_number, from_float, parse_number
from opsconsole.language.set_order import ordered_set
from opsconsole.language.unification import unify
from opsconsole.language.value_types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListValue,
    MapValue,
    SetValue,
    Type,
    describe,
    kind_of,
    type_of,
)
from opsconsole.state import Number
from opsconsole.values import UNKNOWN, Value

_SCALARS: Final = frozenset((str, int, bool, type(None)))


def convert(value: Any, wanted: Type) -> Any:
    """Return `value` converted to the type `wanted`; null, unknown and marks pass through.

    Raises:
        EvaluationError: There is no such conversion, or not for this value.
    """
    if value is None or value is UNKNOWN or wanted == DYNAMIC:
        return value
    if isinstance(value, Marked):
        return mark(convert(value.value, wanted), value.marks)
    return _BY_KIND[kind_of(wanted)](value, wanted)


def to_text(value: Any) -> str:
    """Return a known, unmarked primitive as string."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Fraction):
        return format_number(value)
    raise EvaluationError(f"string required, but this is {_named(value)}")


def _number(value: Any, _: Type) -> Any:
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        number = parse_number(value)
        if number is None:
            raise EvaluationError("a number is required")
        return number
    raise EvaluationError(f"number required, but this is {_named(value)}")


_BOOLEANS: Final[Mapping[str, bool]] = {"true": True, "1": True, "false": False, "0": False}


def _bool(value: Any, _: Type) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _BOOLEANS:
        return _BOOLEANS[value]
    if isinstance(value, str):
        raise EvaluationError("a bool is required")
    raise EvaluationError(f"bool required, but this is {_named(value)}")


def common_element(items: Iterable[Any], what: str) -> Type:
    """Return the one type that all `items` convert to.

    Raises:
        EvaluationError: There is none; the message calls the collection `what`.
    """
    element = unify([type_of(item) for item in items])
    if element is None:
        raise EvaluationError(f"all {what} elements must have the same type")
    return element


def _elements(value: Any, element: Type, what: str) -> tuple[list[Any], Type]:
    if not isinstance(value, list):
        raise EvaluationError(f"{what} required, but this is {_named(value)}")
    if getattr(value, "element", None) == element:
        return list(value), element
    if element == DYNAMIC:
        inner = getattr(value, "element", DYNAMIC)
        element = inner if inner != DYNAMIC else common_element(value, what)
    return [convert(item, element) for item in value], element


def _list(value: Any, wanted: Type) -> ListValue:
    return ListValue(*_elements(value, wanted[1], "list"))


def _set(value: Any, wanted: Type) -> Any:
    if isinstance(value, SetValue) and value.element == wanted[1]:
        return value
    items, element = _elements(value, wanted[1], "set")
    return make_set(items, element)


def make_set(items: Iterable[Any], element: Type) -> Any:
    """Return a set of `items`; marks of elements become marks of the set, as in go-cty."""
    marks = NO_MARKS
    plain = []
    for item in items:
        bare, found = unmark_deep(item)
        marks |= found
        plain.append(bare)
    return mark(SetValue(ordered_set(plain), element), marks)


def _map(value: Any, wanted: Type) -> MapValue:
    if not isinstance(value, dict):
        raise EvaluationError(f"map required, but this is {_named(value)}")
    element = wanted[1]
    if element == DYNAMIC:
        inner = getattr(value, "element", DYNAMIC)
        element = inner if inner != DYNAMIC else common_element(value.values(), "map")
    return MapValue({key: convert(value[key], element) for key in sorted(value)}, element)


def _object(value: Any, wanted: Type) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise EvaluationError(f"object required, but this is {_named(value)}")
    missing = [name for name, _ in wanted[1] if name not in value]
    if missing:
        raise EvaluationError(f"attribute {missing[0]!r} is required")
    return {name: convert(value[name], inner) for name, inner in wanted[1]}


def _tuple(value: Any, wanted: Type) -> list[Any]:
    if not isinstance(value, list) or isinstance(value, SetValue):
        raise EvaluationError(f"tuple required, but this is {_named(value)}")
    if len(value) != len(wanted[1]):
        raise EvaluationError(f"{len(wanted[1])} elements required, but there are {len(value)}")
    return [convert(item, inner) for item, inner in zip(value, wanted[1], strict=True)]


_BY_KIND: Final[Mapping[str, Callable[[Any, Type], Any]]] = {
    STRING: lambda value, _: to_text(value),
    NUMBER: _number,
    BOOL: _bool,
    "list": _list,
    "set": _set,
    "map": _map,
    "object": _object,
    "tuple": _tuple,
}


def _named(value: Any) -> str:
    return describe(type_of(value))


@lru_cache(maxsize=1024)
def attribute_type(attribute: Attribute) -> Type:
    """Return the type of an attribute's values."""
    if not attribute.attributes:
        return attribute.kind.terraform_type
    inner = (
        "object",
        tuple(sorted((item.name, attribute_type(item)) for item in attribute.attributes)),
    )
    return ("list", inner) if attribute.kind is Kind.OBJECT_LIST else inner


def declared(attribute: Attribute, value: Any) -> Any:
    """Return a value of the language as `attribute` takes it; marks stay.

    What a nested object leaves out is null; what it has too much is dropped, as Terraform does.

    Raises:
        EvaluationError: The value does not fit.
    """
    if attribute.attributes:
        value = _completed(value, attribute)
    return convert(value, attribute_type(attribute))


def _completed(value: Any, attribute: Attribute) -> Any:
    if isinstance(value, Marked):
        return mark(_completed(value.value, attribute), value.marks)
    if isinstance(value, list) and attribute.kind is Kind.OBJECT_LIST:
        return [_completed(item, attribute) for item in value]
    if not isinstance(value, dict):
        return value
    return {item.name: value.get(item.name) for item in attribute.attributes}


def to_wire(value: Any) -> Value:
    """Return an unmarked value of the language as a wire value."""
    if type(value) in _SCALARS or value is UNKNOWN:
        return value
    if isinstance(value, Fraction):
        return Number(format_number(value))
    if isinstance(value, int):
        return int(format_number(value))
    if isinstance(value, list):
        return [to_wire(item) for item in value]
    return {key: to_wire(item) for key, item in value.items()}


def from_wire(value: Value, attribute: Attribute) -> Any:
    """Return a wire value of `attribute` as a value of the language, marked if it is sensitive."""
    typed = _typed(value, attribute)
    return mark(typed, IS_SENSITIVE) if attribute.sensitive else typed


def _typed(value: Value, attribute: Attribute) -> Any:
    if type(value) in _SCALARS or value is UNKNOWN:
        return value
    if isinstance(value, Number):
        return parse_number(value.text)
    if isinstance(value, float):
        return from_float(value)
    kind = attribute.kind
    if kind is Kind.STRING_SET:
        return SetValue(ordered_set(value), STRING)
    if kind is Kind.STRING_LIST:
        return ListValue(value, STRING)
    if kind is Kind.STRING_MAP:
        return MapValue(value, STRING)
    if kind is Kind.OBJECT_LIST:
        element = attribute_type(attribute)[1]
        return ListValue([_typed_object(item, attribute) for item in value], element)
    return _typed_object(value, attribute)


def _typed_object(value: Value, attribute: Attribute) -> Any:
    if not isinstance(value, dict):
        return value
    return {item.name: from_wire(value.get(item.name), item) for item in attribute.attributes}
