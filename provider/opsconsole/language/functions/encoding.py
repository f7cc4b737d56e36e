"""Functions that encode, decode and hash."""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import io
import json
import re
import uuid
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from urllib.parse import quote_plus

from opsconsole.language.failures import EvaluationError
from opsconsole.language.functions.registry import FUNCTIONS, Function, Signature, Unknowns
from opsconsole.language.numeric import Number, format_number, parse_number
from opsconsole.language.value_types import DYNAMIC, STRING, ListValue, type_of

_HASHES = ("md5", "sha1", "sha256", "sha512")
_ESCAPED = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
    0x7F: "\x7f",
}


def to_json(value: Any) -> str:
    """Return `value` as Terraform writes JSON: keys sorted, no spaces, `<`, `>`, `&` escaped."""
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


def from_json(text: str) -> Any:
    """Return what a JSON text says, in values of the language.

    Raises:
        ValueError: It is not JSON.
    """
    return json.loads(text, parse_float=_number, parse_int=_number, parse_constant=_refused)


def _number(text: str) -> Number:
    number = parse_number(text)
    if number is None:
        raise ValueError(f"not a number: {text}")
    return number


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


@Signature("jsonencode", (DYNAMIC,), nulls=True, unknowns=Unknowns.ANY)
def _jsonencode(value: Any) -> str:
    return to_json(value)


@Signature("jsondecode", (STRING,))
def _jsondecode(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError as error:
        raise EvaluationError(f"this is not JSON: {error}") from error


@Signature("base64encode", (STRING,))
def _base64encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@Signature("base64decode", (STRING,))
def _base64decode(text: str) -> str:
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise EvaluationError("this is not base64 of a UTF-8 text") from error


@Signature("urlencode", (STRING,))
def _urlencode(text: str) -> str:
    return quote_plus(text, safe="~")


_FIELD = r'(?:"(?:[^"]|"")*"|[^",\n]*)'
_CSV = re.compile(rf"{_FIELD}(?:[,\n]{_FIELD})*")


@Signature("csvdecode", (STRING,))
def _csvdecode(text: str) -> ListValue:
    if not _CSV.fullmatch(text.replace("\r\n", "\n")):
        raise EvaluationError("a quote is in a field without quotes, or is not closed")
    rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row]
    if not rows:
        raise EvaluationError("there is no header line")
    header, *body = rows
    if len(set(header)) < len(header):
        raise EvaluationError("two columns have the same name")
    if any(len(row) != len(header) for row in body):
        raise EvaluationError("a line has another number of fields than the header")
    objects = [dict(zip(header, row, strict=True)) for row in body]
    return ListValue(objects, type_of(dict.fromkeys(header, "")))


@Signature("uuidv5", (STRING, STRING))
def _uuidv5(namespace: str, name: str) -> str:
    known = {
        "dns": uuid.NAMESPACE_DNS,
        "url": uuid.NAMESPACE_URL,
        "oid": uuid.NAMESPACE_OID,
        "x500": uuid.NAMESPACE_X500,
    }
    try:
        space = known.get(namespace) or uuid.UUID(namespace)
    except ValueError as error:
        raise EvaluationError(f'"{namespace}" is not a UUID') from error
    return str(uuid.uuid5(space, name))


def digest(algorithm: str, content: bytes) -> str:
    """Return the hash of `content` in hexadecimal."""
    return hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()


def digest64(algorithm: str, content: bytes) -> str:
    """Return the hash of `content` in base64."""
    raw = hashlib.new(algorithm, content, usedforsecurity=False).digest()
    return base64.b64encode(raw).decode()


def _of_text(hashing: Callable[[str, bytes], str], algorithm: str) -> Callable[[str], str]:
    return lambda text: hashing(algorithm, text.encode())


for _algorithm in _HASHES:
    FUNCTIONS[_algorithm] = Function(_algorithm, _of_text(digest, _algorithm), (STRING,), 1)
for _algorithm in ("sha256", "sha512"):
    FUNCTIONS[f"base64{_algorithm}"] = Function(
        f"base64{_algorithm}", _of_text(digest64, _algorithm), (STRING,), 1
    )
