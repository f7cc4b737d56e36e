"""Just enough of DER to write one certificate and one private key.

`cryptography` can write both, but importing that part of it costs more time than the whole rest of
the handshake. Encoding only; nothing here knows what the values mean.
"""

from __future__ import annotations

INTEGER = 0x02
BIT_STRING = 0x03
OCTET_STRING = 0x04
OBJECT_IDENTIFIER = 0x06
UTF8_STRING = 0x0C
SEQUENCE = 0x30
SET = 0x31
UTC_TIME = 0x17
TRUE = b"\x01\x01\xff"


def tagged(tag: int, *contents: bytes) -> bytes:
    """Return one element: `tag`, the length, `contents` one after the other."""
    body = b"".join(contents)
    size = len(body)
    if size < 0x80:
        return bytes((tag, size)) + body
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + body


def explicit(number: int, *contents: bytes) -> bytes:
    """Return `contents` under the context-specific tag `number`."""
    return tagged(0xA0 | number, *contents)


def integer(value: int) -> bytes:
    """Return a non-negative integer."""
    return tagged(INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def identifier(dotted: str) -> bytes:
    """Return an object identifier such as `2.5.4.3`."""
    first, second, *others = (int(part) for part in dotted.split("."))
    body = bytearray((first * 40 + second,))
    for number in others:
        groups = [number & 0x7F]
        while number := number >> 7:
            groups.append(0x80 | number & 0x7F)
        body.extend(reversed(groups))
    return tagged(OBJECT_IDENTIFIER, bytes(body))


def bits(body: bytes, unused: int = 0) -> bytes:
    """Return a bit string whose last byte has `unused` bits without meaning."""
    return tagged(BIT_STRING, bytes((unused,)), body)
