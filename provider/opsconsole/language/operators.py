"""Operators and conditionals. Results keep the operands' marks; unknown operands give unknowns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from opsconsole.language.conversion import all_of, any_of, convert, equal, unify
from opsconsole.language.failures import DependsOnRelease, EvaluationError, UnsupportedExpression
from opsconsole.language.numbers import calculate, negate, remainder
from opsconsole.language.syntax import Node, Scope
from opsconsole.language.values import BOOL, DYNAMIC, NUMBER, Type, Value, unknown
from opsconsole.values import UNKNOWN


class Binary(Node):
    """`left operator right`."""

    __slots__ = ("operator",)

    def __init__(self, operator: str, left: Node, right: Node) -> None:
        super().__init__(left, right)
        self.operator = operator

    def evaluate(self, scope: Scope) -> Value:
        left, right = self.operands
        if self.operator in ("&&", "||"):
            return self._logic(scope)
        return _binary(self.operator, left.evaluate(scope), right.evaluate(scope))

    def _logic(self, scope: Scope) -> Value:
        """Evaluate both operands, as Terraform 1.11 does."""
        left, right = (_attempt(operand, scope) for operand in self.operands)
        try:
            for item in (left, right):
                if isinstance(item, EvaluationError):
                    raise item
            return _binary(self.operator, left, right)
        except EvaluationError as error:
            # Terraform 1.12 and OpenTofu ignore a failure if the other operand decides: `false &&
            # X` is false.
            if _passes_over(self.operator, left, right):
                raise DependsOnRelease(str(error)) from error
            raise


def _attempt(node: Node, scope: Scope) -> Any:
    """Return the value of a node, or its failure."""
    try:
        return node.evaluate(scope)
    except EvaluationError as error:
        return error


def _binary(operator: str, left: Value, right: Value) -> Value:
    (left_data, left_marks), (right_data, right_marks) = left.unmark_deep(), right.unmark_deep()
    left, right = Value(left.type, left_data), Value(right.type, right_data)
    marks = left_marks | right_marks
    if operator in ("==", "!="):
        verdict = equal(left, right)
        negates = operator == "!=" and verdict is not UNKNOWN
        return Value(BOOL, not verdict if negates else verdict, marks)
    if operator in ("&&", "||"):
        decide = any_of if operator == "||" else all_of
        return Value(BOOL, decide([_operand(left, BOOL), _operand(right, BOOL)]), marks)
    result = _numeric(operator, _operand(left, NUMBER), _operand(right, NUMBER))
    return Value(NUMBER if operator in "+-*/%" else BOOL, result, marks)


class Unary(Node):
    """`-operand` or `!operand`."""

    __slots__ = ("operator",)

    def __init__(self, operator: str, operand: Node) -> None:
        super().__init__(operand)
        self.operator = operator

    def evaluate(self, scope: Scope) -> Value:
        value = self.operands[0].evaluate(scope)
        type = NUMBER if self.operator == "-" else BOOL
        data = _operand(value, type)
        if data is not UNKNOWN:
            data = negate(data) if type is NUMBER else not data
        return Value(type, data, value.marks)


def _operand(value: Value, type: Type) -> Any:
    if value.is_null:
        raise EvaluationError("an operand is null")
    try:
        return convert(value, type).data
    except EvaluationError as error:
        raise EvaluationError(f"unsuitable operand: {error}") from error


def _passes_over(operator: str, left: Value | EvaluationError, right: Any) -> bool:
    """Return whether Terraform 1.12 and OpenTofu ignore the failure of `left operator right`.

    Args:
        left, right: The operands, or the EvaluationError of an operand that failed.
    """
    if isinstance(left, EvaluationError):
        return _decides(operator, right)
    if isinstance(right, EvaluationError):
        return left.data is UNKNOWN or _decides(operator, left)
    return right.is_null and _decides(operator, left)


def _decides(operator: str, operand: Any) -> bool:
    """Return whether an operand of `&&` or `||` decides the result alone."""
    deciding = operator == "||"
    return isinstance(operand, Value) and (
        operand.data is deciding or operand.data == ("true" if deciding else "false")
    )


def _numeric(operator: str, left: Any, right: Any) -> Any:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if operator in "/%" and right == 0:
        raise UnsupportedExpression("a division by zero")
    return _NUMERIC[operator](left, right)


_NUMERIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    **{operator: partial(calculate, operator) for operator in "+-*/"},
    "%": remainder,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


class Conditional(Node):
    """`condition ? when_true : when_false`, or `%{ if condition }…%{ else }…%{ endif }`.

    A failure of the result that is not taken is ignored.
    """

    def evaluate(self, scope: Scope) -> Value:
        condition = self.operands[0].evaluate(scope)
        results: list[Value] = []
        failures: list[EvaluationError | None] = []
        # The result that is not taken is evaluated too, because both results need a common type.
        for operand in self.operands[1:]:
            try:
                results.append(operand.evaluate(scope))
                failures.append(None)
            except EvaluationError as error:
                results.append(unknown())
                failures.append(error)
        if condition.data is not None and condition.data is not UNKNOWN:
            failure = failures[0 if convert(condition, BOOL).data else 1]
            if failure is not None:
                raise failure
        return _choose(condition, results)


def _choose(condition: Value, results: Sequence[Value]) -> Value:
    type = _common_type(results)
    marks = condition.marks.union(*(item.marks for item in results))
    if condition.is_null:
        raise EvaluationError("the condition is null")
    if condition.data is UNKNOWN:
        data = None if all(item.is_null for item in results) else UNKNOWN
        return Value(type, data, marks)
    chosen = results[0 if convert(condition, BOOL).data else 1]
    return convert(chosen, type).mark(marks)


def _common_type(results: Sequence[Value]) -> Type:
    """Return the common type of both results of a conditional; a null without a type fits any."""
    types = [item.type for item in results if item.type is not DYNAMIC or not item.is_null]
    type = DYNAMIC if DYNAMIC in types else unify(types)
    if type is None:
        one, other = map(str, types)
        found = f"{one} and {other}" if one != other else f"two different {one}s"
        raise EvaluationError(f"the results of a conditional must have one type, not {found}")
    return type
