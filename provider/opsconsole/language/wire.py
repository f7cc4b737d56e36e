"""Between values of the language and wire values, by the definitions of attributes."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from opsconsole.definition import Attribute, Kind
from opsconsole.language.conversion import convert
from opsconsole.language.marks import IS_SENSITIVE, Marked, mark
from opsconsole.language.numeric import format_number, from_float, parse_number
from opsconsole.language.set_order import ordered_set
from opsconsole.language.value_types import STRING, ListValue, MapValue, SetValue, Type
from opsconsole.state import Number
from opsconsole.values import UNKNOWN, Value

_SCALARS: Final = frozenset((str, int, bool, type(None)))


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
        return ListValue([_object(item, attribute) for item in value], element)
    return _object(value, attribute)


def _object(value: Value, attribute: Attribute) -> Any:
    if not isinstance(value, dict):
        return value
    return {item.name: from_wire(value.get(item.name), item) for item in attribute.attributes}
