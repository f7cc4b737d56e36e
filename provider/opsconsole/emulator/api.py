"""From a request to an answer: operation, caller, rule, status. No network."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from opsconsole.emulator import agents, blacklists, host_import, hosts, plugins, specialties
from opsconsole.emulator.access import Headers
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole
from opsconsole.emulator.refusal import Refusal, license_cap, license_expired
from opsconsole.emulator.routes import DOCUMENTED, add_route, match

Rule = Callable[[EmulatedConsole, ConsoleRequest], Answer]

RULES: dict[str, Rule] = {
    "blacklist_get": blacklists.get,
    "blacklist_update": blacklists.update,
    "host_update": hosts.update,
    "host_delete": hosts.delete,
    "host_import": host_import.run,
    "agent_create": agents.create,
    "plugin_attach": plugins.attach,
    "plugin_list": plugins.list_all,
    "plugin_detach": plugins.detach,
    "specialty_search": specialties.search,
    "specialty_delete": specialties.delete,
    "host_get": hosts.get,
    "host_list": hosts.list_all,
    "agent_get": agents.get,
    "agent_list": agents.list_all,
    "agent_update": agents.update,
    "agent_delete": agents.delete,
    "specialty_get": specialties.get,
    "specialty_create": specialties.create,
    "specialty_update": specialties.update,
    "blacklist_list": blacklists.list_all,
    "blacklist_create": blacklists.create,
    "blacklist_delete": blacklists.delete,
}

METHODS = ("GET", "POST", "DELETE")
LOGGER = logging.getLogger("opsconsole.emulator")
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_NO_QUERY: dict[str, str] = {}


def add_operation(name: str, template: str, rule: Rule) -> None:
    """Let every console of this process have one more operation, as if it were documented."""
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
        principal = console.access.principal(headers, console.profile.cookie_name)
        if operation == "unknown":
            raise _nothing_here(console, method, path)
        parameters = dict(parse_qsl(query, keep_blank_values=True)) if query else _NO_QUERY
        call = ConsoleRequest(
            operation, ids, parameters, body, _content_type(headers, body), principal
        )
        _check_license(console, call)
        answer = RULES[operation](console, call)
        console.store.commit()
        status = answer.status or console.profile.success.get(operation, 200)
        return Response(status, encode(answer.body))
    except Refusal as refusal:
        request_id = console.store.new_id("req")
        answered = refusal.body(request_id)
        if refusal.status == 409:
            answered["code"] = console.profile.conflict_code
        return Response(refusal.status, encode(answered), request_id)
    except sqlite3.Error as failure:
        return _broken(console, f"the data file cannot be written: {failure}")
    except Exception:
        LOGGER.exception("%s %s", method, path)
        return _broken(console, "the emulator has a defect; its log says more")


_GROWING = ("agent_create", "specialty_create", "blacklist_create")


def _check_license(console: EmulatedConsole, call: ConsoleRequest) -> None:
    """Raise the 403 that the license brings to a write; an import meets its cap row by row."""
    state = console.profile.license
    if state == "expired" and not call.reads:
        raise license_expired()
    if state == "cap_reached" and call.operation in _GROWING:
        raise license_cap()


def _broken(console: EmulatedConsole, message: str) -> Response:
    refusal = Refusal(500, "INTERNAL_ERROR", message)
    request_id = console.store.new_id("req")
    return Response(500, encode(refusal.body(request_id)), request_id)


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
