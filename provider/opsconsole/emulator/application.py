"""The ASGI application: the routes of the API, with the rate limit, the log and faults."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from starlette.datastructures import Headers
from starlette.routing import Mount, Router
from starlette.types import Receive, Scope, Send

from opsconsole.emulator import agents, catalogue, hosts
from opsconsole.emulator.bodies import Refusal, license_cap
from opsconsole.emulator.console import (
    Answer,
    ConsoleRequest,
    EmulatedConsole,
    Handler,
    list_handler,
    object_handler,
)
from opsconsole.emulator.control import LOGGER, Control, encode
from opsconsole.emulator.document import DOCUMENTED, EXTRA
from opsconsole.emulator.faults import Fault, Faults, bomb, endless_pieces, garbage, spoil_answer
from opsconsole.emulator.profiles import Profile
from opsconsole.emulator.traffic import LoggedRequest, RateLimit, Traffic

if TYPE_CHECKING:
    from opsconsole.emulator.server import ConsoleServer

MOST_BODY = 64 * 1024 * 1024
TRANSPORT = "opsconsole.transport"
NO_OPERATION = "unknown"
"""The operation name of a request that matches no operation."""

HANDLERS: dict[str, Handler] = {
    "blacklist_get": object_handler("blacklist"),
    "blacklist_update": catalogue.update_blacklisted_command,
    "host_update": hosts.update,
    "host_delete": hosts.delete,
    "host_import": hosts.import_hosts,
    "agent_create": agents.create,
    "plugin_attach": agents.attach,
    "plugin_list": agents.list_plugins,
    "plugin_detach": agents.detach,
    "specialty_search": list_handler("specialty"),
    "specialty_delete": catalogue.delete_specialty,
    "host_get": object_handler("host"),
    "host_list": list_handler("host"),
    "agent_get": object_handler("agent"),
    "agent_list": list_handler("agent"),
    "agent_update": agents.update,
    "agent_delete": agents.delete,
    "specialty_get": object_handler("specialty"),
    "specialty_create": catalogue.create_specialty,
    "specialty_update": catalogue.update_specialty,
    "blacklist_list": list_handler("blacklist"),
    "blacklist_create": catalogue.create_blacklisted_command,
    "blacklist_delete": catalogue.delete_blacklisted_command,
}
_WITH_QUERY = ("host_import", "specialty_search")
"""Documented operations with query parameters. Their handlers check the parameters, as the handlers
of lists do."""


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One request with its entry in the log, and the way to answer it."""

    scope: Scope
    receive: Receive
    send: Send
    body: bytes
    entry: LoggedRequest
    ids: Sequence[str]
    refusal: Refusal | None


class Application:
    """One console as an ASGI application. Requests under `/_emulator/` go to the control side.

    Args:
        reseed: Fills the store again after a reset of the data.
        latency: Seconds by which every answer is delayed.
    """

    def __init__(
        self, console: EmulatedConsole, reseed: Callable[[], None], latency: float = 0.0
    ) -> None:
        self.console = console
        self.reseed = reseed
        self.server: ConsoleServer | None = None
        self.faults = Faults()
        self.traffic = Traffic()
        self.rate_limit = RateLimit()
        self.latency = latency
        self._control = Router([Mount("/_emulator", routes=Control(self).routes())])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The path stays as it was sent, because an id may contain an encoded slash.
        path = scope["path"] = scope["raw_path"].decode("latin-1")
        if path.startswith("/_emulator/"):
            await self._control(scope, receive, send)
            return
        body = await _read_body(receive)
        if body is None:
            return
        method, now = scope["method"], time.monotonic()
        operation, ids, refusal = find_operation(self.console.profile, method, path)
        query = scope["query_string"].decode("latin-1")
        entry = self.traffic.begin(operation, method, path, query, body, now)
        exchange = _Exchange(scope, receive, send, body, entry, ids, refusal)
        status = 0
        try:
            self.rate_limit.admit(self.console.profile, now)
            if self.latency:
                await asyncio.sleep(self.latency)
            fault = self.faults.match(method, operation, path, body)
            if fault is None:
                status, content = self._answer(exchange)
                await _send(send, status, content, [_JSON])
            else:
                entry.faulty = True
                status = await self._answer_with_fault(exchange, fault)
        except Refusal as problem:
            status, content = self._refuse(entry, problem)
            headers = [_JSON]
            if (seconds := self.console.profile.retry_after) is not None:
                headers.append((b"retry-after", str(seconds).encode()))
            await _send(send, status, content, headers)
        finally:
            self.traffic.end(entry, status, time.monotonic())

    def _answer(self, exchange: _Exchange) -> tuple[int, bytes]:
        """Return the status and the body of an answer; commit its changes before."""
        scope, entry, operation = exchange.scope, exchange.entry, exchange.entry.operation
        console = self.console
        try:
            caller = console.identify(scope["headers"])
            if len(exchange.body) > MOST_BODY:
                raise Refusal(413, "BAD_REQUEST", f"a body holds at most {MOST_BODY} bytes")
            if exchange.refusal is not None:
                raise exchange.refusal
            query = dict(parse_qsl(entry.query, keep_blank_values=True))
            request = ConsoleRequest(
                [*map(unquote, exchange.ids)], query, exchange.body, Headers(scope=scope), caller
            )
            _check_license(console, operation, entry.method)
            if operation not in _WITH_QUERY and not operation.endswith("_list"):
                console.check_query(query, ())
            answer: Answer = HANDLERS[operation](console, request)
            # Commit before the answer is sent, so that answered changes survive a kill of the
            # process.
            console.store.commit()
            status = answer.status or console.profile.success.get(operation, 200)
            return status, encode(answer.body)
        except Refusal as problem:
            return self._refuse(entry, problem)
        except sqlite3.Error as problem:
            message = f"the data file cannot be written: {problem}"
        except Exception:
            LOGGER.exception("%s %s", entry.method, entry.path)
            message = "the emulator has a defect; its log says more"
        return self._refuse(entry, Refusal(500, "INTERNAL_ERROR", message))

    def _refuse(self, entry: LoggedRequest, refusal: Refusal) -> tuple[int, bytes]:
        entry.request_id = self.console.store.new_id("req")
        body = refusal.body(entry.request_id)
        if refusal.status == 409:
            body["code"] = self.console.profile.conflict_code
        return refusal.status, encode(body)

    async def _answer_with_fault(self, exchange: _Exchange, fault: Fault) -> int:
        """Handle the request unless the fault prevents it, and answer as the fault demands."""
        receive, send = exchange.receive, exchange.send
        if fault.hold == "before":
            await self.faults.hold()
        await asyncio.sleep(fault.delay)
        status, content = self._answer(exchange) if fault.lets_through else (500, b"")
        if fault.hold == "after":
            await self.faults.hold()
        await asyncio.sleep(fault.answer_delay)
        transport: asyncio.Transport = exchange.scope["extensions"][TRANSPORT]["transport"]
        if fault.refuse and self.server is not None:
            await self.server.refuse()
        if fault.cut is not None:
            exchange.entry.request_id = ""
            transport.abort()
            # uvicorn treats an application that returns without an answer as a failure, and answers
            # 500.
            await _wait_for_disconnect(receive)
            return 0
        status, headers, content = self._spoil(exchange, fault, status, content)
        if fault.endless:
            await _send_endless(send, receive, status, headers)
            return status
        if fault.truncate is None or fault.truncate >= len(content):
            await _send(send, status, content, headers)
            return status
        await _send(send, status, content, headers, upto=fault.truncate)
        # Unlike `abort`, this first sends the buffer: the part of the body that shall arrive.
        transport.close()
        await _wait_for_disconnect(receive)
        return status

    def _spoil(
        self, exchange: _Exchange, fault: Fault, status: int, content: bytes
    ) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """Return the status, the headers and the body of an answer as a fault changes them."""
        entry = exchange.entry
        headers = _fault_headers(fault)
        if fault.redirect is not None:
            status, content = 307, b""
            headers.append((b"location", _redirect_target(exchange.scope, fault.redirect)))
        elif fault.status is not None:
            status, entry.request_id = fault.status, self.console.store.new_id("req")
            content = encode(fault.problem(entry.request_id))
        if fault.has_other_body:
            entry.request_id = ""
        if fault.text is not None:
            content = fault.text.encode("utf-8", "surrogatepass")
        elif fault.garbage:
            content = garbage(fault.garbage)
        elif fault.inflates_to:
            headers.append((b"content-encoding", b"gzip"))
            content = bomb(fault.inflates_to)
        elif (fault.answer or fault.ids) and status < 300:
            body = spoil_answer(self.console, entry.operation, fault, json.loads(content))
            content = encode(body)
        return status, headers, content


def find_operation(
    profile: Profile, method: str, path: str
) -> tuple[str, Sequence[str], Refusal | None]:
    """Return the operation of a request with the ids in its path, still encoded, or a refusal."""
    has_path = False
    for name, template in (DOCUMENTED | EXTRA).items():
        if name in DOCUMENTED or name in profile.extra:
            of_method, _, of_path = template.partition(" ")
            if found := _path_pattern(of_path).fullmatch(path):
                if of_method == method:
                    return name, found.groups(), None
                has_path = True
    if has_path:
        text = f"{method} is not an operation of {path}"
        return NO_OPERATION, (), Refusal(405, "METHOD_NOT_ALLOWED", text)
    return NO_OPERATION, (), Refusal(404, "NOT_FOUND", f"there is nothing at {path}")


@cache
def _path_pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "([^/]+)", template))


def _check_license(console: EmulatedConsole, operation: str, method: str) -> None:
    """Raise the license's 403 for a write; an import checks the cap row by row."""
    state = console.profile.license
    if state == "expired" and method != "GET":
        raise Refusal(403, "LICENSE_EXPIRED", "the license has expired")
    if state == "cap_reached" and operation.endswith("_create"):
        raise license_cap()


_JSON = (b"content-type", b"application/json")


def _fault_headers(fault: Fault) -> list[tuple[bytes, bytes]]:
    headers = [(name.lower().encode(), value.encode()) for name, value in fault.headers.items()]
    headers.append((b"content-type", fault.content_type.encode()))
    if fault.refuse:
        # The server ends this connection too; without the header a client would keep it for reuse.
        headers.append((b"connection", b"close"))
    if fault.retry_after_date is not None:
        until = formatdate(time.time() + fault.retry_after_date, usegmt=True)
        headers.append((b"retry-after", until.encode()))
    return headers


def _redirect_target(scope: Scope, where: str) -> bytes:
    """Return the Location of a redirect: this path, here or under another name of this machine."""
    path: bytes = scope["raw_path"]
    if query := scope["query_string"]:
        path += b"?" + query
    return path if where == "same" else b"http://localhost:%d" % scope["server"][1] + path


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body of a request, or None if the client has gone away."""
    parts, size = [], 0
    while (message := await receive())["type"] == "http.request":
        # A body that is too long is read to its end, but kept only until the limit is exceeded.
        if size <= MOST_BODY:
            parts.append(message["body"])
            size += len(message["body"])
        if not message["more_body"]:
            return b"".join(parts)
    return None


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(
    send: Send,
    status: int,
    body: bytes,
    headers: list[tuple[bytes, bytes]],
    upto: int | None = None,
) -> None:
    # HTTP allows no body here. A client would read it as the start of the next answer.
    if status in (204, 304):
        body = b""
    headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    more = upto is not None
    await send({"type": "http.response.body", "body": body[:upto], "more_body": more})


async def _send_endless(
    send: Send, receive: Receive, status: int, headers: list[tuple[bytes, bytes]]
) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    gone = asyncio.ensure_future(_wait_for_disconnect(receive))
    try:
        for piece in endless_pieces():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            # Sending to a client that has gone away does not wait, so the loss would never be
            # noticed.
            await asyncio.sleep(0)
            if gone.done():
                break
    finally:
        gone.cancel()
