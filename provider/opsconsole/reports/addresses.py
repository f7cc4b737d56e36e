"""What renderings need of an address: its parts, its order among others, its definition.

The state parses and prints addresses; this module only uses that.
"""

from __future__ import annotations

import re
from functools import lru_cache

from opsconsole.definition import Attribute, DataSourceDefinition, Kind, ResourceDefinition
from opsconsole.errors import UserError
from opsconsole.reconcile.declaration import instance_of
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.state import Address

_DIGITS = re.compile(r"(\d+)")


@lru_cache(maxsize=65536)
def parsed(address: str, type_name: str = "") -> Address:
    """Return the parts of `address`.

    What is not a resource's address (the id that names an unmanaged object) is taken as the name
    of a resource of `type_name`.
    """
    try:
        return instance_of(address)
    except UserError:
        return Address(type_name, address)


def natural(text: str) -> tuple[tuple[int, int | str], ...]:
    """Return a key that orders `web[2]` before `web[10]`."""
    return tuple(
        (0, int(part)) if part.isascii() and part.isdigit() else (1, part)
        for part in _DIGITS.split(text)
    )


def definition_of(address: str, type_name: str) -> ResourceDefinition | DataSourceDefinition | None:
    """Return the definition behind an address; None where the type is not one of ours."""
    if parsed(address, type_name).mode == "data":
        return DATA_SOURCES.get(type_name)
    return RESOURCES.get(type_name)


def kinds_of(address: str, type_name: str) -> dict[str, Kind]:
    """Return the kinds of the attributes by name; empty where the type is not one of ours."""
    definition = definition_of(address, type_name)
    return {} if definition is None else {item.name: item.kind for item in definition}


def sensitive_of(address: str, type_name: str, marked: frozenset[str]) -> frozenset[str]:
    """Return the names that must not be shown: those `marked` and those defined as sensitive."""
    definition = definition_of(address, type_name)
    defined: tuple[Attribute, ...] = () if definition is None else definition.attributes
    return marked.union(item.name for item in defined if item.sensitive)


def label_attribute(type_name: str) -> str:
    """Return the attribute that names a resource of `type_name` to a reader."""
    definition = RESOURCES.get(type_name)
    return "name" if definition is None else definition.label


def short_type(type_name: str) -> str:
    """Return `host` of `opsconsole_host`."""
    return type_name.removeprefix("opsconsole_")
