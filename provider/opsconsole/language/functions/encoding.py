"""Functions that encode, decode and hash."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, Final
from urllib.parse import quote_plus

from opsconsole.language.failures import EvaluationError
from opsconsole.language.functions.registry import Signature
from opsconsole.language.json_body import parse_json, replace_surrogates
from opsconsole.language.numbers import format_number
from opsconsole.language.values import DYNAMIC, STRING, Value, list_type, object_type
from opsconsole.text import to_nfc

_ESCAPED = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
    0x7F: "\x7f",
}


@Signature("jsonencode", (DYNAMIC,), nulls=True, unknown_if="part", returns=STRING)
def _jsonencode(value: Value) -> str:
    return to_json(value.data)


def to_json(value: Any) -> str:
    """Return `value` as Terraform's JSON: sorted keys, no spaces, and `<`, `>`, `&` escaped."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).translate(_ESCAPED)
    if isinstance(value, int | Fraction):
        return format_number(value)
    if isinstance(value, dict):
        members = (f"{to_json(name)}:{to_json(value[name])}" for name in sorted(value))
        return f"{{{','.join(members)}}}"
    return f"[{','.join(map(to_json, value))}]"


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, _ in pairs:
        # Terraform looks for the name in normal form C, and does not find it.
        if name != to_nfc(name):
            raise EvaluationError(f'unsupported attribute "{name}"')
    return dict(pairs)


@Signature("jsondecode", (STRING,))
def _jsondecode(text: str) -> Any:
    try:
        return replace_surrogates(parse_json(text, _members))
    except ValueError as error:
        raise EvaluationError(f"this is not JSON: {error}") from error


def base64_text(content: bytes) -> str:
    return base64.b64encode(content).decode()


@Signature("base64decode", (STRING,))
def _base64decode(text: str) -> str:
    try:
        # Go ignores line breaks in base64.
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise EvaluationError("this is not base64 of a UTF-8 text") from error


Signature("urlencode", (STRING,))(partial(quote_plus, safe="~"))


_FIELD = re.compile(r'"((?:[^"]|"")*)"(?=[,\n]|\Z)|([^",\n]*)(?=[,\n]|\Z)')


def _csv_rows(text: str) -> Iterator[list[str]]:
    """Yield the rows of a CSV text as Go does: a carriage return alone does not end a line."""
    text = text.replace("\r\n", "\n").removesuffix("\r")
    row: list[str] = []
    at = 0
    while at < len(text):
        if not row and text[at] == "\n":
            at += 1
            continue
        field = _FIELD.match(text, at)
        if field is None:
            raise EvaluationError("a quote is in a field without quotes, or is not closed")
        row.append(field[2] if field[1] is None else field[1].replace('""', '"'))
        at = field.end() + 1
        if text[at - 1 : at] == ",":
            # A comma at the very end is followed by an empty field.
            row += [""] * (at == len(text))
            continue
        yield row
        row = []
    if row:
        yield row


@Signature("csvdecode", (STRING,))
def _csvdecode(text: str) -> Value:
    rows = [*_csv_rows(text)]
    if not rows:
        raise EvaluationError("there is no header line")
    header, *body = rows
    if len(set(header)) < len(header):
        raise EvaluationError("two columns have the same name")
    if any(len(row) != len(header) for row in body):
        raise EvaluationError("a line has another number of fields than the header")
    objects = [dict(zip(header, row, strict=True)) for row in body]
    return Value(list_type(object_type(dict.fromkeys(header, STRING))), objects)


_NAMESPACES = {
    "dns": uuid.NAMESPACE_DNS,
    "url": uuid.NAMESPACE_URL,
    "oid": uuid.NAMESPACE_OID,
    "x500": uuid.NAMESPACE_X500,
}
_DASHED = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_UUID = re.compile(rf"[0-9a-fA-F]{{32}}|(?i:urn:uuid:)?{_DASHED}|\{{{_DASHED}\}}")


@Signature("uuidv5", (STRING, STRING))
def _uuidv5(namespace: str, name: str) -> str:
    space = _NAMESPACES.get(namespace)
    if space is None:
        if not _UUID.fullmatch(namespace):
            raise EvaluationError(f'"{namespace}" is not a UUID')
        space = uuid.UUID(namespace.lower())
    return str(uuid.uuid5(space, name))


def _digest(algorithm: str, write: Callable[[bytes], str], content: bytes) -> str:
    # In FIPS mode, Python refuses MD5 unless told that it is not used for security.
    return write(hashlib.new(algorithm, content, usedforsecurity=False).digest())


DIGESTS: Final[Mapping[str, Callable[[bytes], str]]] = {
    **{name: partial(_digest, name, bytes.hex) for name in ("md5", "sha1", "sha256", "sha512")},
    **{f"base64{name}": partial(_digest, name, base64_text) for name in ("sha256", "sha512")},
}
"""Functions that hash bytes, by name."""


for _name, _step in {"base64encode": base64_text, **DIGESTS}.items():
    Signature(_name, (STRING,))(lambda text, step=_step: step(text.encode()))
