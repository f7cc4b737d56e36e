"""The parts of a gRPC call: its handler, the size of its messages, and whether it is in flight.

This module knows no connection, and no message of any protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpclib.const import Cardinality, Handler, Status
from grpclib.encoding.proto import ProtoCodec
from grpclib.exceptions import GRPCError
from grpclib.server import Stream

LARGEST_MESSAGE: Final = 256 << 20
"""Bytes; as much as Terraform's own plugins take."""

Method = Callable[[Any], Awaitable[Message]]
"""One unary call: request in, response out."""
StreamMethod = Callable[[Stream[Any, Any]], Awaitable[None]]


class Activity:
    """Counts the unary calls in flight.

    Attributes:
        begun: How many have begun so far.
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

    async def idle(self) -> None:
        """Wait until nothing is in flight."""
        await self._idle.wait()


def unary_handlers(
    service: ServiceDescriptor, methods: Mapping[str, Method], activity: Activity
) -> dict[str, Handler]:
    """Return grpclib's handlers for `methods`, each named as in `service`."""
    return {
        f"/{service.full_name}/{name}": Handler(
            _unary(method, activity),
            Cardinality.UNARY_UNARY,
            GetMessageClass(service.methods_by_name[name].input_type),
            GetMessageClass(service.methods_by_name[name].output_type),
        )
        for name, method in methods.items()
    }


def _unary(method: Method, activity: Activity) -> StreamMethod:
    async def answer(stream: Stream[Any, Any]) -> None:
        with activity:
            request = await stream.recv_message()
            await stream.send_message(await method(request))
            await stream.send_trailing_metadata()

    return answer


async def _unimplemented(stream: Stream[Any, Any]) -> None:
    raise GRPCError(Status.UNIMPLEMENTED, "this provider has no such call")


class Handlers(dict[str, Handler]):
    """Handlers by path; a path without one is answered UNIMPLEMENTED.

    Newer Terraforms try calls and rely on that answer; grpclib's own lacks a content type, and is
    taken for a failure.
    """

    _OTHER = Handler(_unimplemented, Cardinality.STREAM_STREAM, Message, Message)

    def get(self, path: str, default: Any = None) -> Handler:
        """Return the handler of the call at `path`."""
        return super().get(path, self._OTHER)


class BoundedCodec(ProtoCodec):
    """Protobuf up to a size, in bytes; beyond it RESOURCE_EXHAUSTED, as gRPC's own limit answers.

    grpclib itself knows no limit.
    """

    def __init__(self, largest: int = LARGEST_MESSAGE) -> None:
        self._largest = largest

    def encode(self, message: Any, message_type: Any) -> bytes:
        """Serialise `message`."""
        body = super().encode(message, message_type)
        self._check(len(body), "sent")
        return body

    def decode(self, data: bytes, message_type: Any) -> Any:
        """Parse `data`."""
        self._check(len(data), "received")
        return super().decode(data, message_type)

    def _check(self, size: int, verb: str) -> None:
        if size > self._largest:
            raise GRPCError(
                Status.RESOURCE_EXHAUSTED,
                f"{verb} message of {size} bytes, at most {self._largest}",
            )
