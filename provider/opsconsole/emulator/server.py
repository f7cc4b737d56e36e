"""The server of the application: uvicorn on uvloop and httptools, with a transport to cut."""

from __future__ import annotations

from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from opsconsole.emulator.application import TRANSPORT, Application


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol, with the transport in the scope: a fault may cut the connection."""

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: {"transport": self.transport}}


def make_server(application: Application) -> Server:
    """Make a server on uvloop and httptools; it takes bound sockets when it is run."""
    config = Config(
        application,
        http=Protocol,
        loop="uvloop",
        ws="none",
        lifespan="off",
        interface="asgi3",
        access_log=False,
        log_config=None,
        # Requests that are cancelled when a test ends are no news; the API logs its own defects.
        log_level="critical",
        server_header=False,
        timeout_keep_alive=120,
        timeout_graceful_shutdown=1,
        backlog=2048,
    )
    return Server(config)
