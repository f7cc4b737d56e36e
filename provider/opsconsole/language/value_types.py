"""The language's values: marks, numbers, types, collections, texts, and their size.

Values are Python's own: None, UNKNOWN, bool, str, int, Fraction (a number that is not whole), list
(a tuple of the language), dict (an object of the language). Lists, sets and maps of the language,
whose elements are all of one type, are ListValue, SetValue and MapValue.

Numbers are binary floating point with 512 bits of mantissa. Precision, rounding and the shortest
decimal text are those of go-cty.

A mark (sensitive, ephemeral) wraps the smallest value that carries it. Whatever is computed from a
marked value is marked too.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from opsconsole.diagnostics import Path
from opsconsole.language.failures import MAX_EXPONENT, MAX_PARTS, MAX_TEXT, BeyondBounds
from opsconsole.values import UNKNOWN

SENSITIVE: Final = "sensitive"
"""Never shown in plans and outputs."""
EPHEMERAL: Final = "ephemeral"
"""Known during one run only: it may reach provider settings, never state."""

Marks = frozenset[str]
NO_MARKS: Final[Marks] = frozenset()
IS_SENSITIVE: Final[Marks] = frozenset((SENSITIVE,))


class Marked:
    """A value with marks. The value inside may hold marked values, but is not marked itself."""

    __slots__ = ("marks", "value")

    def __init__(self, value: Any, marks: Marks) -> None:
        self.value = value
        self.marks = marks

    def __repr__(self) -> str:
        return f"Marked({', '.join(sorted(self.marks))})"


def mark(value: Any, marks: Marks) -> Any:
    """Return `value` with `marks` added."""
    if not marks:
        return value
    if isinstance(value, Marked):
        return Marked(value.value, value.marks | marks)
    return Marked(value, marks)


def unmark(value: Any) -> tuple[Any, Marks]:
    """Return `value` without its outermost marks, and these."""
    if isinstance(value, Marked):
        return value.value, value.marks
    return value, NO_MARKS


def holds_marks(value: Any) -> bool:
    """Return whether `value` is marked at any depth."""
    if isinstance(value, Marked):
        return True
    if isinstance(value, dict):
        return any(map(holds_marks, value.values()))
    if isinstance(value, list):
        return any(map(holds_marks, value))
    return False


def unmark_deep(value: Any) -> tuple[Any, Marks]:
    """Return `value` without marks at any depth, and the union of all that were found."""
    if not holds_marks(value):
        return value, NO_MARKS
    found: set[str] = set()
    return _stripped(value, found), frozenset(found)


def _stripped(value: Any, found: set[str]) -> Any:
    if isinstance(value, Marked):
        found |= value.marks
        return _stripped(value.value, found)
    if isinstance(value, dict):
        return rebuilt(value, {key: _stripped(item, found) for key, item in value.items()})
    if isinstance(value, list):
        return rebuilt(value, [_stripped(item, found) for item in value])
    return value


def rebuilt(like: Any, items: Any) -> Any:
    """Return `items` as a collection of the same type as `like`, its element type included."""
    element = getattr(like, "element", None)
    return items if element is None else type(like)(items, element)


def marked_paths(value: Any, wanted: str, at: Path = ()) -> Iterator[Path]:
    """Yield the paths in `value` with the mark `wanted`; places below such a path are not named."""
    if isinstance(value, Marked):
        if wanted in value.marks:
            yield at
        else:
            yield from marked_paths(value.value, wanted, at)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from marked_paths(item, wanted, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from marked_paths(item, wanted, (*at, index))


Number = int | Fraction

_PRECISION = 512
_MAX_BITS = int(MAX_EXPONENT * 3.3219)
_TOO_LARGE = f"a number beyond 10^±{MAX_EXPONENT}"
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)


def parse_number(text: str) -> Number | None:
    """Return the number that `text` writes in decimal, or None.

    Raises:
        BeyondBounds: It is too large, too close to 0, or written with too many digits.
    """
    if not _DECIMAL.fullmatch(text):
        return None
    if text.isdigit() and len(text) < 150:
        return int(text)
    if len(text) > MAX_EXPONENT:
        raise BeyondBounds(_TOO_LARGE)
    mantissa, _, exponent = text.lower().partition("e")
    if abs(int(exponent or "0")) > 2 * MAX_EXPONENT:
        if not mantissa.strip("+-0."):
            return 0
        raise BeyondBounds(_TOO_LARGE)
    if mantissa.endswith("."):
        mantissa += "0"
    value = Fraction(mantissa) * Fraction(10) ** int(exponent or "0")
    return rounded(value)


class Double(int):
    """A whole number that was computed in double precision: written, as in Terraform, with the
    digits that tell it from every other such number. Arithmetic treats it as an ordinary
    integer."""

    def __neg__(self) -> Double:
        return Double(-int(self))

    def __abs__(self) -> Double:
        return Double(abs(int(self)))

    def __str__(self) -> str:
        return str(int(Decimal(repr(float(self)))))


def from_float(value: float) -> Number:
    """Return the number that `value` is written as in JSON."""
    number = parse_number(repr(value))
    if number is None:
        raise ValueError(f"not a number: {value!r}")
    return number


def rounded(value: Number) -> Number:
    """Return `value` rounded to the mantissa, ties to even; an int if it is whole.

    Raises:
        BeyondBounds: It is too large, or too close to 0.
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
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    return Fraction(2) ** (exponent - _PRECISION + 1)


def format_number(value: Number) -> str:
    """Return the shortest decimal text, without an exponent, that rounds to `value`."""
    if isinstance(value, int):
        return str(value)
    magnitude = abs(value)
    tolerance = _last_place(magnitude) / 2
    places = max(1, len(str(magnitude.denominator)) - len(str(magnitude.numerator)) - 1)
    scale = 10**places
    while abs(Fraction(round(magnitude * scale), scale) - magnitude) >= tolerance:
        places += 1
        scale *= 10
    digits = str(round(magnitude * scale)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 else text


def remainder(left: Number, right: Number) -> Number:
    """Return what `%` comes to in go-cty, which rounds quotient, product and difference."""
    times = int(rounded(Fraction(left) / Fraction(right)))
    return rounded(Fraction(left) - Fraction(rounded(times * Fraction(right))))


STRING: Final = "string"
NUMBER: Final = "number"
BOOL: Final = "bool"
DYNAMIC: Final = "dynamic"
"""The type of null and of unknown values, and the constraint `any`."""

Type = Any
"""One of the four names above, or a pair: ("list" | "set" | "map", element type),
("tuple", element types), ("object", ((name, type), …)) sorted by name."""

PRIMITIVES: Final = frozenset((STRING, NUMBER, BOOL))


class ListValue(list[Any]):
    """A list: all elements are of type `element`."""

    __slots__ = ("element",)

    def __init__(self, items: Iterable[Any], element: Type) -> None:
        super().__init__(items)
        self.element = element


class SetValue(list[Any]):
    """A set: distinct elements of type `element` in the order of iteration."""

    __slots__ = ("element",)

    def __init__(self, items: Iterable[Any], element: Type) -> None:
        super().__init__(items)
        self.element = element

    @property
    def known(self) -> bool:
        """Whether no element is unknown, so that it is known which elements there are."""
        return not any(item is UNKNOWN for item in self)


class MapValue(dict[str, Any]):
    """A map: all values are of type `element`."""

    __slots__ = ("element",)

    def __init__(self, items: Mapping[str, Any], element: Type) -> None:
        super().__init__(items)
        self.element = element


_TYPES_OF_CLASSES: Final[Mapping[type, Type]] = {
    str: STRING,
    int: NUMBER,
    Double: NUMBER,
    Fraction: NUMBER,
    bool: BOOL,
}


def type_of(value: Any) -> Type:
    """Return the type of `value`; of null and unknown it is DYNAMIC. Marks do not matter."""
    simple = _TYPES_OF_CLASSES.get(type(value))
    if simple is not None:
        return simple
    if value is None or value is UNKNOWN:
        return DYNAMIC
    if isinstance(value, Marked):
        return type_of(value.value)
    if isinstance(value, ListValue):
        return ("list", value.element)
    if isinstance(value, SetValue):
        return ("set", value.element)
    if isinstance(value, MapValue):
        return ("map", value.element)
    if isinstance(value, list):
        return ("tuple", tuple(type_of(item) for item in value))
    if isinstance(value, dict):
        return ("object", tuple((name, type_of(value[name])) for name in sorted(value)))
    raise TypeError(f"not a value of the expression language: {value!r}")


def kind_of(kind: Type) -> str:
    """Return the outermost name of a type: `list` for a list of strings."""
    return kind if isinstance(kind, str) else str(kind[0])


def type_to_json(kind: Type) -> Any:
    """Return the form that Terraform writes into states and plans: `["list", "string"]`."""
    if isinstance(kind, str):
        return kind
    name, inner = kind
    if name == "tuple":
        return [name, [type_to_json(item) for item in inner]]
    if name == "object":
        return [name, {attribute: type_to_json(item) for attribute, item in inner}]
    return [name, type_to_json(inner)]


def describe(kind: Type) -> str:
    """Return a type in the words of Terraform's messages: `list of string`."""
    if isinstance(kind, str):
        return "any value" if kind == DYNAMIC else kind
    name, inner = kind
    return name if name in ("tuple", "object") else f"{name} of {describe(inner)}"


def clusters(text: str) -> list[str]:
    """Return the grapheme clusters of `text`: characters as users see them."""
    if text.isascii() and "\r" not in text:
        return list(text)
    # Imported late: it takes long to import, and most texts are plain.
    import regex

    return [str(cluster) for cluster in regex.findall(r"\X", text)]


def normalised(text: str) -> str:
    """Return `text` in form C, which all strings of the language have."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


_CHARACTERS_PER_PART: Final = 16
"""Characters of a text that count as one element."""
_SMALL: Final = frozenset((int, bool, type(None)))


class _Meter(threading.local):
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


_meter = _Meter()


def metered() -> AbstractContextManager[None]:
    """Count from nothing what is made inside, which is one argument, output or local value."""
    return _meter


def count_parts(parts: int) -> None:
    """Count what was made.

    Raises:
        BeyondBounds: It is too much in all.
    """
    made = _meter.parts + parts
    check_elements(made)
    _meter.parts = made


def count_text(characters: int) -> None:
    """Count the characters of one text that is made; raises as `count_parts`."""
    if characters >= _CHARACTERS_PER_PART:
        check_length(characters)
        count_parts(characters // _CHARACTERS_PER_PART)


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


def count_value(value: Any) -> Any:
    """Count the elements or characters of a value that was made, and return it."""
    if isinstance(value, str):
        count_text(len(value))
    elif isinstance(value, list | dict) and value:
        count_parts(len(value))
        size_of(value)
    return value


def size_of(value: Any) -> int:
    """Return how many parts a value has at all depths.

    A part that occurs in it several times counts each time, though memory holds it once: code that
    writes or compares the value visits all of them.

    Raises:
        BeyondBounds: They are too many.
    """
    if isinstance(value, str):
        return len(value) // _CHARACTERS_PER_PART
    if isinstance(value, Marked):
        return size_of(value.value)
    if not isinstance(value, list | dict):
        return 0
    known = _meter.sizes.get(id(value))
    if known is not None:
        return known[0]
    size = len(value)
    for item in value.values() if isinstance(value, dict) else value:
        if type(item) not in _SMALL:
            size += size_of(item)
    check_elements(size)
    _meter.sizes[id(value)] = (size, value)
    return size
