"""Bounds of literal strings and numbers, and the explanation of values that break them. Pure.

The definitions state the bounds and check declarations by them; the constructs check them while a
program runs. Only bounds that the API document attributes to a field are stated.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from opsconsole.text import nearest

_MOST_DIGITS: Final = 20


class Violation(NamedTuple):
    """A value that breaks its bounds.

    Attributes:
        problem: The wrong value, to be read after the attribute's name: `cannot be 0`.
        expected: The expected value, without a capital and a full stop.
        suggestion: The most similar allowed value, if there is one.
    """

    problem: str
    expected: str
    suggestion: str | None = None


class Bounds(NamedTuple):
    """Bounds of one attribute, all inclusive; None or empty means unbounded.

    Attributes:
        integer: A number must have no fraction.
        hint: `pattern` in words.
    """

    allowed: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    hint: str = ""
    integer: bool = False

    def check(self, value: Any) -> Violation | None:
        """Return the bounds that a literal string or number breaks, or None."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value)
        return None

    def _number(self, value: int | float) -> Violation | None:
        if self.integer and value != int(value):
            return Violation(f"cannot be {_shorten(value)}", "it must be a whole number")
        low, high = self.minimum, self.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            return Violation(
                f"cannot be {_shorten(value)}", f"it must be {describe_range(low, high)}"
            )
        return None

    def _text(self, text: str) -> Violation | None:
        if self.allowed and text not in self.allowed:
            options = ", ".join(self.allowed)
            closest = nearest(text.lower(), self.allowed) or None
            return Violation(f"cannot be {text!r}", f"it is one of: {options}", closest)
        low, high = self.min_length, self.max_length
        if (low is not None and len(text) < low) or (high is not None and len(text) > high):
            bounds = describe_range(low, high)
            return Violation(f"has {len(text)} characters", f"it must have {bounds} of them")
        if self.pattern is not None and not re.fullmatch(self.pattern, text, re.DOTALL):
            return Violation(f"cannot be {text!r}", self.hint)
        return None


def _shorten(value: int | float) -> str:
    """Return a number as text, rounded if it is a whole number of many digits."""
    # Python writes a float shortly by itself, and refuses to write an int of thousands of digits.
    if isinstance(value, float) or abs(value) < 10**_MOST_DIGITS:
        return str(value)
    from decimal import Decimal  # at each start of the provider it would take a millisecond

    return f"{Decimal(value).normalize():.6g}"


def describe_range(low: int | None, high: int | None) -> str:
    """Return a range in words; at least one end is bounded."""
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"


UNBOUNDED = Bounds()
