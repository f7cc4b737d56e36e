"""A loopback server that answers as scripted, cuts, holds and truncates, and counts exactly."""

import asyncio
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

import virtual_time
from opsconsole.v1.client import Client
from opsconsole.v1.console import Console
from opsconsole.v1.limiter import Limiter
from opsconsole.v1.settings import Settings

KEY = "svc_ak_s3cr3t/With+Odd=Chars"


@dataclass(frozen=True)
class Received:
    """One request as it came over the wire; `connection` counts from 1."""

    method: str
    target: str
    headers: dict[str, str]
    content: bytes
    connection: int

    @property
    def body(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Answer:
    """One scripted answer.

    `cut` closes the connection: `unread` before the request is read, `unanswered` after it,
    `head` within the answer's head, `body` within its body. `reset` does it by a TCP reset.
    `held` keeps the answer back until the server's `released` is set.
    """

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    held: bool = False
    cut: str = ""
    reset: bool = False
    chunked: bool = False
    raw: bytes | None = None
    close_after: bool = False

    def encoded(self) -> bytes:
        if self.raw is not None:
            return self.raw
        is_json = not isinstance(self.body, str | bytes)
        body = json.dumps(self.body).encode() if is_json else self.body
        content = body.encode() if isinstance(body, str) else body
        headers = {"Content-Type": "application/json" if is_json else "text/html"}
        if self.chunked:
            headers["Transfer-Encoding"] = "chunked"
            content = b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content)
        else:
            headers["Content-Length"] = str(len(content))
        headers |= self.headers
        lines = [f"HTTP/1.1 {self.status} Scripted", *(f"{k}: {v}" for k, v in headers.items())]
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        if self.cut == "head":
            return head[: len(head) // 2]
        if self.cut == "body":
            return head + content[: len(content) // 2]
        return head + content


class ScriptedServer:
    """Answers in the order of `script`, then with `otherwise`; `received` holds every request."""

    def __init__(self) -> None:
        self.script: deque[Answer] = deque()
        self.otherwise: Callable[[Received], Answer | Awaitable[Answer]] = lambda request: Answer(
            body={"id": request.target.rpartition("/")[2]}
        )
        self.received: list[Received] = []
        self.arrived = asyncio.Event()
        self.released = asyncio.Event()
        self.connections = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.port = 0
        self.scheme = "http"
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"{self.scheme}://localhost:{self.port}"

    def will(self, *answers: Answer) -> None:
        self.script.extend(answers)

    async def has_received(self, count: int) -> None:
        """Wait until `count` requests have come."""
        while len(self.received) < count:
            self.arrived.clear()
            await self.arrived.wait()

    async def start(self, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.scheme = "https" if tls else "http"
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", port, ssl=tls, limit=2**24
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._serve(reader, writer, self.connections)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> None:
        while True:
            if self.script and self.script[0].cut == "unread":
                await reader.read(1)
                self.script.popleft()
                return
            request = await _read(reader, connection)
            if request is None:
                return
            self.received.append(request)
            self.arrived.set()
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            try:
                answer = await self._answer(request)
                if answer.held:
                    await self.released.wait()
            finally:
                self.in_flight -= 1
            if answer.reset:
                writer.transport.abort()
                return
            if answer.cut == "unanswered":
                return
            writer.write(answer.encoded())
            await writer.drain()
            if answer.cut or answer.close_after or answer.raw is not None:
                return

    async def _answer(self, request: Received) -> Answer:
        if self.script:
            return self.script.popleft()
        answer = self.otherwise(request)
        return answer if isinstance(answer, Answer) else await answer


async def _read(reader: asyncio.StreamReader, connection: int) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    method, target, _ = first.split(" ")
    return Received(method, target, headers, content, connection)


class Clock:
    """Time that passes only by sleeping; `waits` holds every wait, `awake` unset keeps it on."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self.slept = asyncio.Event()
        self.awake = asyncio.Event()
        self.awake.set()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.slept.set()
        await self.awake.wait()
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
async def loop_time(monkeypatch: pytest.MonkeyPatch) -> virtual_time.Clock:
    """The time of the running loop, stopped: a slow machine cannot reach a time limit."""
    loop = asyncio.get_running_loop()
    stopped = virtual_time.Clock(loop.time())
    monkeypatch.setattr(loop, "time", lambda: stopped.now)
    return stopped


async def turns(count: int = 50) -> None:
    """Let the loop look at every socket so many times; both ends are on this loop."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
def loop_turns() -> Callable[..., Awaitable[None]]:
    """Wait for what takes no time, only turns of the loop."""
    return turns


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """A server on loopback, started."""
    scripted = ScriptedServer()
    await scripted.start()
    yield scripted
    await scripted.stop()


@pytest.fixture
def clock() -> Clock:
    """Time for waits between tries."""
    return Clock()


@pytest.fixture
def settings_of(server: ScriptedServer) -> Callable[..., Settings]:
    """Make settings for `server` from values, with an environment that holds nothing else."""

    def make(environ: Mapping[str, str] | None = None, **values: Any) -> Settings:
        credentials = {} if "session_cookie" in values else {"api_key": KEY}
        return Settings.from_values(
            {"base_url": server.url, **credentials, **values}, environ or {}
        )

    return make


@pytest.fixture
async def connect(
    settings_of: Callable[..., Settings], server: ScriptedServer, clock: Clock
) -> AsyncIterator[Callable[..., tuple[Client, Console]]]:
    """Make a client and a console for `server`, which gives these answers; both are closed.

    `shared` gives the client the limiter of the one before.
    """
    clients: list[Client] = []

    limiters: list[Limiter] = []

    def make(*answers: Answer, shared: bool = False, **values: Any) -> tuple[Client, Console]:
        server.will(*answers)
        settings = settings_of(**values)
        if not shared:
            # Tests replace the clock's `sleep` to decide when a wait ends.
            limiter = Limiter()
            limiter.clock, limiter.sleep = clock, lambda seconds: clock.sleep(seconds)
            limiters.append(limiter)
        client = Client(settings, limiter=limiters[-1])
        clients.append(client)
        return client, Console(client, settings)

    yield make
    for client in clients:
        await client.aclose()


@pytest.fixture
def answer() -> type[Answer]:
    """The class of scripted answers."""
    return Answer


@pytest.fixture
def key() -> str:
    """The API key of every client here."""
    return KEY
