"""The emulated console in the process of the test: no socket, no thread, no timer.

Its requests pass through the whole client, and meet the application of the emulator where a
connection would be opened. Tests of connections use `opsconsole.emulator.serve`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from opsconsole.emulator import API_KEY, ControlError, Emulator, Profile, profiles
from opsconsole.emulator.application import TRANSPORT, Application
from opsconsole.emulator.server import make_application
from opsconsole.errors import AnswerLost, NotSent
from opsconsole.v1 import transport

_CONSOLES: dict[str, InProcessConsole] = {}
_NUMBERS = itertools.count(10_000)


class Connection:
    """One connection to an application, which a fault may cut."""

    def __init__(self) -> None:
        self.cut = asyncio.Event()

    def abort(self) -> None:
        """Cut it."""
        self.cut.set()

    close = abort


async def call(
    application: Application,
    method: str,
    target: str,
    headers: list[tuple[bytes, bytes]],
    content: bytes,
) -> httpx.Response | None:
    """Send one request to an application; None: its answer was cut off."""
    path, _, query = target.partition("?")
    connection = Connection()
    start: dict[str, Any] = {}
    body: list[bytes] = []
    whole = False
    requests = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if requests:
            return requests.pop()
        await connection.cut.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal whole
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            body.append(message.get("body", b""))
            whole = not message.get("more_body", False)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 1),
        "extensions": {TRANSPORT: {"transport": connection}},
    }
    await application(scope, receive, send)
    if not whole:
        return None
    stream = httpx.ByteStream(b"".join(body))
    return httpx.Response(start["status"], headers=start["headers"], stream=stream)


class Connections(httpx.AsyncBaseTransport):
    """Takes the place of the connections of `v1.transport`."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the console of its address."""
        origin = f"{request.url.scheme}://{request.url.netloc.decode()}"
        console = _CONSOLES.get(origin)
        if console is None or console.refuses:
            raise NotSent(f"{origin} cannot be reached: Connection refused.", "Is it running?")
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        content = await request.aread()
        await asyncio.sleep(0)
        target = request.url.raw_path.decode()
        response = await call(console.application, request.method, target, headers, content)
        await asyncio.sleep(0)
        if response is None:
            raise AnswerLost(f"{origin} closed the connection without an answer (cut).")
        return response


class InProcessConsole(Emulator):
    """A handle whose requests to the control side are calls."""

    def __init__(
        self, base_url: str, profile: Profile, application: Application, api_key: str = API_KEY
    ) -> None:
        super().__init__(base_url, api_key, profile)
        self.application = application
        self.refuses = False

    def refuse(self) -> None:
        """Refuse every connection, until `accept`."""
        self.refuses = True

    def accept(self) -> None:
        """Accept connections again."""
        self.refuses = False

    def _ask(self, method: str, path: str, body: Any = None, *, missing: bool = False) -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        answer = call(self.application, method, f"/_emulator/{path}", [], content)
        try:
            # The control side waits for nothing, so that no event loop is needed.
            answer.send(None)
        except StopIteration as end:
            response = end.value
        else:
            raise AssertionError("the control side waits")
        if response.status_code == 404 and missing:
            return None
        text = b"".join(response.stream)
        if response.status_code != 200:
            raise ControlError(f"{method} {path}: {response.status_code} {text.decode()}")
        return json.loads(text)


@contextlib.contextmanager
def in_process(profile: str | Profile = "default", **options: Any) -> Iterator[InProcessConsole]:
    """Run a console in this process; options are those of `assemble`."""
    chosen = profiles()[profile] if isinstance(profile, str) else profile
    base_url = f"http://127.0.0.1:{next(_NUMBERS)}"
    application = make_application(chosen, **options)
    _CONSOLES[base_url] = console = InProcessConsole(
        base_url, chosen, application, options.get("api_key", API_KEY)
    )
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(transport, "open_connections", lambda *_: Connections())
            yield console
    finally:
        del _CONSOLES[base_url]
        application.console.store.close()
