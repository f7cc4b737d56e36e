"""JSON as Terraform writes it: keys in order, two spaces, and Go's escapes.

A state holds fields that this program does not know, and numbers that no float can hold. So text is
decoded only when a value is needed. `fields_of` and `items_of` return the parts of an object or
array undecoded, as `Raw`. `encode` writes a `Raw` unchanged.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
from msgspec import DecodeError, Raw

_INVALID = (DecodeError, UnicodeDecodeError, RecursionError)


class WrittenNumber(float):
    """A number with a fraction or an exponent, with its original text."""

    text: str

    def __new__(cls, text: str) -> WrittenNumber:
        number = super().__new__(cls, text)
        number.text = text
        return number


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_VALUES = msgspec.json.Decoder(float_hook=WrittenNumber)
_ENCODER = msgspec.json.Encoder(enc_hook=lambda number: Raw(number.text.encode()))
# Go's encoder escapes these characters, which occur in JSON only within strings.
_GO_ESCAPES = tuple((c.encode(), f"\\u{ord(c):04x}".encode()) for c in "<>&\u2028\u2029")


def decode(text: bytes | str) -> Any:
    """Decode JSON. A number with a fraction keeps its original text.

    Raises:
        ValueError: The text is not JSON, or is nested too deeply.
    """
    try:
        return _VALUES.decode(text)
    except _INVALID:
        # The standard library gives the position, and accepts lone surrogates, like Go.
        return _decode_slowly(text)


def _decode_slowly(text: bytes | str) -> Any:
    try:
        return json.loads(text, parse_float=WrittenNumber, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


fields_of = msgspec.json.Decoder(dict[str, Raw]).decode
"""Returns the undecoded fields of a JSON object by name; a ValueError for any other text."""
items_of = msgspec.json.Decoder(list[Raw] | None).decode
"""Returns the undecoded items of a JSON array; None for null; a ValueError for any other text."""


def compact(text: bytes) -> bytes:
    """Return JSON without spaces; raises as `decode`."""
    try:
        return msgspec.json.format(text, indent=-1)
    except _INVALID:
        return encode(_decode_slowly(text))


def encode(value: Any, *, sort: bool = False) -> bytes:
    """Return a value as compact JSON with Go's escapes.

    Args:
        sort: Sort the keys of every object, as Terraform does for attributes.
    """
    return escape_as_go(_ENCODER.encode(_sort(value) if sort else value))


def escape_as_go(text: bytes) -> bytes:
    """Escape the characters in JSON that Go's encoder escapes."""
    for letter, escape in _GO_ESCAPES:
        text = text.replace(letter, escape)
    return text


_NESTED: Final = (dict, list, tuple)


def _sort(value: Any) -> Any:
    if isinstance(value, dict):
        # Terraform writes a value of dynamic type in this order; all other keys are sorted.
        names = value if list(value) == ["value", "type"] else sorted(value)
        # Most values are scalars, for which a call would take longer than this test.
        return {
            name: _sort(item) if isinstance(item := value[name], _NESTED) else item
            for name in names
        }
    if isinstance(value, list | tuple):
        return [_sort(item) for item in value]
    return value


def lay_out(text: bytes) -> bytes:
    """Return compact JSON in the layout of a state file: two spaces a level, a final line break."""
    return msgspec.json.format(text, indent=2) + b"\n"
