"""How much one expression may ask for, and the one error for what asks for more.

Terraform has few such limits: it answers, or exhausts the machine. A program that exceeds one
here can still be run by Terraform, so the error says that and `try` does not catch it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from threading import local
from typing import Any, Final

from opsconsole.language.failures import UnsupportedExpression

MAX_TEXT: Final = 16 * 2**20
"""Characters in one string."""
MAX_PARTS: Final = 2_000_000
"""What one argument, output or local value may make in all: elements, and 16 characters each."""
MAX_INSTANCES: Final = 200_000
"""Instances of one block with `count` or `for_each`."""
MAX_WIDTH: Final = 1_000_000
"""Width and precision in a format; Go's own formats end here as well."""
MAX_EXPONENT: Final = 4_000
"""Numbers reach from 10^-4000 to 10^4000, and no text of one is longer."""
MAX_FILE: Final = 16 * 2**20
"""Bytes of a file that a function reads."""
MAX_PROGRAM: Final = 512 * 2**20
"""Bytes of a file of a program: 200,000 resources fit."""
MAX_NESTING: Final = 100
"""Brackets, unary operators, conditionals and quoted templates inside of each other."""
MAX_OPERATIONS: Final = 20_000
"""Tokens of one expression."""

CHARACTERS_PER_PART: Final = 16
"""Characters of a text that count as one element."""


class BeyondBounds(UnsupportedExpression):
    """The expression asks for more than a bound of this module allows."""


class _Meter(local):
    """What the evaluation of one value has made so far; one meter a thread.

    `sizes` holds the sizes of collections by identity, with the collections themselves, so that
    no identity is given to another one meanwhile.
    """

    def __init__(self) -> None:
        self.parts = 0
        self.outer: list[int] = []
        self.sizes: dict[int, tuple[int, Any]] = {}

    def __enter__(self) -> None:
        self.outer.append(self.parts)
        self.parts = 0

    def __exit__(self, *_: object) -> None:
        self.parts = self.outer.pop()
        if not self.outer:
            self.sizes.clear()


METER: Final = _Meter()
"""What is measured now."""


def metered() -> AbstractContextManager[None]:
    """Count from nothing what is made inside, which is one argument, output or local value."""
    return METER


def count_parts(parts: int) -> None:
    """Count what was made.

    Raises:
        BeyondBounds: It is too much in all.
    """
    made = METER.parts + parts
    check_elements(made)
    METER.parts = made


def count_text(characters: int) -> None:
    """Count the characters of one text that is made; raises as `count_parts`."""
    if characters >= CHARACTERS_PER_PART:
        check_length(characters)
        count_parts(characters // CHARACTERS_PER_PART)


def check_length(characters: int) -> None:
    """Refuse a text before it is made.

    Raises:
        BeyondBounds: It would be too long.
    """
    if characters > MAX_TEXT:
        raise BeyondBounds(f"a text of more than {MAX_TEXT:,} characters")


def check_elements(elements: int) -> None:
    """Refuse a collection before it is made; raises as `count_parts`."""
    if elements > MAX_PARTS:
        raise BeyondBounds(f"its values hold more than {MAX_PARTS:,} elements in all")
