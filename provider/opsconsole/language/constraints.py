"""Type constraints of variables: parsed from their text, and applied to values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError
from opsconsole.language.nodes import Call, Object, Tuple
from opsconsole.language.parser import parse_expression
from opsconsole.language.syntax import Literal, Node, Reference, Scope
from opsconsole.language.value_types import BOOL, DYNAMIC, NUMBER, STRING, Type, rebuilt, unmark
from opsconsole.values import UNKNOWN

_NAMES = {"string": STRING, "number": NUMBER, "bool": BOOL, "any": DYNAMIC}
_BARE = {"list": ("list", DYNAMIC), "map": ("map", DYNAMIC), "set": ("set", DYNAMIC)}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A type, and what optional attributes inside of it are when they are left out.

    Attributes:
        type: The type to convert to.
        inner: The constraint of elements, where `type` is a list, a set or a map.
        attributes: The constraints of an object's attributes.
        optional: The defaults of those that may be left out.
        items: The constraints of a tuple's elements.
    """

    type: Type
    inner: Constraint | None = None
    attributes: tuple[tuple[str, Constraint], ...] = ()
    optional: tuple[tuple[str, Any], ...] = ()
    items: tuple[Constraint, ...] = ()

    def apply(self, value: Any) -> Any:
        """Return `value` converted, optional attributes filled in.

        Raises:
            EvaluationError: The value does not fit.
        """
        return convert(self._filled(value), self.type)

    def _filled(self, value: Any) -> Any:
        bare, marks = unmark(value)
        if marks or bare is None or bare is UNKNOWN:
            return value
        if self.inner is not None and isinstance(bare, list):
            return rebuilt(bare, [self.inner._filled(item) for item in bare])
        if self.inner is not None and isinstance(bare, dict):
            return rebuilt(bare, {key: self.inner._filled(item) for key, item in bare.items()})
        if self.attributes and isinstance(bare, dict):
            filled = dict(bare)
            for name, default in self.optional:
                if filled.get(name) is None:
                    filled[name] = default
            for name, constraint in self.attributes:
                if name in filled:
                    filled[name] = constraint._filled(filled[name])
            return filled
        if self.items and isinstance(bare, list) and len(bare) == len(self.items):
            return [item._filled(one) for item, one in zip(self.items, bare, strict=True)]
        return value


ANY = Constraint(DYNAMIC)


def parse_constraint(text: str) -> Constraint:
    """Return the constraint that `text` writes: `map(object({name = string}))`.

    Raises:
        EvaluationError: It is not one.
    """
    if text.startswith("${") and text.endswith("}"):
        text = text[2:-1]
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
        if node.name in ("list", "set", "map"):
            inner = _constraint(argument, text)
            return Constraint((node.name, inner.type), inner=inner)
        if node.name == "object" and isinstance(argument, Object):
            return _object(argument, text)
        if node.name == "tuple" and isinstance(argument, Tuple):
            items = tuple(_constraint(item, text) for item in argument.operands)
            return Constraint(("tuple", tuple(item.type for item in items)), items=items)
    raise EvaluationError(f'"{text}" is not a type constraint')


def _object(node: Object, text: str) -> Constraint:
    attributes: dict[str, Constraint] = {}
    optional: dict[str, Any] = {}
    for key, value in zip(node.operands[::2], node.operands[1::2], strict=True):
        if not isinstance(key, Literal):
            raise EvaluationError(f'"{text}" is not a type constraint')
        name = str(key.value)
        if isinstance(value, Call) and value.name == "optional" and value.operands:
            constraint = _constraint(value.operands[0], text)
            default = None
            if len(value.operands) > 1:
                default = constraint.apply(value.operands[1].evaluate(LITERALS))
            optional[name] = default
            attributes[name] = constraint
        else:
            attributes[name] = _constraint(value, text)
    ordered = tuple(sorted(attributes.items()))
    kind = ("object", tuple((name, constraint.type) for name, constraint in ordered))
    return Constraint(kind, attributes=ordered, optional=tuple(optional.items()))


class LiteralScope:
    """A scope in which nothing can be referred to or called."""

    def within(self, names: dict[str, Any]) -> Scope:
        return self

    def resolve(self, reference: Reference) -> Any:
        raise EvaluationError(f"a value cannot refer to {reference.written()} here")

    def resolve_index(self, reference: Reference, key: Any) -> Any:
        return self.resolve(reference)

    def call(self, name: str, arguments: Any) -> Any:
        raise EvaluationError(f"a value cannot call {name} here")


LITERALS: Final = LiteralScope()
"""The scope of values that are written out."""
