"""Equality of values, the order of sets, and conversion: to the types of arguments, variables and
attributes as Terraform does it, and to and from wire values. `equal` takes unmarked values only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from opsconsole.definition import Attribute, Kind
from opsconsole.language.failures import EvaluationError
from opsconsole.language.unification import unify
from opsconsole.language.value_types import (
    BOOL,
    DYNAMIC,
    IS_SENSITIVE,
    NO_MARKS,
    NUMBER,
    STRING,
    ListValue,
    MapValue,
    Marked,
    SetValue,
    Type,
    describe,
    format_number,
    from_float,
    kind_of,
    mark,
    parse_number,
    type_of,
    unmark_deep,
)
from opsconsole.state import WrittenNumber
from opsconsole.values import UNKNOWN, Value


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
        if not (left.known and right.known):
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


_SCALARS: Final = frozenset((str, int, bool, type(None)))


def to_wire(value: Any) -> Value:
    """Return an unmarked value of the language as a wire value."""
    if type(value) in _SCALARS or value is UNKNOWN:
        return value
    if isinstance(value, Fraction):
        return WrittenNumber(format_number(value))
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
    if isinstance(value, WrittenNumber):
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
