"""The lists of whole consoles, which the document does not show and an operator may have named.

Only those are read whose kind is to count as drift: a check costs no call more than a refresh,
unless it is asked for what only such a list shows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from opsconsole.diagnostics import Diagnostic, error
from opsconsole.errors import ConsoleError
from opsconsole.lifecycle.session import Session
from opsconsole.resources import RESOURCES, SPECIALTY
from opsconsole.v1.console import Console, Listing

Inventory = Mapping[str, Listing]
"""What a console listed, by the type that it would be managed as."""


async def inventory(session: Session, types: Collection[str]) -> tuple[Inventory, list[Diagnostic]]:
    """Return what a console lists of `types`, and an error for each list that could not be read.

    Types of which there are no such lists are passed over.
    """
    found: dict[str, Listing] = {}
    diagnostics: list[Diagnostic] = []
    for type_name in RESOURCES:
        if type_name not in types:
            continue
        definition = RESOURCES[type_name]
        endpoint = definition.lifted_by.get("list", "")
        if definition is SPECIALTY:
            try:
                found[type_name] = await session.specialties()
            except ConsoleError as problem:
                diagnostics.append(
                    error(
                        "Specialties were not searched, so unmanaged ones are not reported",
                        cause=problem.cause,
                    )
                )
        elif endpoint:
            read = await _listed(session.console, endpoint, type_name)
            if isinstance(read, Listing):
                found[type_name] = read
            else:
                diagnostics.append(read)
    return found, diagnostics


async def _listed(console: Console, endpoint: str, type_name: str) -> Listing | Diagnostic:
    if not console.has(endpoint):
        why = (
            "No documented operation lists them. If this console has one that does, name it "
            f'in the provider settings: extra_endpoints = {{ {endpoint} = "GET /path" }}.'
        )
        return error(f"Unmanaged objects of {type_name} cannot be counted", why)
    try:
        return await console.listed(endpoint)
    except ConsoleError as problem:
        return error(
            f"{endpoint} was not read, so unmanaged objects are not reported", cause=problem.cause
        )
