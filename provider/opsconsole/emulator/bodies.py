"""Reading what other programs send to the control side: one model each, one style of error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

Read = TypeVar("Read")

_SHOWN = 60


class BadBody(Exception):
    """A body of the wrong shape: which place in it, what was expected there, what it holds."""


class Body(BaseModel):
    """A body: numbers are no booleans, and members that nobody knows are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


def read(what: str, validate: Callable[[Any], Read], value: Any) -> Read:
    """Return what `validate`, a method of a model, makes of `value`.

    Args:
        what: What is read, as messages call it.

    Raises:
        BadBody: It is not of the model's shape; the message names every place.
    """
    try:
        return validate(value)
    except ValidationError as problem:
        told = "; ".join(_told(item) for item in problem.errors(include_url=False))
        raise BadBody(f"{what}: {told}") from None


def _told(item: Any) -> str:
    place = ".".join(map(str, item["loc"])) or "the whole of it"
    if item["type"] == "extra_forbidden":
        return f"{place} is not a member"
    message = item["msg"].removeprefix("Value error, ").removeprefix("Input ")
    expected = message[:1].lower() + message[1:]
    held = repr(item["input"])
    shown = held if len(held) <= _SHOWN else f"{held[:_SHOWN]}…"
    return f"{place}: {expected}, not {shown}"
