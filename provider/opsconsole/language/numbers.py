"""Numbers as go-cty has them: binary floating point with 512 bits of mantissa.

A whole number is an int. Any other number is a Fraction whose denominator is a power of two.
Precision, rounding and the shortest decimal text are as in go-cty.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from opsconsole.language.failures import MAX_EXPONENT, BeyondBounds

Number = int | Fraction

_PRECISION = 512
# One decimal digit takes log2(10) bits.
_MAX_BITS = int(MAX_EXPONENT * 3.3219)
_TOO_LARGE = f"a number beyond 10^±{MAX_EXPONENT}"
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)


def parse_number(text: str) -> Number | None:
    """Parse a decimal number; return None if `text` is not a number.

    Raises:
        BeyondBounds: The number is too large, too close to 0, or written with too many digits.
    """
    if not _DECIMAL.fullmatch(text):
        return None
    # The mantissa can hold that many digits, so no rounding is needed.
    if text.isdigit() and len(text) < 150:
        return int(text)
    if len(text) > MAX_EXPONENT:
        raise BeyondBounds(_TOO_LARGE)
    mantissa, _, exponent = text.lower().partition("e")
    # The digits move the point by at most MAX_EXPONENT places, so they cannot compensate for this.
    if abs(int(exponent or "0")) > 2 * MAX_EXPONENT:
        if not mantissa.strip("+-0."):
            return 0
        raise BeyondBounds(_TOO_LARGE)
    if mantissa.endswith("."):
        mantissa += "0"
    value = Fraction(mantissa) * Fraction(10) ** int(exponent or "0")
    return round_number(value)


class Double(int):
    """A whole number that was computed in double precision.

    As in Terraform, it is written with the digits that distinguish it from every other double.
    Arithmetic treats it as an ordinary integer.
    """

    def __neg__(self) -> Double:
        return Double(-int(self))

    def __abs__(self) -> Double:
        return Double(abs(int(self)))

    def __str__(self) -> str:
        return str(int(Decimal(repr(float(self)))))


def from_float(value: float) -> Number:
    """Return the number that the JSON text of `value` represents."""
    number = parse_number(repr(value))
    if number is None:
        raise ValueError(f"not a number: {value!r}")
    return number


def round_number(value: Number) -> Number:
    """Round `value` to the mantissa, ties to even; return an int if the result is whole.

    Raises:
        BeyondBounds: The number is too large, or too close to 0.
    """
    if type(value) is int and value.bit_length() <= _PRECISION:
        return value  # So is nearly every number of a program, and fractions are slow.
    fraction = Fraction(value)
    exponent = fraction.numerator.bit_length() - fraction.denominator.bit_length()
    if abs(exponent) > _MAX_BITS and fraction:
        raise BeyondBounds(_TOO_LARGE)
    if fraction.denominator == 1 and abs(fraction.numerator).bit_length() <= _PRECISION:
        return fraction.numerator
    step = _last_place(fraction)
    exact = round(fraction / step) * step
    return exact.numerator if exact.denominator == 1 else exact


def _last_place(value: Fraction) -> Fraction:
    """Return the weight of the last mantissa bit of `value`, which is not zero."""
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    # The lengths in bits differ by the exponent, or by the exponent plus one.
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    return Fraction(2) ** (exponent - _PRECISION + 1)


def format_number(value: Number) -> str:
    """Return the shortest decimal text, without an exponent, that rounds to `value`."""
    if isinstance(value, int):
        return str(value)
    magnitude = abs(value)
    tolerance = _last_place(magnitude) / 2
    # Start near the first digit that is not 0, because thousands of zeros may precede that digit.
    places = max(1, len(str(magnitude.denominator)) - len(str(magnitude.numerator)) - 1)
    scale = 10**places
    while abs(Fraction(round(magnitude * scale), scale) - magnitude) >= tolerance:
        places += 1
        scale *= 10
    digits = str(round(magnitude * scale)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 else text


def remainder(left: Number, right: Number) -> Number:
    """Return the result of `%` in go-cty, which rounds quotient, product and difference."""
    times = int(round_number(Fraction(left) / Fraction(right)))
    return round_number(Fraction(left) - Fraction(round_number(times * Fraction(right))))
