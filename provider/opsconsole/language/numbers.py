"""Numbers as go-cty has them: binary floating point, mostly with 512 bits of mantissa.

A whole number is an int. Any other number is a Fraction whose denominator is a power of two. The
results of some functions have fewer bits, and so have values computed from them alone. Rounding and
the shortest decimal text are as in go-cty.
"""

from __future__ import annotations

import re
from fractions import Fraction

from opsconsole.language.failures import MAX_EXPONENT, BeyondBounds, UnsupportedExpression

Number = int | Fraction

_PRECISION = 512
_DOUBLE = 53
"""The bits of a double's mantissa."""
# One decimal digit takes log2(10) bits.
_MAX_BITS = int(MAX_EXPONENT * 3.3219)
_TOO_LARGE = f"a number beyond 10^±{MAX_EXPONENT}"
_MANTISSA = r"[+-]?(\d+(\.\d*)?|\.\d+)"
_DECIMAL = re.compile(rf"{_MANTISSA}([eE][+-]?\d+)?", re.ASCII)
_OF_TERRAFORM = re.compile(rf"[+-]?[iI]nf|{_MANTISSA}[pP][+-]?\d+", re.ASCII)
"""Infinity, and numbers with a binary exponent."""


def parse_number(text: str) -> Number | None:
    """Parse a decimal number; return None if `text` is not a number.

    A number in a form that only Terraform reads is an UnsupportedExpression.
    """
    if not _DECIMAL.fullmatch(text):
        if _OF_TERRAFORM.fullmatch(text):
            raise UnsupportedExpression("a number such as Inf or 1p5")
        return None
    # The mantissa can hold that many digits, so no rounding is needed.
    if text.isdigit() and len(text) < 150:
        return int(text)
    if len(text) > MAX_EXPONENT:
        raise BeyondBounds(_TOO_LARGE)
    mantissa, _, exponent = text.lower().partition("e")
    # The digits move the point by at most MAX_EXPONENT places, so they cannot compensate for this.
    if abs(int(exponent or "0")) > 2 * MAX_EXPONENT:
        if mantissa.strip("+-0."):
            raise BeyondBounds(_TOO_LARGE)
        exponent = "0"
    value = Fraction(f"{mantissa}0" if "." in mantissa else mantissa)
    value *= Fraction(10) ** int(exponent or "0")
    return _with_sign(round_number(value), negative=text.startswith("-"))


class RoundedInteger(int):
    """A whole number with another precision than literals have, or with more bits than it."""

    precision: int


class NegativeZero(RoundedInteger):
    """The zero of `-0` and `0 * -1`. Only its text differs from 0."""

    def __str__(self) -> str:
        return "-0"


class RoundedFraction(Fraction):
    """A fraction with another precision than literals have."""

    __slots__ = ("precision",)
    precision: int


def precision_of(value: Number) -> int:
    if isinstance(value, RoundedInteger | RoundedFraction):
        return value.precision
    return _PRECISION


def int64(value: int) -> Number:
    """Return a whole number as the functions of Terraform make it, with 64 bits of mantissa."""
    return _with_precision(value, 64)


def _with_precision(value: Number, precision: int) -> Number:
    rounded = RoundedInteger(value) if isinstance(value, int) else RoundedFraction(value)
    rounded.precision = precision
    return rounded


def from_double(value: float) -> Number:
    """Return a double as a number of its precision."""
    return round_number(Fraction(value), _DOUBLE)


def from_float(value: float) -> Number:
    """Return the number that the JSON text of `value` represents."""
    number = parse_number(repr(value))
    if number is None:
        raise ValueError(f"not a number: {value!r}")
    return number


def round_number(value: Number, precision: int = _PRECISION) -> Number:
    """Round `value` to the mantissa, ties to even; return an int if the result is whole."""
    if isinstance(value, int) and value.bit_length() <= min(precision, _PRECISION):
        # So is nearly every number of a program, and fractions are slow.
        return int(value) if precision == _PRECISION else _with_precision(value, precision)
    exact = Fraction(value)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if abs(exponent) > _MAX_BITS and exact:
        raise BeyondBounds(_TOO_LARGE)
    if exact:
        step = _last_place(exact, precision)
        exact = round(exact / step) * step
    result = exact.numerator if exact.denominator == 1 else exact
    if precision == _PRECISION and exact.numerator.bit_length() <= _PRECISION:
        return result
    return _with_precision(result, precision)


def _last_place(value: Fraction, precision: int) -> Fraction:
    """Return the weight of the last mantissa bit of `value`, which is not zero."""
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    # The lengths in bits differ by the exponent, or by the exponent plus one.
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    return Fraction(2) ** (exponent - precision + 1)


def format_number(value: Number) -> str:
    """Return the shortest decimal text, without an exponent, that rounds to `value`."""
    precision = precision_of(value)
    if isinstance(value, int) and value.bit_length() <= precision:
        return str(value)
    sign, magnitude = "-" if value < 0 else "", abs(Fraction(value))
    tolerance = _last_place(magnitude, precision) / 2
    if isinstance(value, int):
        scale = 10 ** (len(str(value)) - 1)
        while abs(round(magnitude / scale) * scale - magnitude) >= tolerance:
            scale //= 10
        return f"{sign}{round(magnitude / scale) * scale}"
    # Start near the first digit that is not 0, because thousands of zeros may precede that digit.
    places = max(1, len(str(magnitude.denominator)) - len(str(magnitude.numerator)) - 1)
    scale = 10**places
    while abs(Fraction(round(magnitude * scale), scale) - magnitude) >= tolerance:
        places += 1
        scale *= 10
    digits = str(round(magnitude * scale)).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")


def written_number(value: Fraction) -> str:
    """Return the text of a fraction in a state, which Terraform writes from a double if it is one.

    The texts differ if the fraction has the value of a double with more bits of mantissa.
    """
    # A fraction is never beyond the range of doubles: it has fewer than 512 bits before the point.
    return format_number(round_number(value, _DOUBLE) if float(value) == value else value)


def is_negative(number: Number) -> bool:
    """Return whether a number is written with a minus sign, as negative zero is."""
    return number < 0 or isinstance(number, NegativeZero)


def _with_sign(number: Number, *, negative: bool) -> Number:
    """Return `number`, or the negative zero if it is a zero and `negative` is true."""
    if number or not negative:
        return number
    zero = NegativeZero()
    zero.precision = precision_of(number)
    return zero


def negate(number: Number) -> Number:
    negated = round_number(-number, precision_of(number))
    return _with_sign(negated, negative=not is_negative(number))


def calculate(operator: str, left: Number, right: Number) -> Number:
    """Return the result of `+`, `-`, `*` or `/`, rounded to the larger precision of the two."""
    precision = max(precision_of(left), precision_of(right))
    signs = is_negative(left), is_negative(right)
    if operator == "/":
        quotient = round_number(Fraction(left) / right, precision)
        return _with_sign(quotient, negative=signs[0] != signs[1])
    if operator == "*":
        product = left * right
        if precision < _PRECISION:
            # As in go-cty, a product keeps its bits, up to the precision of literals.
            bits = Fraction(round_number(product)).numerator
            lowest = bits & -bits
            precision = max(precision, bits.bit_length() - lowest.bit_length() + 1)
        return _with_sign(round_number(product, precision), negative=signs[0] != signs[1])
    total = round_number(left + right if operator == "+" else left - right, precision)
    return _with_sign(total, negative=signs == (True, operator == "+"))


def remainder(left: Number, right: Number) -> Number:
    """Return `%` as go-cty computes it: quotient, product and difference are rounded."""
    precision = max(precision_of(left), 64)
    times = round_number(int(calculate("/", left, right)), precision)
    product = round_number(Fraction(times) * Fraction(right), precision)
    return calculate("-", left, product)
