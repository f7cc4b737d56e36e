"""Single switches by name and value, as a command line or the control side gives them."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from opsconsole.emulator.profile import Profile

FIXED = ("name", "summary", "provider_settings")


class BadSwitch(Exception):
    """There is no such switch, or it takes another kind of value."""


@cache
def switches() -> dict[str, Any]:
    """Return the switches: name to the type of its value."""
    hints = typing.get_type_hints(Profile)
    names = [item.name for item in dataclasses.fields(Profile) if item.name not in FIXED]
    return {name: hints[name] for name in names}


def with_switches(profile: Profile, values: Mapping[str, Any]) -> Profile:
    """Return the profile with some switches set to JSON values.

    Raises:
        BadSwitch: A name or a value is not one of a switch.
    """
    turned: dict[str, Any] = {}
    for name, value in values.items():
        if name not in switches():
            raise BadSwitch(f"{name} is not a switch: {', '.join(switches())}")
        turned[name] = _read(name, switches()[name], value)
    return dataclasses.replace(profile, **turned)


def _read(name: str, kind: Any, value: Any) -> Any:
    origin = typing.get_origin(kind)
    allowed: tuple[Any, ...] = ()
    if origin is Literal:
        allowed = typing.get_args(kind)
        if any(value == item and type(value) is type(item) for item in allowed):
            return value
    elif origin in (tuple, frozenset):
        if isinstance(value, list | tuple | frozenset) and all(type(v) is str for v in value):
            return origin(value)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        if isinstance(value, Mapping) and all(type(item) is int for item in value.values()):
            return dict(value)
    elif type(value) in (typing.get_args(kind) or (kind,)):
        return value
    shown = f"one of {allowed}" if allowed else str(kind)
    raise BadSwitch(f"{name} takes {shown}, not {value!r}")
