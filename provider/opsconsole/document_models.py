"""Common parts of the models of documents that people and other programs write.

Each document has one model, which reads and validates it and describes its JSON Schema. This module
imports pydantic, so the start of the provider must not import it; nor must code that holds unknown
or secret values.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import BeforeValidator, ConfigDict, ValidationError

from opsconsole.text import shorten

STRICT: Final = ConfigDict(strict=True, extra="forbid", frozen=True)
"""For documents that people write: types are not converted, and unknown members are refused."""

_WORDS: Final = {
    "model_type": "should be an object",
    "dict_type": "should be an object",
    "list_type": "should be a list",
    "tuple_type": "should be a list",
    "string_type": "should be text",
    "bool_type": "should be true or false",
}
"""Replacements for pydantic's messages, which speak of Python's types."""


def _convert_integral(value: Any) -> Any:
    """Return 1 for 1.0: JSON Schema calls both an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


JsonInteger: Final = BeforeValidator(_convert_integral)
"""Annotates an integer that may be written with a fraction of zero, as in JSON Schema."""


def describe_errors(problem: ValidationError) -> str:
    """Return each wrong place, with the expected and the actual value."""
    return "; ".join(map(_sentence, problem.errors(include_url=False)))


def _sentence(item: Any) -> str:
    place = ".".join(map(str, item["loc"])) or "the whole of it"
    if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{place} is not a member"
    if item["type"] == "missing":
        return f"{place} is missing"
    message = _WORDS.get(item["type"]) or item["msg"].removeprefix("Value error, ").removeprefix(
        "Input "
    )
    shown = shorten(repr(item["input"]), 60)
    return f"{place}: {message[:1].lower()}{message[1:]}, not {shown}"
