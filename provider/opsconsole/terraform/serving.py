"""The provider's process after its handshake: log, server, go-plugin's services, and its end.

The log is hclog's JSON lines on stderr, only if TF_LOG asks, and without secrets.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from google.protobuf.message import Message
from grpclib.const import Cardinality, Handler
from grpclib.health.v1 import health_pb2
from grpclib.server import Stream

from opsconsole.redaction import Redaction
from opsconsole.terraform.certificate import Certificate, server_context
from opsconsole.terraform.handshake import SocketListener
from opsconsole.terraform.proto import plugin_pb2
from opsconsole.terraform.transport import Activity, PluginServer, unary_handlers

_PARTING = 1.0
"""Seconds for closing the connections to the console."""

_YOUNG = 20_000
"""Objects between garbage collections. The objects of a call are freed without the collector."""

_log = logging.getLogger(__name__)


class Service(Protocol):
    """The provider's own services."""

    def handlers(self, activity: Activity) -> dict[str, Handler]:
        """Return the handlers of its calls."""

    async def close(self) -> None:
        """Release everything; no call comes afterwards."""


def serve_process(
    make_service: Callable[[Redaction], Service],
    listener: SocketListener,
    certificate: Certificate,
    client_pem: str,
    parent: int,
) -> None:
    """Serve until the client is done; raise ssl.SSLError if `client_pem` is no certificate."""
    redaction = Redaction()
    set_up_logging(os.environ, redaction)
    context = server_context(certificate.pem, client_pem)

    async def run() -> None:
        service = make_service(redaction)
        shutdown, activity = asyncio.Event(), Activity()
        handlers = plugin_handlers(shutdown, activity) | service.handlers(activity)
        server = PluginServer(handlers, client_pem)
        await server.start(listener.socket, context)
        # All objects made so far live to the end, so only later objects are scanned for garbage.
        gc.freeze()
        gc.set_threshold(_YOUNG, 20, 100)
        gc.enable()
        try:
            await wait_for_shutdown(server, shutdown, activity, parent)
        finally:
            server.close()
            try:
                await asyncio.wait_for(service.close(), _PARTING)
            except TimeoutError:
                _log.warning("connections to the console were cut")

    asyncio.run(run())


_SERVICES = plugin_pb2.DESCRIPTOR.services_by_name
_HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"]


def plugin_handlers(shutdown: asyncio.Event, activity: Activity) -> dict[str, Handler]:
    """Return the handlers of go-plugin's services; a client that is done sets `shutdown`."""

    async def end(request: Message) -> Message:
        shutdown.set()
        return plugin_pb2.Empty()

    async def healthy(request: Message) -> Message:
        return health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)

    async def silent(stream: Stream[Any, Any]) -> None:
        # The streams of output and of the broker carry nothing: log lines go to stderr, and no
        # further connection is ever offered.
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


_FIRST_CONNECTION = 60.0
"""Seconds, as long as go-plugin waits for the start of a plugin."""
_NEXT_CONNECTION = 3.0
_POLL = 1.0
_TAKING_ANSWERS = 5.0
"""Seconds without a call after which every answer is taken as received."""
_LAST_CALLS = 1.0
"""Seconds that calls in flight get after a shutdown; go-plugin kills after two."""


async def wait_for_shutdown(
    server: PluginServer, shutdown: asyncio.Event, activity: Activity, parent: int
) -> None:
    """Wait for a reason to end, and for the calls in flight whose answers will be received.

    After the end of `parent`, which started this process, nobody receives answers.
    """
    terminated = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminated.set)
    reasons = {
        asyncio.create_task(_shut_down(shutdown, activity)): "the client asked for it",
        asyncio.create_task(_obey_sigterm(terminated, server, activity)): "terminated",
        asyncio.create_task(_wait_for_parent(parent)): "the client's process ended",
        asyncio.create_task(
            server.wait_until_idle(_FIRST_CONNECTION, _NEXT_CONNECTION)
        ): "no client",
    }
    done, pending = await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    for task in done:
        task.result()
        _log.debug("ending: %s", reasons[task])


async def _shut_down(shutdown: asyncio.Event, activity: Activity) -> None:
    await shutdown.wait()
    try:
        await asyncio.wait_for(activity.wait_until_idle(), _LAST_CALLS)
    except TimeoutError:
        _log.warning("shut down with calls in flight")


async def _obey_sigterm(
    terminated: asyncio.Event, server: PluginServer, activity: Activity
) -> None:
    """Obey SIGTERM once no answer would be lost; a whole process group may get the signal."""
    await terminated.wait()
    while True:
        await activity.wait_until_idle()
        # When the process ends, go-plugin cancels its calls, even calls whose answer has arrived
        # but was not passed on yet. So this waits until the client hangs up, or makes no call for a
        # while.
        begun = activity.begun
        try:
            return await asyncio.wait_for(server.wait_until_idle(0, 0), _TAKING_ANSWERS)
        except TimeoutError:
            if activity.begun == begun:
                return None


async def _wait_for_parent(parent: int) -> None:
    if os.getppid() != parent:
        return
    if not hasattr(os, "pidfd_open"):
        while os.getppid() == parent:  # noqa: ASYNC110  # this system has no event for it
            await asyncio.sleep(_POLL)
        return
    handle = os.pidfd_open(parent)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, ended.set)
    try:
        # The parent may have ended before the handle was opened. The handle then belongs to another
        # process.
        if os.getppid() == parent:
            await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


_TRACE: Final = 5
_LEVELS: Final[Mapping[str, int]] = {
    "TRACE": _TRACE,
    "JSON": _TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
}
_HCLOG_LEVELS: Final = (
    (logging.ERROR, "error"),
    (logging.WARNING, "warn"),
    (logging.INFO, "info"),
    (logging.DEBUG, "debug"),
    (0, "trace"),
)
_WORDY: Final = ("hpack", "h2", "asyncio", "httpcore", "aiohttp")
"""Libraries whose debug lines are not about this provider, or quote headers."""


def wanted_level(environment: Mapping[str, str]) -> int | None:
    """Return the level of the log, or None for no log.

    TF_LOG_PROVIDER overrides TF_LOG. As in Terraform, a word that is not a level means TRACE.
    """
    word = environment.get("TF_LOG_PROVIDER") or environment.get("TF_LOG") or "OFF"
    return None if word.upper() == "OFF" else _LEVELS.get(word.upper(), _TRACE)


class HclogFormatter(logging.Formatter):
    """Formats a record as go-plugin's client reads it: one line of JSON."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.exc_info:
            message = f"{message}\n{self.formatException(record.exc_info)}"
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        microseconds = int(record.created % 1 * 1_000_000)
        return json.dumps(
            {
                "@level": next(word for least, word in _HCLOG_LEVELS if record.levelno >= least),
                "@message": self._redaction.hide(message),
                "@module": record.name,
                "@timestamp": f"{moment}.{microseconds:06d}Z",
            }
        )


def set_up_logging(environment: Mapping[str, str], redaction: Redaction) -> None:
    """Send every record to stderr, or nowhere, as the environment demands."""
    level = wanted_level(environment)
    if level is None:
        logging.disable(logging.CRITICAL)
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(HclogFormatter(redaction))
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.captureWarnings(True)
    for name in _WORDY:
        logging.getLogger(name).setLevel(max(level, logging.INFO))
