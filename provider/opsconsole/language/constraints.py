"""Type constraints of variables: parsed from their text, and applied to values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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
    Work,
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
    elements,
    items_of,
    object_of,
    object_type,
    tuple_of,
    tuple_type,
)

_NAMES = {"string": STRING, "number": NUMBER, "bool": BOOL, "any": DYNAMIC}
_BARE = {kind: Type(kind, (DYNAMIC,)) for kind in COLLECTIONS}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A type, with the defaults of optional attributes inside it.

    Attributes:
        type: The type to convert to.
        inner: The constraint of the elements, if `type` is a list, a set or a map.
        attributes: The constraints of an object's attributes.
        optional: The defaults of optional attributes.
        items: The constraints of a tuple's elements.
    """

    type: Type
    inner: Constraint | None = None
    attributes: tuple[tuple[str, Constraint], ...] = ()
    optional: tuple[tuple[str, Value], ...] = ()
    items: tuple[Constraint, ...] = ()

    def apply(self, value: Value) -> Value:
        """Return `value` converted to the type, with optional attributes filled in.

        Raises:
            EvaluationError: The value does not fit.
        """
        # Fill in defaults first, because the conversion refuses an object that lacks an attribute.
        return convert(self._apply_defaults(value), self.type)

    def _apply_defaults(self, value: Value) -> Value:
        if not isinstance(value.data, list | dict) or not value.is_known:
            return value
        if isinstance(value.data, list):
            return self._apply_item_defaults(value)
        pairs = {key.data: item for key, item in elements(value)}
        if self.inner is not None:
            pairs = {name: self.inner._apply_defaults(item) for name, item in pairs.items()}
            return object_of(pairs).mark(value.marks)
        if self.attributes:
            for name, default in self.optional:
                if pairs.get(name, NULL).is_null:
                    pairs[name] = default
            for name, constraint in self.attributes:
                if name in pairs:
                    pairs[name] = constraint._apply_defaults(pairs[name])
            return object_of(pairs).mark(value.marks)
        return value

    def _apply_item_defaults(self, value: Value) -> Value:
        items = items_of(value)
        inner = self.items if self.inner is None else (self.inner,) * len(items)
        if not inner or len(inner) != len(items):
            return value
        filled = (of._apply_defaults(item) for of, item in zip(inner, items, strict=True))
        return tuple_of(filled).mark(value.marks)


ANY = Constraint(DYNAMIC)


def parse_constraint(text: str) -> Constraint:
    """Parse a constraint such as `map(object({name = string}))`.

    Raises:
        EvaluationError: `text` is not a type constraint.
    """
    return _constraint(parse_expression(text), text)


def _constraint(node: Node, text: str) -> Constraint:
    if isinstance(node, Reference) and len(node.steps) == 1:
        name = str(node.steps[0])
        if name in _NAMES:
            return Constraint(_NAMES[name])
        if name in _BARE:
            return Constraint(_BARE[name], inner=ANY)
    if isinstance(node, Call) and len(node.operands) == 1:
        argument = node.operands[0]
        if node.name in COLLECTIONS:
            inner = _constraint(argument, text)
            return Constraint(Type(node.name, (inner.type,)), inner=inner)
        if node.name == "object" and isinstance(argument, Object):
            return _object(argument, text)
        if node.name == "tuple" and isinstance(argument, Tuple):
            items = tuple(_constraint(item, text) for item in argument.operands)
            return Constraint(tuple_type(item.type for item in items), items=items)
    raise EvaluationError(f'"{text}" is not a type constraint')


def _object(node: Object, text: str) -> Constraint:
    attributes: dict[str, Constraint] = {}
    optional: dict[str, Value] = {}
    for key, value in zip(node.operands[::2], node.operands[1::2], strict=True):
        if not isinstance(key, Literal):
            raise EvaluationError(f'"{text}" is not a type constraint')
        name = str(key.value.data)
        if isinstance(value, Call) and value.name == "optional" and value.operands:
            constraint = _constraint(value.operands[0], text)
            default = Value(constraint.type, None)
            if len(value.operands) > 1:
                default = constraint.apply(value.operands[1].evaluate(LITERALS))
            optional[name] = default
            attributes[name] = constraint
        else:
            attributes[name] = _constraint(value, text)
    ordered = tuple(sorted(attributes.items()))
    kind = object_type({name: constraint.type for name, constraint in ordered})
    return Constraint(kind, attributes=ordered, optional=tuple(optional.items()))


class _NoNames(Names):
    """No functions, and no names but those that an expression itself binds."""

    work = Work()

    def resolve(self, reference: Reference) -> Value:
        raise EvaluationError(f"a value cannot refer to {reference.source_text()} here")

    def call(self, name: str, arguments: Sequence[Value]) -> Value:
        raise EvaluationError(f"a value cannot call {name} here")


LITERALS: Final = Scope(_NoNames())
"""The scope of literal values."""
