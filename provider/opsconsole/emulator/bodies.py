"""Reading what other programs send to the control side: one model each, one style of error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from opsconsole.document_models import what_is_wrong

Read = TypeVar("Read")


class BadBody(Exception):
    """A body of the wrong shape: which place in it, what was expected there, what it holds."""


class Body(BaseModel):
    """A body: numbers are not booleans, and members that nobody knows are refused."""

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
        raise BadBody(f"{what}: {what_is_wrong(problem)}") from None
