"""Turns a request into an answer: operation, caller, rule, status. No network."""

from __future__ import annotations

import json
import logging
import sqlite3
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from opsconsole.emulator import agents, blacklists, host_import, hosts, specialties
from opsconsole.emulator.console import ConsoleRequest, EmulatedConsole, Headers
from opsconsole.emulator.lists import Rule, get, list_all
from opsconsole.emulator.refusal import Refusal, license_cap
from opsconsole.emulator.routes import DOCUMENTED, add_route, match

RULES: dict[str, Rule] = {
    "blacklist_get": get("blacklist"),
    "blacklist_update": blacklists.update,
    "host_update": hosts.update,
    "host_delete": hosts.delete,
    "host_import": host_import.run,
    "agent_create": agents.create,
    "plugin_attach": agents.attach,
    "plugin_list": agents.list_plugins,
    "plugin_detach": agents.detach,
    "specialty_search": list_all("specialty"),
    "specialty_delete": specialties.delete,
    "host_get": get("host"),
    "host_list": list_all("host"),
    "agent_get": get("agent"),
    "agent_list": list_all("agent"),
    "agent_update": agents.update,
    "agent_delete": agents.delete,
    "specialty_get": get("specialty"),
    "specialty_create": specialties.create,
    "specialty_update": specialties.update,
    "blacklist_list": list_all("blacklist"),
    "blacklist_create": blacklists.create,
    "blacklist_delete": blacklists.delete,
}
_WITH_QUERY = (
    "host_import",
    "plugin_list",
    "specialty_search",
    "host_list",
    "agent_list",
    "blacklist_list",
)
"""Operations with query parameters, which their rules check; the others have none."""

METHODS = ("GET", "POST", "DELETE")
LOGGER = logging.getLogger("opsconsole.emulator")
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_NO_QUERY: dict[str, str] = {}


def add_operation(name: str, template: str, rule: Rule) -> None:
    """Let every console of this process have one more operation, as if it were documented.

    It takes no query parameters.
    """
    DOCUMENTED[name] = template
    RULES[name] = rule
    add_route(name, template)


class Response(NamedTuple):
    """An answer, ready to be sent. `request_id` is empty on success."""

    status: int
    body: bytes
    request_id: str = ""


def encode(body: Any) -> bytes:
    """Return a body as JSON."""
    return _encode(body).encode("ascii")


def operation_of(console: EmulatedConsole, method: str, path: str) -> tuple[str, tuple[str, ...]]:
    """Return the operation of a request that this console has, or `unknown`, and the ids."""
    operation, ids = match(method, path)
    if operation is None or (
        operation not in DOCUMENTED and operation not in console.profile.extra
    ):
        return "unknown", ()
    return operation, ids


def reply(
    console: EmulatedConsole,
    operation: str,
    ids: tuple[str, ...],
    method: str,
    path: str,
    query: str,
    headers: Headers,
    body: bytes,
) -> Response:
    """Answer one request; what it changed is committed before this returns."""
    try:
        principal = console.principal(headers)
        if operation == "unknown":
            raise _nothing_here(console, method, path)
        parameters = dict(parse_qsl(query, keep_blank_values=True)) if query else _NO_QUERY
        request = ConsoleRequest(ids, parameters, body, _content_type(headers, body), principal)
        _check_license(console, operation, method)
        if query and operation not in _WITH_QUERY:
            console.check_query(parameters, ())
        answer = RULES[operation](console, request)
        console.store.commit()
        status = answer.status or console.profile.success.get(operation, 200)
        return Response(status, encode(answer.body))
    except Refusal as refusal:
        return refused(console, refusal)
    except sqlite3.Error as failure:
        message = f"the data file cannot be written: {failure}"
    except Exception:
        LOGGER.exception("%s %s", method, path)
        message = "the emulator has a defect; its log says more"
    return refused(console, Refusal(500, "INTERNAL_ERROR", message))


def refused(console: EmulatedConsole, refusal: Refusal) -> Response:
    """Return the answer to a request that is refused."""
    request_id = console.store.new_id("req")
    body = refusal.body(request_id)
    if refusal.status == 409:
        body["code"] = console.profile.conflict_code
    return Response(refusal.status, encode(body), request_id)


_GROWING = ("agent_create", "specialty_create", "blacklist_create")


def _check_license(console: EmulatedConsole, operation: str, method: str) -> None:
    """Raise the 403 that the license brings to a write; an import meets its cap row by row."""
    state = console.profile.license
    if state == "expired" and method != "GET":
        raise Refusal(403, "LICENSE_EXPIRED", "the license has expired")
    if state == "cap_reached" and operation in _GROWING:
        raise license_cap()


def _nothing_here(console: EmulatedConsole, method: str, path: str) -> Refusal:
    if any(operation_of(console, name, path)[0] != "unknown" for name in METHODS):
        return Refusal(405, "METHOD_NOT_ALLOWED", f"{method} is not an operation of {path}")
    return Refusal(404, "NOT_FOUND", f"there is nothing at {path}")


def _content_type(headers: Headers, body: bytes) -> str:
    if body:
        for name, value in headers:
            if name == b"content-type":
                return value.decode("latin-1").partition(";")[0].strip().lower()
    return ""
