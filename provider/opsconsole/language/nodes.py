"""The nodes of the tree that compute: operators, calls, constructors, `for`, splats, templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsconsole.language.access import attribute, element, splat
from opsconsole.language.conversion import convert, to_text
from opsconsole.language.failures import DependsOnRelease, EvaluationError
from opsconsole.language.operators import binary, conditional, passes_over, unary
from opsconsole.language.syntax import Composite, Node, Reference, Scope
from opsconsole.language.value_types import (
    NO_MARKS,
    STRING,
    count_text,
    count_value,
    mark,
    size_of,
    unmark,
)
from opsconsole.values import UNKNOWN


class Binary(Composite):
    """`left operator right`."""

    __slots__ = ("operator",)

    def __init__(self, operator: str, left: Node, right: Node) -> None:
        super().__init__(left, right)
        self.operator = operator

    def evaluate(self, scope: Scope) -> Any:
        left, right = self.operands
        if self.operator in ("&&", "||"):
            return self._logic(scope)
        return binary(self.operator, left.evaluate(scope), right.evaluate(scope))

    def _logic(self, scope: Scope) -> Any:
        """Evaluate both operands, as Terraform 1.11 does.

        Terraform 1.12 and OpenTofu pass over a failure beside an operand that decides: `false && X`
        is false there.
        """
        left, right = (_attempt(operand, scope) for operand in self.operands)
        failure = next((item for item in (left, right) if isinstance(item, EvaluationError)), None)
        try:
            if failure is not None:
                raise failure
            return binary(self.operator, left, right)
        except EvaluationError as error:
            if passes_over(self.operator, left, right):
                raise DependsOnRelease(str(error)) from error
            raise


def _attempt(node: Node, scope: Scope) -> Any:
    """Return the value of a node, or why it has none."""
    try:
        return node.evaluate(scope)
    except EvaluationError as error:
        return error


class Unary(Composite):
    """`-operand` or `!operand`."""

    __slots__ = ("operator",)

    def __init__(self, operator: str, operand: Node) -> None:
        super().__init__(operand)
        self.operator = operator

    def evaluate(self, scope: Scope) -> Any:
        return unary(self.operator, self.operands[0].evaluate(scope))


class Conditional(Composite):
    """`condition ? when_true : when_false`; a failure of the result not taken does not matter."""

    __slots__ = ()

    def evaluate(self, scope: Scope) -> Any:
        verdict = self.operands[0].evaluate(scope)
        results: list[Any] = []
        failures: list[EvaluationError | None] = []
        for operand in self.operands[1:]:
            try:
                results.append(operand.evaluate(scope))
                failures.append(None)
            except EvaluationError as error:
                results.append(UNKNOWN)
                failures.append(error)
        taken = unmark(verdict)[0]
        if taken is not None and taken is not UNKNOWN:
            failure = failures[0 if convert(taken, "bool") else 1]
            if failure is not None:
                raise failure
        return conditional(verdict, *results)


class Call(Composite):
    """A function call; `spread` when the last argument is followed by `...`."""

    __slots__ = ("name", "spread")

    def __init__(self, name: str, arguments: Sequence[Node], *, spread: bool) -> None:
        super().__init__(*arguments)
        self.name = name
        self.spread = spread

    def evaluate(self, scope: Scope) -> Any:
        if self.name in ("try", "can"):
            return _guarded(self, scope)
        arguments = [operand.evaluate(scope) for operand in self.operands]
        marks = NO_MARKS
        if self.spread:
            last, marks = unmark(arguments.pop())
            if last is UNKNOWN:
                return mark(UNKNOWN, marks)
            if not isinstance(last, list):
                raise EvaluationError("what is expanded by ... must be a list, a tuple or a set")
            arguments.extend(last)
        return mark(count_value(scope.call(self.name, arguments)), marks)


def _guarded(call: Call, scope: Scope) -> Any:
    """`try` and `can`: what fails is passed over. `can` of an unknown value is unknown."""
    if not call.operands or (call.name == "can" and len(call.operands) != 1):
        raise EvaluationError(f"{call.name} has the wrong number of arguments")
    problems = []
    for operand in call.operands:
        try:
            value = operand.evaluate(scope)
        except EvaluationError as error:
            problems.append(str(error))
            continue
        if call.name == "try":
            return value
        return UNKNOWN if value is UNKNOWN else True
    if call.name == "can":
        return False
    raise EvaluationError(f"no argument of try succeeded: {'; '.join(problems)}")


class Tuple(Composite):
    """`[a, b]`."""

    __slots__ = ()

    def evaluate(self, scope: Scope) -> Any:
        items = [operand.evaluate(scope) for operand in self.operands]
        size_of(items)
        return items


class Object(Composite):
    """`{a = b}`: operands are keys and values in turn."""

    __slots__ = ()

    def evaluate(self, scope: Scope) -> Any:
        values: dict[str, Any] = {}
        marks = NO_MARKS
        has_unknown = False
        for key_node, value_node in zip(self.operands[::2], self.operands[1::2], strict=True):
            key, key_marks = unmark(key_node.evaluate(scope))
            value = value_node.evaluate(scope)
            marks |= key_marks
            if key is None:
                raise EvaluationError("null is not a key of an object")
            if key is UNKNOWN:
                has_unknown = True
            else:
                values[convert(key, STRING)] = value
        size_of(values)
        return mark(UNKNOWN if has_unknown else values, marks)


class GetAttribute(Composite):
    """`source.name`, where the source is not a plain reference."""

    __slots__ = ("name",)

    def __init__(self, source: Node, name: str) -> None:
        super().__init__(source)
        self.name = name

    def evaluate(self, scope: Scope) -> Any:
        return attribute(self.operands[0].evaluate(scope), self.name)


class Index(Composite):
    """`source[key]`, where the key is not written out or the source is not a plain reference."""

    __slots__ = ()

    def evaluate(self, scope: Scope) -> Any:
        source, key_node = self.operands
        key = key_node.evaluate(scope)
        if isinstance(source, Reference):
            return scope.resolve_index(source, key)
        return element(source.evaluate(scope), key)


class Item(Node):
    """The element that a splat is at."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def evaluate(self, scope: Scope) -> Any:
        return self.value


class Splat(Composite):
    """`source[*]…`: `each` says what is taken of `item`."""

    __slots__ = ("item",)

    def __init__(self, source: Node, item: Item, each: Node) -> None:
        super().__init__(source, each)
        self.item = item

    def evaluate(self, scope: Scope) -> Any:
        source, each = self.operands

        def taken(value: Any) -> Any:
            outer, self.item.value = self.item.value, value
            try:
                return each.evaluate(scope)
            finally:
                self.item.value = outer

        return count_value(splat(source.evaluate(scope), taken))


class Template(Composite):
    """Text with interpolations: at least two parts, or one that is text."""

    __slots__ = ()

    def evaluate(self, scope: Scope) -> Any:
        pieces: list[str] = []
        marks = NO_MARKS
        has_unknown = False
        length = 0
        for operand in self.operands:
            value, found = unmark(operand.evaluate(scope))
            marks |= found
            if value is UNKNOWN:
                has_unknown = True
            elif value is None:
                raise EvaluationError("a part of this template is null")
            else:
                pieces.append(to_text(value))
                length += len(pieces[-1])
        count_text(length)
        return mark(UNKNOWN if has_unknown else "".join(pieces), marks)
