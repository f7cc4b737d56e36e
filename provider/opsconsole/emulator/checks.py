"""What a body may hold: a check a field, and the reading of a JSON body against a set of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from opsconsole.emulator.refusal import malformed

Check = Callable[[Any], str | None]
"""Returns what is wrong with a value, or None."""

Checks = Mapping[str, Check]
Errors = list[tuple[str, str]]

_TAG = re.compile(r"[^:]+:.*", re.DOTALL)


def text(low: int = 0, high: int | None = None) -> Check:
    """Check a string of `low` to `high` characters."""

    def check(value: Any) -> str | None:
        if type(value) is not str:
            return "must be a string"
        if len(value) < low or (high is not None and len(value) > high):
            upper = "" if high is None else f" to {high}"
            return f"must have {low}{upper} characters"
        return None

    return check


def text_or_null(value: Any) -> str | None:
    """Check a string, or null."""
    return None if value is None or type(value) is str else "must be a string or null"


def boolean(value: Any) -> str | None:
    """Check a boolean."""
    return None if type(value) is bool else "must be true or false"


def integer(low: int, high: int) -> Check:
    """Check an integer from `low` to `high` inclusive."""

    def check(value: Any) -> str | None:
        if type(value) is int and low <= value <= high:
            return None
        return f"must be an integer from {low} to {high}"

    return check


def one_of(*words: str) -> Check:
    """Check a word of an enumeration."""

    def check(value: Any) -> str | None:
        return None if type(value) is str and value in words else f"must be one of {words}"

    return check


def strings(most: int | None = None) -> Check:
    """Check an array of at most `most` strings."""

    def check(value: Any) -> str | None:
        if type(value) is not list or any(type(item) is not str for item in value):
            return "must be an array of strings"
        if most is not None and len(value) > most:
            return f"must have at most {most} entries"
        return None

    return check


def tags(most: int | None = None) -> Check:
    """Check an array of strings shaped `<key>:<value>`."""
    are_strings = strings(most)

    def check(value: Any) -> str | None:
        wrong = are_strings(value)
        if wrong is None and not all(_TAG.fullmatch(item) for item in value):
            return "must hold entries shaped <key>:<value>"
        return wrong

    return check


def credential_config(value: Any) -> str | None:
    """Check an array of CredentialConfig entries."""
    if type(value) is not list:
        return "must be an array"
    for entry in value:
        if type(entry) is not dict:
            return "must hold objects"
        for name, item in entry.items():
            check = _CREDENTIAL.get(name)
            if check is not None and item is not None and (wrong := check(item)):
                return f"holds an entry whose {name} {wrong}"
    return None


_CREDENTIAL: Checks = {
    "credential_id": text(1),
    "credential_role": text(),
    "order": integer(-(2**31), 2**31 - 1),
    "is_required": boolean,
}


def json_object(body: bytes, *, required: bool) -> dict[str, Any]:
    """Read a body that holds a JSON object; without a body, an empty one unless it is required."""
    if not body and not required:
        return {}
    value = json_value(body)
    if type(value) is not dict:
        raise malformed("the body must be a JSON object")
    return value


def json_value(body: bytes) -> Any:
    """Read a JSON body; 400 BAD_REQUEST when it is not JSON."""
    if body == b"{}":
        return {}
    try:
        return json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as failure:
        raise malformed("the body is not JSON") from failure


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
