"""The lists of whole consoles, which the document does not show and an operator may have named.

One list a kind and console; nothing is listed where `extra_endpoints` names no operation for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import ConsoleError
from opsconsole.resources import AGENT, BLACKLISTED_COMMAND, HOST
from opsconsole.v1.console import Console, Listing

_LISTS: Final[Mapping[str, tuple[str, Callable[[Console], Awaitable[Listing]]]]] = {
    HOST.type_name: ("host_list", Console.list_hosts),
    AGENT.type_name: ("agent_list", Console.list_agents),
    BLACKLISTED_COMMAND.type_name: ("blacklist_list", Console.list_blacklists),
}
"""Type to the extra endpoint that lists its objects, and the call."""

Inventory = Mapping[str, Listing]
"""What a console listed, by the type that it would be managed as."""


async def inventory(console: Console) -> tuple[Inventory, list[Diagnostic]]:
    """Return what a console lists, and which of its lists could not be read."""
    found: dict[str, Listing] = {}
    told: list[Diagnostic] = []
    for type_name, (endpoint, call) in _LISTS.items():
        if not console.has(endpoint):
            continue
        try:
            found[type_name] = await call(console)
        except ConsoleError as problem:
            told.append(
                warning(f"{endpoint} was not read: nothing unmanaged is told", f"{problem}")
            )
    return found, told
