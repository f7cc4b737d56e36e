"""gRPC over HTTP/2 on one unix socket: grpclib with fixes that Terraform needs.

The fixes concern limits on streams and messages, unknown frames and calls, access control, open
connections, and calls in flight.

grpclib's public API has no hooks for them. So this module uses the following private parts, and
pyproject.toml allows only the release whose code was examined:
`grpclib.events._DispatchServerEvents`, `grpclib.protocol` (`H2Protocol`, `EventsProcessor`,
`Connection._connection`), `grpclib.server.Handler`, and `Configuration.__for_server__`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from asyncio import BaseTransport
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

import h2.config
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpclib.config import Configuration
from grpclib.const import Cardinality, Handler, Status
from grpclib.encoding.proto import ProtoCodec
from grpclib.events import _DispatchServerEvents
from grpclib.exceptions import GRPCError
from grpclib.protocol import EventsProcessor, H2Protocol
from grpclib.server import Handler as RequestHandler
from grpclib.server import Stream
from h2.events import Event
from h2.settings import SettingCodes

from opsconsole.terraform.certificate import refusal

LARGEST_MESSAGE: Final = 256 << 20
"""In bytes, the limit of Terraform's own plugins."""
STREAMS_AT_ONCE: Final = 1 << 16
"""More than `-parallelism` will ever request. h2's own limit of 100 would starve StopProvider."""
_WINDOW: Final = 16 << 20

_log = logging.getLogger(__name__)

Method = Callable[[Any], Awaitable[Message]]
"""One unary call: request in, response out."""
StreamMethod = Callable[[Stream[Any, Any]], Awaitable[None]]


class Activity:
    """Counts the unary calls in flight.

    Attributes:
        begun: The number of calls that have begun so far.
    """

    def __init__(self) -> None:
        self.begun = 0
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def __enter__(self) -> None:
        self.begun += 1
        self._count += 1
        self._idle.clear()

    def __exit__(self, *exception: object) -> None:
        self._count -= 1
        if not self._count:
            self._idle.set()

    async def wait_until_idle(self) -> None:
        await self._idle.wait()


def unary_handlers(
    service: ServiceDescriptor, methods: Mapping[str, Method], activity: Activity
) -> dict[str, Handler]:
    """Return grpclib's handlers for `methods`, each named as in `service`."""
    return {
        f"/{service.full_name}/{name}": Handler(
            _serve_unary(method, activity),
            Cardinality.UNARY_UNARY,
            GetMessageClass(service.methods_by_name[name].input_type),
            GetMessageClass(service.methods_by_name[name].output_type),
        )
        for name, method in methods.items()
    }


def _serve_unary(method: Method, activity: Activity) -> StreamMethod:
    async def answer(stream: Stream[Any, Any]) -> None:
        with activity:
            request = await stream.recv_message()
            await stream.send_message(await method(request))
            await stream.send_trailing_metadata()

    return answer


async def _refuse_call(stream: Stream[Any, Any]) -> None:
    raise GRPCError(Status.UNIMPLEMENTED, "this provider has no such call")


class Handlers(dict[str, Handler]):
    """Handlers by path; a path without a handler is answered with UNIMPLEMENTED."""

    _OTHER = Handler(_refuse_call, Cardinality.STREAM_STREAM, Message, Message)

    def get(self, path: str, default: Any = None) -> Handler:
        # Newer releases of Terraform try calls and rely on that answer. grpclib's own answer lacks
        # a content type, so Terraform treats it as a failure.
        return super().get(path, self._OTHER)


class BoundedCodec(ProtoCodec):
    """Protobuf up to a size in bytes; like gRPC's own limit, it answers RESOURCE_EXHAUSTED."""

    def __init__(self, largest: int = LARGEST_MESSAGE) -> None:
        self._largest = largest

    def encode(self, message: Any, message_type: Any) -> bytes:
        body = super().encode(message, message_type)
        self._check(len(body), "sent")
        return body

    def decode(self, data: bytes, message_type: Any) -> Any:
        self._check(len(data), "received")
        return super().decode(data, message_type)

    def _check(self, size: int, verb: str) -> None:
        if size > self._largest:
            raise GRPCError(
                Status.RESOURCE_EXHAUSTED,
                f"{verb} message of {size} bytes, at most {self._largest}",
            )


class _Corked:
    """A transport that joins all pieces written in one turn of the event loop."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        # grpclib writes headers, data and trailers of each answer separately. That would take three
        # TLS records and three system calls instead of one.
        if not self._pieces:
            self._loop.call_soon(self._send)
        self._pieces.append(data)

    def _send(self) -> None:
        pieces, self._pieces = self._pieces, []
        if pieces and not self._transport.is_closing():
            self._transport.write(b"".join(pieces))

    def close(self) -> None:
        self._send()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _TolerantEvents(EventsProcessor):
    """Ignores unknown frames, as RFC 9113 requires; grpclib would raise."""

    def process(self, event: Event) -> None:
        if event.__class__ in getattr(self, "processors", ()):
            super().process(event)


class _Connection(H2Protocol):
    """One connection: serves the expected client only, and many streams at once."""

    def __init__(self, server: PluginServer, *args: Any) -> None:
        super().__init__(*args)
        self._server = server

    def connection_made(self, transport: BaseTransport) -> None:
        corked = _Corked(cast(asyncio.Transport, transport))
        super().connection_made(cast(BaseTransport, corked))
        self.processor = _TolerantEvents(self.handler, self.connection)
        h2_connection = self.connection._connection
        h2_connection.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS_AT_ONCE})
        self.connection.flush()
        self._server.note_opened(self)
        problem = refusal(transport.get_extra_info("ssl_object"), self._server.client_pem)
        if problem is not None:
            _log.error("connection refused: %s", problem)
            corked.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._server.note_closed(self)


class PluginServer:
    """Serves `handlers` to the one client whose certificate is `client_pem`."""

    def __init__(self, handlers: Mapping[str, Handler], client_pem: str) -> None:
        self.client_pem = client_pem
        self._handlers = Handlers(handlers)
        self._codec = BoundedCodec()
        self._config = Configuration(
            http2_connection_window_size=_WINDOW, http2_stream_window_size=_WINDOW
        ).__for_server__()
        self._h2_config = h2.config.H2Configuration(
            client_side=False,
            header_encoding="ascii",
            validate_inbound_headers=False,
            validate_outbound_headers=False,
            normalize_inbound_headers=False,
            normalize_outbound_headers=False,
        )
        self._connections: set[_Connection] = set()
        self._changed = asyncio.Event()
        self._listening: asyncio.Server | None = None

    async def start(self, listening: socket.socket, context: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_unix_server(
            self._connection, sock=listening, ssl=context
        )

    def _connection(self) -> _Connection:
        handler = RequestHandler(self._handlers, self._codec, None, _DispatchServerEvents())
        return _Connection(self, handler, self._config, self._h2_config)

    def note_opened(self, connection: _Connection) -> None:
        self._connections.add(connection)
        self._changed.set()

    def note_closed(self, connection: _Connection) -> None:
        self._connections.discard(connection)
        self._changed.set()

    async def wait_until_idle(self, first: float, later: float) -> None:
        """Wait until no client is connected for `first` seconds from now, or `later` thereafter."""
        patience = first
        while True:
            self._changed.clear()
            waiting = None if self._connections else patience
            try:
                await asyncio.wait_for(self._changed.wait(), waiting)
            except TimeoutError:
                return
            patience = later

    def close(self) -> None:
        if self._listening is not None:
            self._listening.close()
        # A copy: closing a connection takes it out of the set.
        for connection in tuple(self._connections):
            connection.processor.close("The provider ends")
