"""The lists of whole consoles, which the document does not show and an operator may have named.

Only those are read whose kind is to count as drift: a check costs no call more than a refresh,
unless it is asked for what only such a list can tell.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final

from opsconsole.diagnostics import Diagnostic, error
from opsconsole.errors import ConsoleError
from opsconsole.lifecycle.session import Session
from opsconsole.resources import AGENT, BLACKLISTED_COMMAND, HOST, SPECIALTY
from opsconsole.v1.console import Console, Listing

_LISTS: Final[Mapping[str, tuple[str, Callable[[Console], Awaitable[Listing]]]]] = {
    HOST.type_name: ("host_list", Console.list_hosts),
    AGENT.type_name: ("agent_list", Console.list_agents),
    BLACKLISTED_COMMAND.type_name: ("blacklist_list", Console.list_blacklists),
}
"""Type to the extra endpoint that lists its objects, and the call."""

Inventory = Mapping[str, Listing]
"""What a console listed, by the type that it would be managed as."""


async def inventory(session: Session, types: Collection[str]) -> tuple[Inventory, list[Diagnostic]]:
    """Return what a console lists of `types`, and an error for each list that could not be read.

    Types of which there are no such lists are passed over.
    """
    console = session.console
    found: dict[str, Listing] = {}
    told: list[Diagnostic] = []
    if SPECIALTY.type_name in types:
        try:
            found[SPECIALTY.type_name] = await session.specialties()
        except ConsoleError as problem:
            told.append(
                error(
                    "Specialties were not searched: nothing unmanaged is told",
                    cause=problem.cause,
                )
            )
    for type_name, (endpoint, call) in _LISTS.items():
        if type_name not in types:
            continue
        if not console.has(endpoint):
            why = (
                "No documented operation lists them. If this console has one that does, name it "
                f'in the provider settings: extra_endpoints = {{ {endpoint} = "GET /path" }}.'
            )
            told.append(error(f"Unmanaged objects of {type_name} cannot be counted", why))
            continue
        try:
            found[type_name] = await call(console)
        except ConsoleError as problem:
            summary = f"{endpoint} was not read: nothing unmanaged is told"
            told.append(error(summary, cause=problem.cause))
    return found, told
