"""The types of nulls in outputs.

A null of the evaluator knows no type, and Terraform's does: it writes the types of outputs into
state, and takes another type for a change. The type of a null is found by example: the expression
is evaluated again, with a value of the right type in the place of every null that it may have met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opsconsole.language.conversion import attribute_type, to_wire
from opsconsole.language.model import Program
from opsconsole.language.value_types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListValue,
    MapValue,
    SetValue,
    Type,
    unmark_deep,
)
from opsconsole.state import Address

_PLAIN: Mapping[Any, Any] = {STRING: "", NUMBER: 0, BOOL: False}


def holds_null(value: Any) -> bool:
    """Return whether there is a null whose type the evaluator cannot tell."""
    if isinstance(value, list):
        return any(map(holds_null, value))
    if isinstance(value, dict):
        return any(map(holds_null, value.values()))
    return value is None


def by_example(kind: Type, example: Type) -> Type:
    """Return `kind` with the types of `example` where it has none of its own."""
    if kind == DYNAMIC:
        return example
    if isinstance(kind, str) or isinstance(example, str) or kind[0] != example[0]:
        return kind
    name, inner = kind
    other = example[1]
    if name == "tuple":
        if len(inner) != len(other):
            return kind
        return (name, tuple(by_example(*pair) for pair in zip(inner, other, strict=True)))
    if name == "object":
        types = dict(other)
        return (
            name,
            tuple((field, by_example(item, types.get(field, DYNAMIC))) for field, item in inner),
        )
    return (name, by_example(inner, other))


def example_variables(program: Program, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of variables, unmarked and without nulls where their types are known."""
    return {
        name: _filled(unmark_deep(value)[0], program.variables[name].constraint.type)
        for name, value in values.items()
    }


def example_lookup(program: Program, lookup: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a lookup of instances without nulls."""

    def look(address: str) -> Any:
        values = lookup(address)
        block = program.blocks.get(str(Address.parse(address).resource))
        if not isinstance(values, dict) or block is None:
            return values
        types = {item.name: attribute_type(item) for item in block.definition.attributes}
        return {
            name: to_wire(_example(types[name])) if value is None and name in types else value
            for name, value in values.items()
        }

    return look


def _filled(value: Any, kind: Type) -> Any:
    if value is None:
        return _example(kind)
    if not isinstance(kind, str) and kind[0] == "object" and isinstance(value, dict):
        types = dict(kind[1])
        return {name: _filled(item, types.get(name, DYNAMIC)) for name, item in value.items()}
    return value


def _example(kind: Type) -> Any:
    if isinstance(kind, str):
        return _PLAIN.get(kind)
    name, inner = kind
    match name:
        case "list":
            return ListValue([], inner)
        case "set":
            return SetValue([], inner)
        case "map":
            return MapValue({}, inner)
        case "tuple":
            return [_example(item) for item in inner]
    return {field: _example(item) for field, item in inner}
