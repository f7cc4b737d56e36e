"""The provider's process after its handshake: server, services and the end, put together."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections.abc import Callable
from typing import Protocol

from grpclib.const import Handler

from opsconsole.redaction import Redaction
from opsconsole.terraform.calls import Activity
from opsconsole.terraform.certificate import Certificate
from opsconsole.terraform.handshake import Listener
from opsconsole.terraform.logs import set_up_logging
from opsconsole.terraform.plugin_services import plugin_handlers
from opsconsole.terraform.shutdown import wait_for_shutdown
from opsconsole.terraform.tls import server_context
from opsconsole.terraform.transport import PluginServer

_PARTING = 1.0
"""Seconds that letting go of connections to the console may take."""

_YOUNG = 20_000
"""Objects between collections: what a call makes goes when it is answered, without a collector."""

log = logging.getLogger(__name__)


class Service(Protocol):
    """What is served: the provider's own service."""

    def handlers(self, activity: Activity) -> dict[str, Handler]:
        """Return the handlers of its calls."""

    async def close(self) -> None:
        """Let go of everything; no call comes afterwards."""


def serve_process(
    make_service: Callable[[Redaction], Service],
    listener: Listener,
    certificate: Certificate,
    client_pem: str,
    parent: int,
) -> None:
    """Serve until the client is done.

    Raises:
        ssl.SSLError: `client_pem` is no certificate.
    """
    redaction = Redaction()
    set_up_logging(os.environ, redaction)
    context = server_context(certificate.pem, client_pem)

    async def run() -> None:
        service = make_service(redaction)
        shutdown, activity = asyncio.Event(), Activity()
        handlers = plugin_handlers(shutdown, activity) | service.handlers(activity)
        server = PluginServer(handlers, client_pem)
        await server.start(listener.socket, context)
        gc.freeze()
        gc.set_threshold(_YOUNG, 20, 100)
        gc.enable()
        try:
            await wait_for_shutdown(server, shutdown, activity, parent)
        finally:
            server.close()
            await _part(service)

    asyncio.run(run())


async def _part(service: Service) -> None:
    try:
        await asyncio.wait_for(service.close(), _PARTING)
    except TimeoutError:
        log.warning("connections to the console were cut")
