"""The operations of the API as data, a row each: the documented ones, and those an operator may
name in `extra_endpoints` (see `definition.Way` for what each serves).

    _nameable("host_get", "{id}")                               not documented
    _nameable("host_get", "{id}", "GET /api/v1/hosts/{id}")     documented

Capabilities, hints and the pages of resources follow; CONTRIBUTING.md lists the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from opsconsole.definition import ResourceDefinition
from opsconsole.errors import UserError
from opsconsole.text import LONE_SURROGATE, shorten

MAX_ID_LENGTH = 500
"""The document gives no limit for ids. Servers commonly accept addresses of 8,000 bytes, and a
character takes up to twelve bytes there."""
_PLACEHOLDER = re.compile(r"\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        name: Short name; calls are counted by it.
        method: HTTP method; empty if an operator must name the operation.
        path: Path template relative to the base address; `{…}` stands for one id.
        idempotent: Whether a second call after a lost answer does no harm; false for a create.
        documented: Whether the API document shows it.
        nameable: Whether an operator may name it in `extra_endpoints`.
        lists: The kind of a list's entries, as `list_query` names it, or empty.
    """

    name: str
    method: str
    path: str
    idempotent: bool
    documented: bool = False
    nameable: bool = False
    lists: str = ""

    @property
    def takes_id(self) -> bool:
        return "{" in self.path

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def path_of(self, ids: Sequence[str]) -> str:
        """Return the path with percent-encoded `ids`; raise UserError for an impossible one."""
        if not ids:
            return self.path
        parts = _PLACEHOLDER.split(self.path)
        pieces = [parts[0]]
        for value, rest in zip(ids, parts[1:], strict=True):
            if not can_be_id(value):
                raise UserError(
                    f"{shorten(value, 40)!a} cannot be an id.", "Ids look like hst_… or agt_…."
                )
            pieces += (quote(value, safe=""), rest)
        path = "".join(pieces)
        if (self.method, path) in _PATHS:
            raise UserError(
                f"{ids[-1]!r} cannot be an id: {self.method} {path} is another operation.",
                "Ids look like hst_… or agt_….",
            )
        return path


def can_be_id(value: object) -> bool:
    """Return whether a value can be an id: a text that can be one segment of a path."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID_LENGTH:
        return False
    # Dot segments are resolved away in a path, which then leads elsewhere.
    return value not in (".", "..") and (value.isascii() or LONE_SURROGATE.search(value) is None)


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
_PATHS: Final = frozenset((item.method, item.path) for item in DOCUMENTED)
"""Some have a fixed last segment where others have an id."""
NAMEABLE: Final = {name: item for name, item in OPERATIONS.items() if item.nameable}


def documented_for(definition: ResourceDefinition, step: str) -> Operation | None:
    """Return the best documented operation for a step of a resource, or None."""
    ways = (OPERATIONS[way.operation] for way in definition.ways[step] if way.operation)
    return next((operation for operation in ways if operation.documented), None)


def missing_operation(definition: ResourceDefinition, step: str) -> str:
    """Return the operation that lifts a step's limit once it is named; empty if there is none."""
    best = definition.ways[step][0].operation
    return "" if not best or OPERATIONS[best].documented else best


def has_complete_read(definition: ResourceDefinition) -> bool:
    """Return whether a documented operation shows all of a resource."""
    ways = (way for way in definition.ways["read"] if way.operation)
    return any(way.complete and OPERATIONS[way.operation].documented for way in ways)


def naming_hint(operation: str, what: str = "such an operation") -> str:
    """Return a space and a sentence on naming an operation in the settings.

    Empty if there is no operation, or the API document has it.
    """
    if not operation or OPERATIONS[operation].documented:
        return ""
    return f" Where the console has {what}, name it in extra_endpoints as {operation}."
