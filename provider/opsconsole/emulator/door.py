"""The listening socket of the API: closed, connections to it are refused."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Collection
from typing import Any

_BACKLOG = 2048
_TRIES = 1000


class Door:
    """Closes and opens the API's address while the control side stays open."""

    def __init__(self) -> None:
        self._factory: Callable[[], asyncio.Protocol] | None = None
        self._server: asyncio.base_events.Server | None = None
        self._held: socket.socket | None = None
        self._connections: Collection[Any] = ()

    def hang(
        self,
        server: asyncio.base_events.Server,
        factory: Callable[[], asyncio.Protocol],
        connections: Collection[Any],
    ) -> None:
        """Take charge of a listening server, whose open connections are in `connections`."""
        self._server, self._factory, self._connections = server, factory, connections

    @property
    def movable(self) -> bool:
        """Whether there is a server to close."""
        return self._server is not None or self._held is not None

    async def close(self) -> None:
        """Refuse connections, and end those that are open as soon as they are idle."""
        if self._server is None:
            return
        server, self._server = self._server, None
        address = server.sockets[0].getsockname()
        server.close()
        # Bound and not listening: the port is kept, and connections to it are refused.
        self._held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        await _bind(self._held, address)
        for connection in list(self._connections):
            connection.shutdown()

    async def open(self) -> None:
        """Accept connections again."""
        if self._held is None or self._factory is None:
            return
        held, self._held = self._held, None
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._factory, sock=held, backlog=_BACKLOG)

    def leave(self) -> None:
        """Let go of the address."""
        if self._held is not None:
            self._held.close()
        if self._server is not None:
            self._server.close()
        self._held = self._server = None


async def _bind(held: socket.socket, address: tuple[str, int]) -> None:
    """Bind to an address whose listener is being closed, which the event loop does in its turn."""
    for tried in range(_TRIES):
        try:
            held.bind(address)
            return
        except OSError:
            if tried == _TRIES - 1:
                held.close()
                raise
            await asyncio.sleep(0.001)
