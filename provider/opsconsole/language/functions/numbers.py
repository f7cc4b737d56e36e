"""Functions on numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial, reduce
from string import ascii_letters, digits
from typing import Any

from opsconsole.language.failures import (
    MAX_EXPONENT,
    BeyondBounds,
    EvaluationError,
    UnsupportedExpression,
)
from opsconsole.language.functions.collections import require_integer
from opsconsole.language.functions.registry import Signature
from opsconsole.language.numbers import (
    Number,
    from_double,
    int64,
    is_negative,
    negate,
    round_number,
)
from opsconsole.language.values import DYNAMIC, NUMBER, STRING

Signature("abs", (NUMBER,))(lambda number: negate(number) if is_negative(number) else number)
Signature("max", (NUMBER,), rest=NUMBER)(lambda *numbers: max(numbers))
Signature("min", (NUMBER,), rest=NUMBER)(lambda *numbers: min(numbers))


for _name, _step in {"ceil": math.ceil, "floor": math.floor}.items():
    Signature(_name, (NUMBER,))(
        # A whole number keeps its precision.
        lambda number, step=_step: (number or 0) if isinstance(number, int) else step(number)
    )


@Signature("signum", (NUMBER,))
def _signum(number: Number) -> Number:
    value = require_integer(number)
    return int64((value > 0) - (value < 0))


def _in_doubles(compute: Callable[[float, float], float], left: Number, right: Number) -> Number:
    """Compute in double precision, as Terraform does for these two functions."""
    try:
        return from_double(compute(float(left), float(right)))
    except (OverflowError, ZeroDivisionError) as error:
        raise UnsupportedExpression("a result beyond the range of doubles") from error
    except ValueError as error:
        raise EvaluationError(f"there is no result: {error}") from error


def _power(base: float, exponent: float) -> float:
    """Return a power that every library rounds alike: the last digit of others may differ."""
    if abs(exponent) == 0.5:
        root = math.sqrt(base)
        return root if exponent > 0 else 1 / root
    if exponent.is_integer() and abs(exponent) < 1100:
        exact = Fraction(base) ** int(abs(exponent))
        if float(exact) == exact:
            return float(exact) if exponent >= 0 else 1 / float(exact)
    raise UnsupportedExpression("a power that is no double")


def _logarithm(number: float, base: float) -> float:
    """Return a logarithm that every library rounds alike: the last digit of others may differ."""
    powers_of_two = math.frexp(number)[0] == math.frexp(base)[0] == 0.5
    if powers_of_two or number == base or number == 1 < base:
        return math.log(number) / math.log(base)
    if number < 0 or base < 0:
        raise ValueError("a number is negative")
    raise UnsupportedExpression("a logarithm of numbers that are no powers of two")


Signature("pow", (NUMBER, NUMBER))(partial(_in_doubles, _power))
Signature("log", (NUMBER, NUMBER))(partial(_in_doubles, _logarithm))


_DIGITS = digits + ascii_letters


@Signature("parseint", (DYNAMIC, NUMBER))
def _parseint(text: Any, base: Number) -> Number:
    if text.type != STRING:
        raise EvaluationError("a string is required")
    text = text.data
    radix = require_integer(base)
    if not 2 <= radix <= 62:
        raise EvaluationError("the base must be 2 to 62")
    if len(text) > MAX_EXPONENT:
        raise BeyondBounds(f"a number of more than {MAX_EXPONENT} digits")
    # Up to base 36 case does not matter; above, lower case comes first.
    written = text.lower() if radix <= 36 and text.isascii() else text
    digits = [_DIGITS.find(digit) for digit in written[written.startswith(("-", "+")) :]]
    if digits and all(0 <= digit < radix for digit in digits):
        value = reduce(lambda sum, digit: sum * radix + digit, digits)
        value = -value if text.startswith("-") else value
        return round_number(value, max(64, value.bit_length()))
    raise EvaluationError(f'cannot parse "{text}" as a base {radix} integer')
