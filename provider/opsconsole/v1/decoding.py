"""From bytes to a JSON object, within bounds: depth, numbers, memory. Nothing of the console's own.

What a console may send is not bounded by the document, and what Python makes of a text may be
thirty times larger than the text.
"""

from __future__ import annotations

import json
import math
from typing import Any, Never

_MOST_DEPTH = 100
_MOST_DIGITS = 40
MOST_MEMORY = 224 * 2**20
"""Bytes that an answer may take while it is decoded. A process of this package has 300 MiB."""

_SMALL = 2**20
_NOT_ASCII = (bytes(range(0xC4)), bytes(range(0xF0)))


class NotJson(ValueError):
    """What a body is instead of a JSON object that can be used."""


def json_object(content: bytes) -> dict[str, Any]:
    """Return the JSON object that a body holds (What the service does 4).

    Raises:
        NotJson: it holds none, or one that exceeds a bound.
    """
    if len(content) > _SMALL and _memory(content) > MOST_MEMORY:
        raise NotJson("more values than fit into memory")
    try:
        # Python's own decoding of bytes would let halves of surrogate pairs pass, as three bytes.
        body = _DECODER.decode(content.decode("utf-8-sig"))
        if b"\\ud" in content or b"\\uD" in content:
            # Half a surrogate pair is no text: it could not be written anywhere.
            json.dumps(body, ensure_ascii=False).encode()
    except NotJson:
        raise
    except (ValueError, RecursionError):
        raise NotJson("no JSON object") from None
    if not isinstance(body, dict):
        raise NotJson("no JSON object")
    if content.count(b"[") + content.count(b"{") > _MOST_DEPTH and _is_deep(body):
        raise NotJson(f"values nested more than {_MOST_DEPTH} deep")
    return body


def _memory(content: bytes) -> int:
    """Return about how many bytes the decoding of a body takes at its peak.

    Python's text has one to four bytes a character. An object takes 230 bytes, a list 90, and an
    element of either 60 and a place of 8.
    """
    wide = sum(bool(content.translate(None, narrower)) for narrower in _NOT_ASCII)
    values = 230 * content.count(b"{") + 90 * content.count(b"[") + 68 * content.count(b",")
    return len(content) * (1 + (1 << wide)) + values


def _is_deep(body: dict[str, Any]) -> bool:
    level: list[Any] = [body]
    for _ in range(_MOST_DEPTH):
        level = [
            value
            for container in level
            for value in (container.values() if isinstance(container, dict) else container)
            if isinstance(value, dict | list)
        ]
        if not level:
            return False
    return True


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise NotJson(f"a number of {len(digits)} digits")
    return int(digits)


def _fraction(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotJson("a number that is too large")
    return number


def _constant(name: str) -> Never:
    raise NotJson(f"{name}, which is no JSON")


_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_fraction, parse_constant=_constant)
