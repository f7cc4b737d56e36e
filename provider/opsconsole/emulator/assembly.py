"""Puts the parts of one emulator together, and serves them: uvicorn on uvloop and httptools."""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from pathlib import Path

from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from opsconsole.emulator.application import TRANSPORT, Application
from opsconsole.emulator.archive import SqliteArchive
from opsconsole.emulator.console import EmulatedConsole
from opsconsole.emulator.door import Door
from opsconsole.emulator.profiles import Profile
from opsconsole.emulator.seed import API_KEY, sow
from opsconsole.emulator.store import Store


def assemble(
    profile: Profile,
    *,
    data: Path | None = None,
    seed: str = "starter",
    api_key: str = API_KEY,
    latency: float = 0.0,
) -> Application:
    """Make an emulator; a file that holds rows already is not seeded.

    Raises:
        NotAnArchive, BadSeed: `data` or `seed` cannot be used.
    """
    store = Store(SqliteArchive(data) if data is not None else None)
    plant = partial(sow, store, seed, api_key)
    try:
        if not store.loaded:
            plant()
        elif not store.keys.find("secret", api_key):
            sow(store, "empty", api_key)
        store.commit()
    except BaseException:
        store.close()
        raise
    return Application(EmulatedConsole(store, profile), plant, latency)


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol, with the transport in the scope: a fault may cut the connection."""

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: {"transport": self.transport}}


class ConsoleServer(Server):
    """uvicorn's server, whose first socket can be closed where the control side has another."""

    def __init__(self, config: Config, door: Door) -> None:
        super().__init__(config)
        self._door = door

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        if len(self.servers) > 1:
            api = self.servers.pop(0)
            self._door.hang(api, self._protocol, self.server_state.connections)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening and end what is open."""
        self._door.leave()
        await super().shutdown(sockets)

    def _protocol(self) -> asyncio.Protocol:
        return Protocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )


def make_server(application: Application) -> Server:
    """Make a server on uvloop and httptools; it takes bound sockets when it is run.

    With two sockets the second is for the control side, and the application can close the first.
    """
    config = Config(
        application,
        http=Protocol,
        loop="uvloop",
        ws="none",
        lifespan="off",
        interface="asgi3",
        access_log=False,
        log_config=None,
        # Requests that are cancelled when a test ends do not matter; the API logs its own defects.
        log_level="critical",
        server_header=False,
        timeout_keep_alive=120,
        timeout_graceful_shutdown=1,
        backlog=2048,
    )
    return ConsoleServer(config, application.door)
