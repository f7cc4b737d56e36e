"""Type constraints of variables and of attributes, applied to values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from opsconsole.definition import Attribute, Kind
from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError
from opsconsole.language.nodes import (
    Call,
    Literal,
    Names,
    Node,
    Object,
    Reference,
    Scope,
    Tuple,
)
from opsconsole.language.parser import parse_expression
from opsconsole.language.values import (
    BOOL,
    COLLECTIONS,
    DYNAMIC,
    NULL,
    NUMBER,
    STRING,
    Type,
    Value,
    items_of,
    list_type,
    members_of,
    object_type,
    object_value,
    tuple_type,
    tuple_value,
    type_from_json,
)

_NAMES: Final = {"string": STRING, "number": NUMBER, "bool": BOOL, "any": DYNAMIC}
_BARE: Final = {kind: Type(kind, (DYNAMIC,)) for kind in ("list", "map")}
"""Types that may be written without the type of their elements, if they are not inside another."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A type, with the defaults of optional attributes inside it.

    Attributes:
        inner: The constraints of the inner types of `type`; may be left out if nothing is optional.
        optional: The defaults of an object's optional attributes.
    """

    type: Type
    inner: tuple[Constraint, ...] = ()
    optional: Mapping[str, Value] = field(default_factory=dict)

    def apply(self, value: Value) -> Value:
        """Convert a value to the type, with optional attributes filled in."""
        # Fill in defaults first, because the conversion refuses an object that lacks an attribute.
        return convert(self._apply_defaults(value), self.type)

    def _apply_defaults(self, value: Value) -> Value:
        if not self.inner:
            return value
        if not isinstance(value.data, list | dict):
            return Value(self._complete(value.type), value.data, value.marks)
        if isinstance(value.data, list):
            items = items_of(value)
            inner = self.inner * len(items) if self.type.kind in COLLECTIONS else self.inner
            if len(inner) != len(items):
                return value
            filled = (of._apply_defaults(item) for of, item in zip(inner, items, strict=True))
            return tuple_value(filled).mark(value.marks)
        members = members_of(value)
        for name, default in self.optional.items():
            if members.get(name, NULL).is_null:
                members[name] = default
        of_members = dict(zip(self.type.names, self.inner, strict=False))
        if self.type.kind in COLLECTIONS:
            of_members = dict.fromkeys(members, self.inner[0])
        return object_value(
            {
                name: of_members[name]._apply_defaults(item) if name in of_members else item
                for name, item in members.items()
            }
        ).mark(value.marks)

    def _complete(self, type: Type) -> Type:
        """Return the type of a null or unknown value, with missing optional attributes added."""
        if self.inner and self.type.kind in COLLECTIONS:
            return Type(type.kind, map(self.inner[0]._complete, type.inner), type.names)
        if type.kind != "object" or self.type.kind != "object":
            return type
        lacking = {name: item.type for name, item in self.optional.items()}
        return object_type({**lacking, **type.attributes})


@lru_cache(maxsize=1024)
def attribute_constraint(attribute: Attribute) -> Constraint:
    """Return the constraint of an attribute's values; missing members become null."""
    if not attribute.attributes:
        return Constraint(type_from_json(attribute.kind.terraform_type))
    members = sorted((item.name, attribute_constraint(item)) for item in attribute.attributes)
    made = Constraint(
        object_type({name: item.type for name, item in members}),
        tuple(item for _, item in members),
        {name: Value(item.type, None) for name, item in members},
    )
    if attribute.kind is Kind.OBJECT_LIST:
        return Constraint(list_type(made.type), (made,))
    return made


def parse_constraint(text: str) -> Constraint:
    """Parse a constraint such as `map(object({name = string}))`."""
    if text in _BARE:
        return Constraint(_BARE[text])
    return _constraint(parse_expression(text), text)


def _constraint(node: Node, text: str) -> Constraint:
    if isinstance(node, Reference) and len(node.steps) == 1:
        name = str(node.steps[0])
        if name in _NAMES:
            return Constraint(_NAMES[name])
    if isinstance(node, Call) and len(node.arguments) == 1:
        argument = node.arguments[0]
        if node.name in COLLECTIONS:
            inner = _constraint(argument, text)
            return Constraint(Type(node.name, (inner.type,)), (inner,))
        if node.name == "object" and isinstance(argument, Object):
            return _object(argument, text)
        if node.name == "tuple" and isinstance(argument, Tuple):
            items = tuple(_constraint(item, text) for item in argument.items)
            return Constraint(tuple_type(item.type for item in items), items)
    raise EvaluationError(f'"{text}" is not a type constraint')


def _object(node: Object, text: str) -> Constraint:
    attributes: dict[str, Constraint] = {}
    optional: dict[str, Value] = {}
    for key, value in zip(node.keys, node.items, strict=True):
        if not isinstance(key, Literal):
            raise EvaluationError(f'"{text}" is not a type constraint')
        name = str(key.value.data)
        if isinstance(value, Call) and value.name == "optional" and value.arguments:
            constraint = _constraint(value.arguments[0], text)
            default = Value(constraint.type, None)
            if len(value.arguments) > 1:
                default = constraint.apply(value.arguments[1].evaluate(LITERALS))
            optional[name] = default
            attributes[name] = constraint
        else:
            attributes[name] = _constraint(value, text)
    kind = object_type({name: constraint.type for name, constraint in attributes.items()})
    return Constraint(kind, tuple(attributes[name] for name in kind.names), optional)


LITERALS: Final = Scope(Names())
"""The scope of literal values."""
