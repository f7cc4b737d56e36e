"""Operators of the expression language on values; marks travel, unknown operands give UNKNOWN."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from opsconsole.language.conversion import convert, equal
from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.unification import unify
from opsconsole.language.value_types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    describe,
    mark,
    remainder,
    rounded,
    type_of,
    unmark,
    unmark_deep,
)
from opsconsole.values import UNKNOWN


def binary(operator: str, left: Any, right: Any) -> Any:
    """Return `left operator right`.

    Raises:
        EvaluationError: The operands do not fit the operator.
        UnsupportedExpression: The result is infinite.
    """
    left, left_marks = unmark_deep(left)
    right, right_marks = unmark_deep(right)
    if operator in _EQUALITY:
        verdict = equal(left, right)
        result = verdict if verdict is UNKNOWN or operator == "==" else not verdict
    elif operator in _LOGIC:
        result = _logic(operator, _operand(left, BOOL), _operand(right, BOOL))
    else:
        result = _numeric(operator, _operand(left, NUMBER), _operand(right, NUMBER))
    return mark(result, left_marks | right_marks)


def unary(operator: str, operand: Any) -> Any:
    """Return `-operand` or `!operand`."""
    value, marks = unmark(operand)
    value = _operand(value, NUMBER if operator == "-" else BOOL)
    if value is UNKNOWN:
        return mark(UNKNOWN, marks)
    return mark(-value if operator == "-" else not value, marks)


def _operand(value: Any, kind: str) -> Any:
    if value is None:
        raise EvaluationError("an operand is null")
    try:
        return convert(value, kind)
    except EvaluationError as error:
        raise EvaluationError(f"unsuitable operand: {error}") from error


_EQUALITY: Final = frozenset(("==", "!="))
_LOGIC: Final = frozenset(("&&", "||"))


def _logic(operator: str, left: Any, right: Any) -> Any:
    """An operand that decides alone does so even if the other one is unknown."""
    deciding = operator == "||"
    if left is deciding or right is deciding:
        return deciding
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else not deciding


def passes_over(operator: str, left: Any, right: Any) -> bool:
    """Return whether Terraform 1.12 and OpenTofu pass over the failure of `left operator right`.

    Args:
        left, right: The operands; one that failed is its EvaluationError.
    """
    if isinstance(left, EvaluationError):
        return _decides(operator, right)
    if isinstance(right, EvaluationError):
        return unmark(left)[0] is UNKNOWN or _decides(operator, left)
    return unmark(right)[0] is None and _decides(operator, left)


def _decides(operator: str, operand: Any) -> bool:
    """Return whether an operand of `&&` or `||` decides alone."""
    value, _ = unmark_deep(operand)
    deciding = operator == "||"
    return value is deciding or value == ("true" if deciding else "false")


def _numeric(operator: str, left: Any, right: Any) -> Any:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if operator in "/%" and right == 0:
        raise UnsupportedExpression("a division by zero, which comes to infinity,")
    return _NUMERIC[operator](left, right)


_NUMERIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": lambda left, right: rounded(left + right),
    "-": lambda left, right: rounded(left - right),
    "*": lambda left, right: rounded(left * right),
    "/": lambda left, right: rounded(Fraction(left) / right),
    "%": remainder,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def conditional(condition: Any, when_true: Any, when_false: Any) -> Any:
    """Return one of two values, converted to the type that both can have.

    Raises:
        EvaluationError: The condition is null or no bool, or the two have no type in common.
    """
    kinds = type_of(when_true), type_of(when_false)
    wanted = DYNAMIC if DYNAMIC in kinds and None not in (when_true, when_false) else unify(kinds)
    if wanted is None:
        raise EvaluationError(
            f"the results of a conditional must have one type, not {describe(kinds[0])} "
            f"and {describe(kinds[1])}"
        )
    condition, marks = unmark(condition)
    when_true, true_marks = unmark(when_true)
    when_false, false_marks = unmark(when_false)
    marks |= true_marks | false_marks
    if condition is None:
        raise EvaluationError("the condition is null")
    if condition is UNKNOWN:
        both_null = when_true is None and when_false is None
        return mark(None if both_null else UNKNOWN, marks)
    chosen = when_true if convert(condition, BOOL) else when_false
    return mark(convert(chosen, wanted), marks)
