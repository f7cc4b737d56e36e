"""Errors that a declaration shows by itself, before anything is asked of the console.

Only bounds that the document attributes to a field are errors; the rest is the console's to judge,
and what is probably a slip is a warning. Pure; unknown values pass.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from opsconsole.definition import Attribute, Kind, Notation, ResourceDefinition
from opsconsole.diagnostics import Diagnostic, Path, error, warning
from opsconsole.values import UNKNOWN, Attributes, Value


def validate(definition: ResourceDefinition, config: Attributes) -> list[Diagnostic]:
    """Return what is wrong with `config` by the definition's bounds and the resource's rules."""
    found = [
        problem
        for attribute in definition.settable
        for problem in _attribute_problems(attribute, config.get(attribute.name), ())
    ]
    return [*found, *definition.rules(config)]


def _attribute_problems(attribute: Attribute, value: Value, path: Path) -> Iterator[Diagnostic]:
    if value is None or value is UNKNOWN:
        return
    here = (*path, attribute.name)
    if attribute.attributes:
        entries = value if isinstance(value, list) else [value]
        for index, entry in enumerate(entries):
            if isinstance(entry, dict):
                at = (*here, index) if attribute.kind is Kind.OBJECT_LIST else here
                for nested in attribute.attributes:
                    yield from _attribute_problems(nested, entry.get(nested.name), at)
        return
    if isinstance(value, list):
        for element in value:
            if element is None:
                yield error(f"{attribute.name} holds a null element", "Remove it.", here)
            elif element is not UNKNOWN:
                yield from _scalar_problems(attribute, element, here)
        return
    yield from _scalar_problems(attribute, value, here)


def _scalar_problems(attribute: Attribute, value: Value, path: Path) -> Iterator[Diagnostic]:
    broken = attribute.bounds.broken(value)
    if broken is not None:
        yield error(f"{attribute.name} {broken.found}", f"{broken.wanted}.".capitalize(), path)
    elif attribute.notation and isinstance(value, str) and not _reads_as(attribute.notation, value):
        yield warning(
            f"{attribute.name}: {value!r} is not {attribute.notation.value}",
            "It is sent as it is: the API document gives no bound, so the console decides.",
            path,
        )


def _reads_as(notation: Notation, text: str) -> bool:
    try:
        if notation is Notation.ADDRESS:
            ipaddress.ip_address(text)
        else:
            ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True
