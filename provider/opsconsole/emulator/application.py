"""The ASGI application: load, bodies, faults, cuts, and the control side beside the API."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from email.utils import formatdate
from typing import Any

from opsconsole.emulator.api import Response, encode, operation_of, refused, reply
from opsconsole.emulator.console import EmulatedConsole
from opsconsole.emulator.control import Control
from opsconsole.emulator.distortion import bomb, distorted, garbage, without_end
from opsconsole.emulator.door import Door
from opsconsole.emulator.faults import Fault, Faults
from opsconsole.emulator.profiles import Profile
from opsconsole.emulator.refusal import Refusal
from opsconsole.emulator.traffic import LoggedRequest, Traffic


class Load:
    """A token bucket: it fills at `requests_per_second`, up to `requests_at_once`."""

    def __init__(self) -> None:
        self._left: float | None = None
        self._looked = 0.0

    def admit(self, profile: Profile, now: float) -> None:
        """Count one request that comes at the moment `now`, in seconds.

        Raises:
            Refusal: there are too many.
        """
        rate = profile.requests_per_second
        if rate is None:
            self._left = None
            return
        most = rate if profile.requests_at_once is None else profile.requests_at_once
        left = most if self._left is None else self._left + (now - self._looked) * rate
        self._left, self._looked = min(most, left), now
        if self._left < 1:
            raise Refusal(429, "RATE_LIMITED", f"at most {rate} requests a second are answered")
        self._left -= 1


def crowding(profile: Profile, in_flight: int) -> float:
    """Return the seconds that an answer waits beside so many requests in flight."""
    return profile.crowding_microseconds * in_flight**2 / 1_000_000


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MOST_BODY = 64 * 1024 * 1024
CONTROL = "/_emulator/"
TRANSPORT = "opsconsole.transport"
_JSON = (b"content-type", b"application/json")


class Application:
    """One console as an ASGI application. Requests under `/_emulator/` are the control side's.

    Args:
        sow: Fills the emptied store again, when data are reset.
        latency: Seconds that every answer waits.
    """

    def __init__(
        self, console: EmulatedConsole, sow: Callable[[], None], latency: float = 0.0
    ) -> None:
        self.console = console
        self.door = Door()
        self._faults = Faults()
        self._traffic = Traffic()
        control = Control(console, self._faults, self._traffic, self.door, sow)
        self._control = control.application()
        self._latency = latency
        self._load = Load()

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
        operation, ids = operation_of(self.console, method, path)
        entry = self._traffic.begin(operation, method, path, query, body, time.monotonic())
        status = 0
        try:
            profile = self.console.profile
            self._load.admit(profile, time.monotonic())
            if wait := self._latency + crowding(profile, self._traffic.in_flight):
                await asyncio.sleep(wait)
            fault = (
                self._faults.meet(method, operation, path, body) if self._faults.waiting else None
            )
            if fault is None:
                answer = self._reply(scope, entry, ids, body)
            else:
                entry.faulty = True
                answer = await self._met(fault, scope, entry, ids, body)
            if fault is None or fault.only_delays:
                status = answer.status
                entry.request_id = answer.request_id
                await _send(send, answer.status, answer.body, [_JSON])
            else:
                status = await self._spoil(scope, receive, send, entry, fault, answer)
        except Refusal as refusal:
            status = refusal.status
            answer = refused(self.console, refusal)
            entry.request_id = answer.request_id
            headers = [_JSON]
            if (seconds := self.console.profile.retry_after) is not None:
                headers.append((b"retry-after", str(seconds).encode()))
            await _send(send, status, answer.body, headers)
        finally:
            self._traffic.end(entry, status, time.monotonic())

    async def _met(
        self, fault: Fault, scope: Scope, entry: LoggedRequest, ids: tuple[str, ...], body: bytes
    ) -> Response:
        """Do what was asked, where a fault lets it be done, with the waits that it asks for."""
        if fault.hold == "before":
            await self._faults.hold()
        if fault.delay:
            await asyncio.sleep(fault.delay)
        answer = self._reply(scope, entry, ids, body) if fault.lets_through else Response(500, b"")
        if fault.hold == "after":
            await self._faults.hold()
        if fault.answer_delay:
            await asyncio.sleep(fault.answer_delay)
        return answer

    def _reply(
        self, scope: Scope, entry: LoggedRequest, ids: tuple[str, ...], body: bytes
    ) -> Response:
        if len(body) > MOST_BODY:
            refusal = Refusal(413, "BAD_REQUEST", f"a body holds at most {MOST_BODY} bytes")
            return refused(self.console, refusal)
        return reply(
            self.console,
            entry.operation,
            ids,
            entry.method,
            entry.path,
            entry.query,
            scope["headers"],
            body,
        )

    async def _spoil(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        entry: LoggedRequest,
        fault: Fault,
        answer: Response,
    ) -> int:
        transport: asyncio.Transport = scope["extensions"][TRANSPORT]["transport"]
        if fault.refuse:
            await self.door.close()
        if fault.cut is not None:
            transport.abort()
            await _gone(receive)
            return 0
        headers = [(name.lower().encode(), value.encode()) for name, value in fault.headers.items()]
        headers.append((b"content-type", fault.content_type.encode()))
        if fault.refuse:
            headers.append((b"connection", b"close"))
        if fault.retry_after_date is not None:
            until = formatdate(time.time() + fault.retry_after_date, usegmt=True)
            headers.append((b"retry-after", until.encode()))
        status, content = answer.status, answer.body
        if fault.redirect is not None:
            status, content = 307, b""
            headers.append((b"location", _redirected(scope, fault.redirect)))
        elif fault.status is not None:
            status = fault.status
            entry.request_id = self.console.store.new_id("req")
            content = encode(fault.problem(entry.request_id))
        if fault.endless:
            await _send_pieces(send, receive, status, without_end(), headers)
            return status
        if fault.inflates_to:
            headers.append((b"content-encoding", b"gzip"))
            content = bomb(fault.inflates_to)
        else:
            content = self._content(fault, entry, status, content)
        if fault.truncate is None or fault.truncate >= len(content):
            await _send(send, status, content, headers)
            return status
        await _send(send, status, content, headers, upto=fault.truncate)
        transport.close()
        await _gone(receive)
        return status

    def _content(self, fault: Fault, entry: LoggedRequest, status: int, content: bytes) -> bytes:
        """Return the body that a fault asks for, where there is an end to it."""
        if fault.text is not None:
            return fault.text.encode("utf-8", "surrogatepass")
        if fault.garbage:
            return garbage(fault.garbage)
        if (fault.answer or fault.ids) and status < 300:
            return encode(distorted(self.console, entry.operation, fault, json.loads(content)))
        return content


def _redirected(scope: Scope, where: str) -> bytes:
    """Return the Location of a redirect: this path, here or under another name of this machine."""
    path: bytes = scope["raw_path"]
    if query := scope["query_string"]:
        path += b"?" + query
    return path if where == "same" else b"http://localhost:%d" % scope["server"][1] + path


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


async def _send_pieces(
    send: Send,
    receive: Receive,
    status: int,
    pieces: Iterable[bytes],
    headers: list[tuple[bytes, bytes]],
) -> None:
    """Send pieces until the client has gone away."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    gone = asyncio.ensure_future(_gone(receive))
    try:
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            # Sending to a client that has gone away does not wait, so it would never be noticed.
            await asyncio.sleep(0)
            if gone.done():
                break
    finally:
        gone.cancel()
