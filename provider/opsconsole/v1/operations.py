"""The operations of the API as data, a row each: the documented ones, and those an operator may
name in `extra_endpoints` (see `definition.Way` for what each serves).

    _nameable("host_get", "{id}")                               not documented
    _nameable("host_get", "{id}", "GET /api/v1/hosts/{id}")     documented

Capabilities, hints and the pages of resources follow; CONTRIBUTING.md lists the rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from opsconsole.definition import ResourceDefinition
from opsconsole.v1.exchange import Operation


def _documented(name: str, line: str, *, idempotent: bool = True, lists: str = "") -> Operation:
    method, _, path = line.partition(" ")
    return Operation(name, method, path, idempotent, documented=True, lists=lists)


def _nameable(
    name: str, path: str = "", line: str = "", *, idempotent: bool = True, lists: str = ""
) -> Operation:
    if line:
        documented = _documented(name, line, idempotent=idempotent, lists=lists)
        return replace(documented, nameable=True)
    return Operation(name, "", path, idempotent, nameable=True, lists=lists)


OPERATIONS: Final = {
    operation.name: operation
    for operation in (
        _documented("blacklist_get", "GET /api/v1/blacklists/{id}"),
        _documented("blacklist_update", "POST /api/v1/blacklists/{id}"),
        _documented("host_update", "POST /api/v1/hosts/{id}"),
        _documented("host_delete", "DELETE /api/v1/hosts/{id}"),
        # A dry run of it is idempotent, which its caller says.
        _documented("host_import", "POST /api/v1/hosts/batch", idempotent=False),
        _documented("agent_create", "POST /api/v1/agents", idempotent=False),
        _documented("plugin_attach", "POST /api/v1/agents/{id}/plugins"),
        _documented("plugin_list", "GET /api/v1/agents/{id}/plugins", lists="plugins"),
        _documented("plugin_detach", "DELETE /api/v1/agents/{id}/plugins/{pluginId}"),
        _documented("specialty_search", "GET /api/v1/specialties/search", lists="specialties"),
        _documented("specialty_delete", "DELETE /api/v1/specialties/{id}"),
        _nameable("specialty_create", idempotent=False),
        _nameable("specialty_get", "{id}"),
        _nameable("specialty_update", "{id}"),
        _nameable("host_get", "{id}"),
        _nameable("host_list", lists="hosts"),
        _nameable("agent_get", "{id}"),
        _nameable("agent_update", "{id}"),
        _nameable("agent_delete", "{id}"),
        _nameable("agent_list", lists="agents"),
        _nameable("blacklist_create", idempotent=False),
        _nameable("blacklist_delete", "{id}"),
        _nameable("blacklist_list", lists="blacklisted_commands"),
    )
}
"""The operations by name."""

DOCUMENTED: Final = tuple(item for item in OPERATIONS.values() if item.documented)
NAMEABLE: Final = {name: item for name, item in OPERATIONS.items() if item.nameable}


def documented_for(definition: ResourceDefinition, step: str) -> Operation | None:
    """Return the best documented operation for a step of a resource; None: there is none."""
    ways = (OPERATIONS[way.operation] for way in definition.ways[step] if way.operation)
    return next((operation for operation in ways if operation.documented), None)


def operation_to_name(definition: ResourceDefinition, step: str) -> str:
    """Return the operation that lifts a step's limit once it is named; empty: there is none."""
    best = definition.ways[step][0].operation
    return "" if not best or OPERATIONS[best].documented else best


def reads_whole(definition: ResourceDefinition) -> bool:
    """Return whether a documented operation shows all of a resource."""
    ways = (way for way in definition.ways["read"] if way.operation)
    return any(way.whole and OPERATIONS[way.operation].documented for way in ways)


def naming_hint(operation: str, what: str = "such an operation") -> str:
    """Return a space and the sentence that says how to name an operation in the settings.

    The text is empty if the API document has the operation, because nothing is left to name.

    Args:
        operation: May be empty: there is none.
        what: The words for the operation, after "Where the console has".
    """
    if not operation or OPERATIONS[operation].documented:
        return ""
    return f" Where the console has {what}, name it in extra_endpoints as {operation}."
