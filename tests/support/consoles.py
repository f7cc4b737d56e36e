"""The consoles that tests run on: the profiles of the emulator, and those of `consoles.json`.

Together the consoles use every value of every switch; `tests/emulator/test_profiles.py` sees to it.
A console in the process of the test has no socket, no thread and no timer. Its requests pass
through the whole client, and meet the application of the emulator where a connection would be
opened. Tests of connections, and other processes, need `opsconsole.emulator.serve`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote

import pytest
from yarl import URL

from opsconsole.emulator import API_KEY, ControlError, Emulator, Profile, profiles, serve
from opsconsole.emulator.application import TRANSPORT, Application
from opsconsole.emulator.document import EXTRA
from opsconsole.emulator.server import make_application
from opsconsole.errors import AnswerLost, NotSent
from opsconsole.v1 import transport
from patience import until

_SWITCHES = json.loads(Path(__file__).with_suffix(".json").read_text())
_SWITCHES["archiving"] |= {"extra": [*EXTRA], "provider_settings": {"extra_endpoints": EXTRA}}
CONSOLES = {
    **profiles(),
    **{
        name: Profile.model_validate_json(json.dumps({"name": name, "summary": "", **switches}))
        for name, switches in _SWITCHES.items()
    },
}


def call_api(console: Emulator, method: str, path: str, body: Any = None) -> None:
    """Call the console's API as somebody else."""
    request = urllib.request.Request(
        console.base_url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {console.api_key}"},
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        answer.read()


_IN_PROCESS: dict[str, InProcessConsole] = {}
_NUMBERS = itertools.count(10_000)


class Connection:
    """One connection to an application, which a fault may cut."""

    def __init__(self) -> None:
        self.cut = asyncio.Event()

    def abort(self) -> None:
        """Cut it."""
        self.cut.set()

    close = abort


@dataclass(frozen=True)
class Answer:
    """The answer of an application, with the attributes of an aiohttp response."""

    status: int
    raw_headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def content(self) -> Self:
        """The stream of the body."""
        return self

    async def iter_any(self) -> AsyncIterator[bytes]:
        """Yield the body."""
        yield self.body


async def call(
    application: Application,
    method: str,
    target: str,
    headers: list[tuple[bytes, bytes]],
    content: bytes,
) -> Answer | None:
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
    return Answer(start["status"], start["headers"], b"".join(body))


class Session:
    """Takes the place of the aiohttp session of `v1.transport`; a subclass answers."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    @contextlib.asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        data: bytes | AsyncIterator[bytes] | None,
        allow_redirects: bool,
    ) -> AsyncIterator[Answer]:
        """Send a request."""
        assert not allow_redirects
        named = {**self._headers, **headers}
        raw = [(name.lower().encode(), value.encode()) for name, value in named.items()]
        content = data or b""
        if not isinstance(content, bytes):
            content = b"".join([piece async for piece in content])
        yield await self.answer(method, URL(url), raw, content)

    async def answer(
        self, method: str, url: URL, headers: list[tuple[bytes, bytes]], content: bytes
    ) -> Answer:
        """Return the answer to a request."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close nothing."""


class InProcessSession(Session):
    """Calls the consoles of this process."""

    async def answer(
        self, method: str, url: URL, headers: list[tuple[bytes, bytes]], content: bytes
    ) -> Answer:
        """Return the answer of the console that the URL names."""
        origin = str(url.origin())
        console = _IN_PROCESS.get(origin)
        if console is None or console.refuses:
            raise NotSent(f"{origin} cannot be reached: Connection refused.", "Is it running?")
        await asyncio.sleep(0)
        answer = await call(console.application, method, url.raw_path_qs, headers, content)
        await asyncio.sleep(0)
        if answer is None:
            raise AnswerLost(f"{origin} closed the connection without an answer (cut).")
        return answer


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
        if response.status == 404 and missing:
            return None
        if response.status != 200:
            raise ControlError(f"{method} {path}: {response.status} {response.body.decode()}")
        return json.loads(response.body)


@contextlib.contextmanager
def in_process(profile: str | Profile = "default", **options: Any) -> Iterator[InProcessConsole]:
    """Run a console in this process; options are those of `assemble`."""
    chosen = profiles()[profile] if isinstance(profile, str) else profile
    base_url = f"http://127.0.0.1:{next(_NUMBERS)}"
    application = make_application(chosen, **options)
    _IN_PROCESS[base_url] = console = InProcessConsole(
        base_url, chosen, application, options.get("api_key", API_KEY)
    )
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                transport, "open_session", lambda _, __, headers, ___: InProcessSession(headers)
            )
            yield console
    finally:
        del _IN_PROCESS[base_url]
        application.console.store.close()


@pytest.fixture(scope="session")
def _running() -> Iterator[Callable[[str], Emulator]]:
    """Consoles by profile, started when first asked for and kept: starting is not free."""
    with contextlib.ExitStack() as stack:
        consoles: dict[str, Emulator] = {}

        def running(profile: str) -> Emulator:
            if profile not in consoles:
                consoles[profile] = stack.enter_context(serve(CONSOLES[profile]))
            return consoles[profile]

        yield running


@pytest.fixture
def console_of(_running: Callable[[str], Emulator]) -> Callable[[str], Emulator]:
    """A console of a profile, which holds the starter rows and nothing else."""

    def fresh(profile: str) -> Emulator:
        console = _running(profile)
        console.reset()
        if console.traffic()["in_flight"]:
            # A request of an earlier test, whose sender was killed, may still be held up by a
            # fault. The console would count it, and carry it out.
            until(lambda: not console.traffic()["in_flight"], "it still answers an earlier test")
            console.reset()
        return console

    return fresh


@pytest.fixture
def profile(request: pytest.FixtureRequest) -> str | Profile:
    """The profile of the console; `indirect` names another one."""
    return getattr(request, "param", "default")


@pytest.fixture
def console(
    profile: str | Profile,
    request: pytest.FixtureRequest,
    console_of: Callable[[str], Emulator],
) -> Iterator[Emulator]:
    """A console with the starter rows: on a socket for Terraform, else in this process."""
    chosen = CONSOLES[profile] if isinstance(profile, str) else profile
    if "engine_name" in request.fixturenames and request.getfixturevalue("engine_name") != "native":
        yield console_of(chosen.name)
        return
    with in_process(chosen) as console:
        yield console
