"""Functions on numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from opsconsole.language.failures import MAX_EXPONENT, BeyondBounds, EvaluationError
from opsconsole.language.functions.collections import whole
from opsconsole.language.functions.registry import Signature
from opsconsole.language.numbers import Double, Number, from_float
from opsconsole.language.values import DYNAMIC, NUMBER, STRING

Signature("abs", (NUMBER,))(abs)
Signature("max", (NUMBER,), rest=NUMBER)(lambda *numbers: max(numbers))
Signature("min", (NUMBER,), rest=NUMBER)(lambda *numbers: min(numbers))


@Signature("ceil", (NUMBER,))
def _ceil(number: Number) -> Number:
    return number if isinstance(number, int) else -(-number // 1)


@Signature("floor", (NUMBER,))
def _floor(number: Number) -> Number:
    return number if isinstance(number, int) else number // 1


@Signature("signum", (NUMBER,))
def _signum(number: Number) -> Number:
    value = whole(number)
    return (value > 0) - (value < 0)


def _float_result(compute: Callable[..., float], *numbers: Number) -> Number:
    """Compute in double precision, as Terraform does for these two functions."""
    try:
        result = compute(*numbers)
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise EvaluationError(f"there is no result: {error}") from error
    return Double(result) if result.is_integer() else from_float(result)


Signature("pow", (NUMBER, NUMBER))(partial(_float_result, math.pow))
Signature("log", (NUMBER, NUMBER))(
    partial(_float_result, lambda number, base: math.log(number) / math.log(base))
)


@Signature("parseint", (DYNAMIC, NUMBER))
def _parseint(text: Any, base: Number) -> Number:
    if text.type != STRING:
        raise EvaluationError("a string is required")
    text = text.data
    radix = whole(base)
    if not 2 <= radix <= 62:
        raise EvaluationError("the base must be 2 to 62")
    if len(text) > MAX_EXPONENT:
        raise BeyondBounds(f"a number of more than {MAX_EXPONENT} digits")
    digits = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    value = 0
    for digit in digits:
        worth = _digit(digit, radix)
        if worth is None:
            break
        value = value * radix + worth
    else:
        if digits:
            return -value if text.startswith("-") else value
    raise EvaluationError(f'cannot parse "{text}" as a base {radix} integer')


def _digit(character: str, radix: int) -> int | None:
    """Return a digit's value. Up to base 36 case does not matter; above, lower case comes first."""
    if not (character.isascii() and character.isalnum()):
        return None
    if character.isdigit():
        worth = int(character)
    elif radix <= 36:
        worth = ord(character.lower()) - ord("a") + 10
    elif character.islower():
        worth = ord(character) - ord("a") + 10
    else:
        worth = ord(character) - ord("A") + 36
    return worth if worth < radix else None
