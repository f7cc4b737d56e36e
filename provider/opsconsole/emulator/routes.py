"""The paths: the documented ones, the extra endpoints, and the match of a request to one."""

from __future__ import annotations

from urllib.parse import unquote

DOCUMENTED: dict[str, str] = {
    "blacklist_get": "GET /api/v1/blacklists/{id}",
    "blacklist_update": "POST /api/v1/blacklists/{id}",
    "host_update": "POST /api/v1/hosts/{id}",
    "host_delete": "DELETE /api/v1/hosts/{id}",
    "host_import": "POST /api/v1/hosts/batch",
    "agent_create": "POST /api/v1/agents",
    "plugin_attach": "POST /api/v1/agents/{id}/plugins",
    "plugin_list": "GET /api/v1/agents/{id}/plugins",
    "plugin_detach": "DELETE /api/v1/agents/{id}/plugins/{pluginId}",
    "specialty_search": "GET /api/v1/specialties/search",
    "specialty_delete": "DELETE /api/v1/specialties/{id}",
}
"""Operation to `METHOD /path`: the table of the document's Endpoints part."""

EXTRA: dict[str, str] = {
    "host_get": "GET /api/v1/hosts/{id}",
    "host_list": "GET /api/v1/hosts",
    "agent_get": "GET /api/v1/agents/{id}",
    "agent_list": "GET /api/v1/agents",
    "agent_update": "POST /api/v1/agents/{id}",
    "agent_delete": "DELETE /api/v1/agents/{id}",
    "specialty_get": "GET /api/v1/specialties/{id}",
    "specialty_create": "POST /api/v1/specialties",
    "specialty_update": "POST /api/v1/specialties/{id}",
    "blacklist_list": "GET /api/v1/blacklists",
    "blacklist_create": "POST /api/v1/blacklists",
    "blacklist_delete": "DELETE /api/v1/blacklists/{id}",
}
"""Operations that the document does not show, and that a profile may have."""

TEMPLATES: dict[str, str] = DOCUMENTED | EXTRA

_Shape = tuple[str, tuple[str, ...]]


def _shape(template: str) -> _Shape:
    method, path = template.split(" ", 1)
    return method, tuple("" if part.startswith("{") else part for part in path.split("/")[3:])


_EXACT: dict[str, str] = {}
_SHAPES: dict[_Shape, str] = {}


def add_route(name: str, template: str) -> None:
    """Let requests of `METHOD /path` lead to the operation `name`."""
    TEMPLATES[name] = template
    if "{" in template:
        _SHAPES[_shape(template)] = name
    else:
        _EXACT[template] = name


for _name, _template in TEMPLATES.items():
    add_route(_name, _template)


def match(method: str, path: str) -> tuple[str | None, tuple[str, ...]]:
    """Find the operation of a request, and the ids in its path, percent-decoded.

    `path` is the path as it was sent, still encoded, so that an id may hold a slash.
    """
    name = _EXACT.get(f"{method} {path}")
    if name is not None:
        return name, ()
    parts = path.split("/")
    if len(parts) < 5 or parts[1] != "api" or parts[2] != "v1" or not parts[4]:
        return None, ()
    if len(parts) == 5:
        return _SHAPES.get((method, (parts[3], ""))), (_decoded(parts[4]),)
    if len(parts) == 6:
        return _SHAPES.get((method, (parts[3], "", parts[5]))), (_decoded(parts[4]),)
    if len(parts) == 7 and parts[6]:
        ids = (_decoded(parts[4]), _decoded(parts[6]))
        return _SHAPES.get((method, (parts[3], "", parts[5], ""))), ids
    return None, ()


def _decoded(part: str) -> str:
    return unquote(part) if "%" in part else part
