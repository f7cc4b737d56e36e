"""What others send: models for it, one style of error, and switches by name and value."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    TypeAdapter,
    ValidationError,
    create_model,
)

from opsconsole.document_models import what_is_wrong
from opsconsole.emulator.profiles import Profile

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


FIXED = ("name", "summary", "provider_settings")
_JSON = TypeAdapter(dict[str, Any])


@cache
def switches() -> dict[str, Any]:
    """Return the switches: name to the type of its value."""
    hints = typing.get_type_hints(Profile)
    names = [item.name for item in dataclasses.fields(Profile) if item.name not in FIXED]
    return {name: hints[name] for name in names}


@cache
def _model() -> type[BaseModel]:
    config = ConfigDict(strict=True, extra="forbid")
    fields: dict[str, Any] = {name: (_exact(kind), None) for name, kind in switches().items()}
    return create_model("Switches", __config__=config, **fields)


def _exact(kind: Any) -> Any:
    """Let true and false not stand for the 1 and 0 of a Literal, which are equal to them."""
    if typing.get_origin(kind) is not Literal or bool in map(type, typing.get_args(kind)):
        return kind
    return Annotated[kind, BeforeValidator(_no_boolean)]


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a boolean is not allowed here")
    return value


def with_switches(profile: Profile, values: Mapping[str, Any]) -> Profile:
    """Return the profile with some switches set to JSON values.

    Raises:
        BadBody: A name or a value is not one of a switch.
    """
    # By way of JSON: arrays stand for the tuples and sets of a profile.
    turned = read("switches", _model().model_validate_json, _JSON.dump_json(dict(values)))
    return dataclasses.replace(
        profile, **{name: getattr(turned, name) for name in turned.model_fields_set}
    )
