"""Two ways to speak to a console: its rules called directly, and over HTTP."""

import asyncio
import contextlib
import http.client
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from consoles import CONSOLES
from consoles import call as call_application
from opsconsole.emulator import API_KEY, Emulator, Profile, serve
from opsconsole.emulator.server import make_application


class Direct:
    """A console without a network: the status and the body of an answer to each call."""

    def __init__(self, profile: Profile, seed: str, data: Path | None = None) -> None:
        self.application = make_application(profile, seed=seed, data=data)
        self.console = self.application.console
        self.store = self.console.store

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = API_KEY,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> tuple[int, Any]:
        if isinstance(body, bytes):
            content = body
        else:
            content = b"" if body is None else json.dumps(body).encode()
        sent = list(headers)
        if key is not None:
            sent.append((b"authorization", f"Bearer {key}".encode()))
        answer = asyncio.run(call_application(self.application, method, path, sent, content))
        return answer.status, json.loads(answer.body or b"null")

    def host(self, **fields: Any) -> dict[str, Any]:
        """Add a host behind the API's back."""
        return self.store.add("hosts", {"name": "h", "org_id": "org_main", **fields})

    def agent(self, **fields: Any) -> dict[str, Any]:
        """Add an agent behind the API's back."""
        given = {"specialty_id": "spc_linux", "status": "idle", "org_id": "org_main", **fields}
        return self.store.add("agents", given)

    def import_rows(self, *rows: Any, query: str = "", **envelope: Any) -> dict[str, Any]:
        """Import host rows; the import itself must succeed."""
        path = "/api/v1/hosts/batch" + query
        status, body = self("POST", path, {"rows": list(rows), **envelope})
        assert status == 200, body
        return body


@pytest.fixture
def make() -> Iterator[Callable[..., Direct]]:
    """Return a maker of consoles: a profile's name, and switches that differ from it."""
    with contextlib.ExitStack() as stack:

        def maker(
            name: str = "default", *, seed: str = "starter", data: Path | None = None, **turned: Any
        ) -> Direct:
            made = Direct(CONSOLES[name].model_copy(update=turned), seed, data)
            stack.callback(made.store.close)
            return made

        yield maker


@pytest.fixture(scope="session")
def running() -> Iterator[Emulator]:
    """One emulator for every test that only needs one; reset before each use by `served`."""
    with serve(seed="fleet") as emulator:
        yield emulator


@pytest.fixture
def served(running: Emulator) -> Emulator:
    """Return a running emulator at its seed."""
    running.reset()
    return running


def call_over_http(
    emulator: Emulator, method: str, path: str, body: Any = None
) -> tuple[int, dict[str, str], bytes]:
    """Send a request to an emulator, on a connection of its own."""
    connection = http.client.HTTPConnection(urlsplit(emulator.base_url).netloc, timeout=300)
    try:
        headers = {"Authorization": f"Bearer {emulator.api_key}"}
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, names, answer.read()
    finally:
        connection.close()


@pytest.fixture
def call() -> Callable[..., tuple[int, dict[str, str], bytes]]:
    """Return a way to call a running emulator."""
    return call_over_http
