"""The provider on a thread of the tests, for Terraform to attach to instead of starting processes.

Terraform starts the provider four times for an apply, and each start imports everything anew. With
TF_REATTACH_PROVIDERS it connects to a socket. What a process of its own is about (handshake, TLS,
logs, signals, working directory) is tested in `tests/terraform`.
"""

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import threading
from asyncio import BaseTransport
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import h2.config
from grpclib.config import Configuration
from grpclib.const import Handler
from grpclib.events import _DispatchServerEvents
from grpclib.protocol import H2Protocol
from grpclib.server import Handler as RequestHandler
from h2.settings import SettingCodes

from engines import Terraform
from opsconsole.address import DEFAULT_HOSTS, SOURCE
from opsconsole.redaction import Redaction
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.terraform.servicer import Connect, Servicer
from opsconsole.terraform.serving import plugin_handlers
from opsconsole.terraform.transport import STREAMS_AT_ONCE, Activity, BoundedCodec, Handlers
from opsconsole.v1.settings import Settings
from opsconsole.values import Values

VARIABLE = "TF_REATTACH_PROVIDERS"
LONGEST = 60.0
"""Seconds: a bound for what hangs."""

Result = TypeVar("Result")


class Provider:
    """What one start of the provider would be: one connection has a service of its own."""

    def __init__(self, connect: Connect) -> None:
        self._service = Servicer(connect, Redaction())
        self._shutdown = asyncio.Event()

    def handlers(self) -> dict[str, Handler]:
        activity = Activity()
        return plugin_handlers(self._shutdown, activity) | self._service.handlers(activity)

    async def close(self) -> None:
        self._shutdown.set()
        await self._service.close()


class Connection(H2Protocol):
    """One connection, without TLS, which Terraform does not use where it attaches."""

    def __init__(self, connect: Connect, end: Callable[[Provider], object]) -> None:
        self._end = end
        self._provider = Provider(connect)
        served = Handlers(self._provider.handlers())
        super().__init__(
            RequestHandler(served, BoundedCodec(), None, _DispatchServerEvents()),
            Configuration().__for_server__(),
            h2.config.H2Configuration(client_side=False, header_encoding="ascii"),
        )

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        h2_connection = self.connection._connection
        h2_connection.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS_AT_ONCE})
        self.connection.flush()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._end(self._provider)


class AttachedProviders:
    """Sockets on one thread; each serves the provider under an environment of its own."""

    def __init__(self) -> None:
        # The address of a socket has room for 107 bytes, less than a test's own folder may need.
        self._folder = Path(tempfile.mkdtemp(prefix="attached-", dir="/tmp"))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="provider", daemon=True)
        self._thread.start()
        self._endings: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []

    def listen(self, environment: Mapping[str, str]) -> str:
        """Listen for a Terraform; return its TF_REATTACH_PROVIDERS.

        `environment` is looked at when the provider is configured.
        """
        path = self._folder / f"{len(self._servers)}.sock"
        self._run(self._listen(path, environment))
        facts = {"Protocol": "grpc", "ProtocolVersion": 6, "Pid": os.getpid(), "Test": True}
        facts["Addr"] = {"Network": "unix", "String": str(path)}
        return json.dumps({f"{host}/{SOURCE}": facts for host in DEFAULT_HOSTS})

    async def _listen(self, path: Path, environment: Mapping[str, str]) -> None:
        async def connect(config: Values) -> ConfiguredProvider:
            return ConfiguredProvider(Settings.from_values(config, environment))

        server = await asyncio.get_running_loop().create_unix_server(
            lambda: Connection(connect, self.end), path
        )
        self._servers.append(server)

    def end(self, provider: Provider) -> None:
        """Let a provider go whose connection has ended."""
        task = self._loop.create_task(provider.close())
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    def close(self) -> None:
        """Stop listening, wait for every provider to end, and remove the sockets."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LONGEST)
        self._loop.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        await asyncio.gather(*self._endings)

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LONGEST)


class AttachedTerraform(Terraform):
    """A Terraform in a folder of its own that starts no provider, but attaches to one."""

    def __init__(
        self,
        program: Path,
        folder: Path,
        environment: Mapping[str, str],
        providers: AttachedProviders,
    ) -> None:
        super().__init__(program, folder, environment)
        self._served: dict[str, str] = {}
        self.environment[VARIABLE] = providers.listen(self._served)

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """Start Terraform; the provider sees its environment."""
        self._served.clear()
        self._served.update(self.environment | variables)
        return super().start(*words, **variables)
