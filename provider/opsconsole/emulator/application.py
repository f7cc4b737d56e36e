"""The ASGI application: bodies, faults, cuts, and the control side beside the API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.applications import Starlette

from opsconsole.emulator.api import Reply, encode, operation_of, reply
from opsconsole.emulator.console import Console
from opsconsole.emulator.faults import Fault, Faults
from opsconsole.emulator.refusal import Refusal
from opsconsole.emulator.traffic import Entry, Traffic

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MOST_BODY = 64 * 1024 * 1024
CONTROL = "/_emulator/"
TRANSPORT = "opsconsole.transport"
_JSON = (b"content-type", b"application/json")


class Application:
    """One console as an ASGI application. Requests under `/_emulator/` are the control side's."""

    def __init__(
        self,
        console: Console,
        faults: Faults,
        traffic: Traffic,
        control: Starlette,
        latency: float = 0.0,
    ) -> None:
        self._console = console
        self._faults = faults
        self._traffic = traffic
        self._control = control
        self._latency = latency

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path: str = scope["raw_path"].decode("latin-1")
        if path.startswith(CONTROL):
            await self._control(scope, receive, send)
            return
        body = await _body(receive)
        if body is None:
            return
        method: str = scope["method"]
        query: str = scope["query_string"].decode("latin-1")
        operation, ids = operation_of(self._console, method, path)
        entry = self._traffic.begin(operation, method, path, query, body, time.monotonic())
        status = 0
        try:
            if self._latency:
                await asyncio.sleep(self._latency)
            if self._faults.waiting and (fault := self._faults.meet(method, path, body)):
                entry.faulty = True
                if fault.delay:
                    await asyncio.sleep(fault.delay)
            else:
                fault = None
            if fault is None or fault.handled or fault.cut == "after" or _lets_through(fault):
                answer = self._reply(scope, entry, ids, body)
            else:
                answer = Reply(500, b"")
            if fault is not None and not _only_delays(fault):
                status = await self._spoil(scope, receive, send, entry, fault, answer)
            else:
                status = answer.status
                entry.request_id = answer.request_id
                await _send(send, answer.status, answer.body, [_JSON])
        finally:
            self._traffic.end(entry, status, time.monotonic())

    def _reply(self, scope: Scope, entry: Entry, ids: tuple[str, ...], body: bytes) -> Reply:
        if len(body) > MOST_BODY:
            request_id = self._console.store.new_id("req")
            refusal = Refusal(413, "BAD_REQUEST", f"a body holds at most {MOST_BODY} bytes")
            return Reply(413, encode(refusal.body(request_id)), request_id)
        return reply(
            self._console,
            entry.operation,
            ids,
            entry.method,
            entry.path,
            entry.query,
            scope["headers"],
            body,
        )

    async def _spoil(
        self, scope: Scope, receive: Receive, send: Send, entry: Entry, fault: Fault, answer: Reply
    ) -> int:
        transport: asyncio.Transport = scope["extensions"][TRANSPORT]["transport"]
        if fault.cut is not None:
            transport.abort()
            await _gone(receive)
            return 0
        status, content = answer.status, answer.body
        headers = [(name.lower().encode(), value.encode()) for name, value in fault.headers.items()]
        headers.append((b"content-type", fault.content_type.encode()))
        if fault.status is not None:
            status = fault.status
            entry.request_id = self._console.store.new_id("req")
            content = encode(fault.problem(entry.request_id))
        if fault.text is not None:
            content = fault.text.encode("utf-8", "surrogatepass")
            status = fault.status or status
        if fault.truncate is None or fault.truncate >= len(content):
            await _send(send, status, content, headers)
            return status
        await _send(send, status, content, headers, upto=fault.truncate)
        transport.close()
        await _gone(receive)
        return status


def _lets_through(fault: Fault) -> bool:
    return fault.status is None and fault.cut is None


def _only_delays(fault: Fault) -> bool:
    return (
        fault.cut is None
        and fault.truncate is None
        and fault.status is None
        and fault.text is None
        and not fault.headers
    )


async def _body(receive: Receive) -> bytes | None:
    message = await receive()
    if message["type"] != "http.request":
        return None
    body: bytes = message["body"]
    if not message["more_body"]:
        return body
    parts, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        if message["type"] != "http.request":
            return None
        # What is too long is read to its end, and kept only so far that its length is seen.
        if size <= MOST_BODY:
            parts.append(message["body"])
            size += len(message["body"])
    return b"".join(parts)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(
    send: Send,
    status: int,
    body: bytes,
    headers: list[tuple[bytes, bytes]],
    upto: int | None = None,
) -> None:
    if status in (204, 304):
        body = b""
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status, "headers": [*headers, length]}
    await send(start)
    if upto is None:
        await send({"type": "http.response.body", "body": body})
    else:
        await send({"type": "http.response.body", "body": body[:upto], "more_body": True})
