"""The operations of the API as data: the documented ones, and the extra ones that an operator
may name (setting `extra_endpoints`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from opsconsole.resources import RESOURCES
from opsconsole.v1.exchange import Operation

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


def kinds_of_lists() -> Mapping[str, str]:
    """Return list call to the word that a parameter for it alone begins with in `list_query`."""
    documented = {str(operation): operation.name for operation in DOCUMENTED}
    found = {}
    for definition in RESOURCES.values():
        shown = documented.get(definition.operations.get("list", ""), "")
        found[definition.lifted_by.get("list", shown)] = definition.plural.replace(" ", "_")
    return found


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
