"""The services that go-plugin's client calls beside the provider's own: the end, output, health.

None of them knows anything of Terraform.
"""

from __future__ import annotations

import asyncio
from typing import Any

from google.protobuf.message import Message
from grpclib.const import Cardinality, Handler
from grpclib.health.v1 import health_pb2
from grpclib.server import Stream

from opsconsole.terraform.calls import Activity, unary_handlers
from opsconsole.terraform.proto import plugin_pb2

_SERVICES = plugin_pb2.DESCRIPTOR.services_by_name
_HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"]


def plugin_handlers(shutdown: asyncio.Event, activity: Activity) -> dict[str, Handler]:
    """Return the handlers of go-plugin's services; `shutdown` is set when the client asks for it.

    Output and broker streams stay open and silent until then: log lines go to stderr, and no
    further connection is ever offered.
    """

    async def end(request: Message) -> Message:
        shutdown.set()
        return plugin_pb2.Empty()

    async def healthy(request: Message) -> Message:
        return health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)

    async def silent(stream: Stream[Any, Any]) -> None:
        await shutdown.wait()

    return {
        **unary_handlers(_SERVICES["GRPCController"], {"Shutdown": end}, activity),
        **unary_handlers(_HEALTH, {"Check": healthy}, activity),
        "/plugin.GRPCStdio/StreamStdio": Handler(
            silent, Cardinality.UNARY_STREAM, plugin_pb2.Empty, plugin_pb2.StdioData
        ),
        "/plugin.GRPCBroker/StartStream": Handler(
            silent, Cardinality.STREAM_STREAM, plugin_pb2.ConnInfo, plugin_pb2.ConnInfo
        ),
    }
