"""The operations of the API as data: the documented ones, and the extra ones that an operator
may name (setting `extra_endpoints`). What a call looks like on the wire is the client's concern.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from opsconsole.errors import UserError
from opsconsole.resources import RESOURCES

MOST_ID_CHARACTERS = 500
"""The document shows no bound of ids. Servers commonly take addresses of 8,000 bytes, in which a
character takes up to twelve."""

_HALVES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        name: Short name; calls are counted by it.
        method: HTTP method.
        path: Path template relative to the base address; `{…}` stands for one id.
        repeatable: Whether a second call after a lost answer does no harm. A create is not.
        section: The clause of the document that it rests on; empty: not documented.
    """

    name: str
    method: str
    path: str
    repeatable: bool
    section: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def path_of(self, ids: Sequence[str]) -> str:
        """Return the path with `ids` percent-encoded in place of its placeholders.

        Raises:
            UserError: an id that cannot be part of a path: empty, a dot segment, not text.
        """
        if not ids:
            return self.path
        parts = _parts(self.path)
        if len(parts) != len(ids) + 1:
            raise ValueError(f"{self} takes {len(parts) - 1} ids, not {len(ids)}")
        pieces = [parts[0]]
        for value, rest in zip(ids, parts[1:], strict=True):
            pieces += (encoded_id(value), rest)
        return "".join(pieces)


def encoded_id(value: str) -> str:
    """Return an id percent-encoded, so that it stays one segment of a path.

    Raises:
        UserError: it cannot be an id.
    """
    if not can_be_id(value):
        shown = ascii(value if len(value) <= 40 else f"{value[:40]}…")
        raise UserError(f"{shown} cannot be an id.", "Ids look like hst_… or agt_….")
    return quote(value, safe="")


def can_be_id(value: object) -> bool:
    """Return whether a value can be an id, and so one segment of a path.

    It cannot where it is not text, empty, a dot segment (which paths resolve away), too long for an
    address, or holds half a character.
    """
    if not isinstance(value, str) or not 0 < len(value) <= MOST_ID_CHARACTERS:
        return False
    return value not in (".", "..") and (value.isascii() or _HALVES.search(value) is None)


@lru_cache(maxsize=64)
def _parts(path: str) -> tuple[str, ...]:
    """Return the text around the placeholders of a path."""
    first, *rest = path.split("{")
    return (first, *(part.partition("}")[2] for part in rest))


_CLAUSE = "Endpoints: "


def _documented(name: str, method: str, path: str, *, repeatable: bool = True) -> Operation:
    return Operation(name, method, path, repeatable, f"{_CLAUSE}{method} {path}")


GET_BLACKLISTED_COMMAND: Final = _documented("blacklist_get", "GET", "/api/v1/blacklists/{id}")
UPDATE_BLACKLISTED_COMMAND: Final = _documented(
    "blacklist_update", "POST", "/api/v1/blacklists/{id}"
)
UPDATE_HOST: Final = _documented("host_update", "POST", "/api/v1/hosts/{id}")
DELETE_HOST: Final = _documented("host_delete", "DELETE", "/api/v1/hosts/{id}")
IMPORT_HOSTS: Final = _documented("host_import", "POST", "/api/v1/hosts/batch", repeatable=False)
CREATE_AGENT: Final = _documented("agent_create", "POST", "/api/v1/agents", repeatable=False)
ATTACH_PLUGIN: Final = _documented("plugin_attach", "POST", "/api/v1/agents/{id}/plugins")
LIST_PLUGINS: Final = _documented("plugin_list", "GET", "/api/v1/agents/{id}/plugins")
DETACH_PLUGIN: Final = _documented(
    "plugin_detach", "DELETE", "/api/v1/agents/{id}/plugins/{pluginId}"
)
SEARCH_SPECIALTIES: Final = _documented("specialty_search", "GET", "/api/v1/specialties/search")
DELETE_SPECIALTY: Final = _documented("specialty_delete", "DELETE", "/api/v1/specialties/{id}")

DOCUMENTED: Final = (
    GET_BLACKLISTED_COMMAND,
    UPDATE_BLACKLISTED_COMMAND,
    UPDATE_HOST,
    DELETE_HOST,
    IMPORT_HOSTS,
    CREATE_AGENT,
    ATTACH_PLUGIN,
    LIST_PLUGINS,
    DETACH_PLUGIN,
    SEARCH_SPECIALTIES,
    DELETE_SPECIALTY,
)
"""The documented operations. A dry run of an import is repeatable, which its caller says."""


@dataclass(frozen=True, slots=True)
class ExtraEndpoint:
    """An operation that the document does not show, and that an operator may name.

    Attributes:
        name: Its name in `extra_endpoints`.
        step: What it does with a resource, as of `definition.STEPS`.
        type_name: The resource.
    """

    name: str
    step: str
    type_name: str

    @property
    def takes_id(self) -> bool:
        """Whether its path holds `{id}`."""
        return self.step in ("read", "update", "delete")


def extra_endpoints() -> Mapping[str, ExtraEndpoint]:
    """Return what may be named in `extra_endpoints`, by name: whatever lifts a resource's limit."""
    return {
        name: ExtraEndpoint(name, step, definition.type_name)
        for definition in RESOURCES.values()
        for step, name in definition.lifted_by.items()
    }


def extra_operation(name: str, declared: str) -> Operation:
    """Return the operation that an operator declared as `METHOD /path/{id}` under `name`."""
    method, _, path = declared.partition(" ")
    return Operation(name, method, path, repeatable=extra_endpoints()[name].step != "create")
