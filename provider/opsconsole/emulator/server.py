"""Builds an emulator, and serves it by uvicorn: on a thread (`serve`) or as a process (`spawn`)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from opsconsole.emulator.application import TRANSPORT, Application
from opsconsole.emulator.bodies import with_switches
from opsconsole.emulator.console import EmulatedConsole
from opsconsole.emulator.control import ControlError, Emulator
from opsconsole.emulator.profiles import Profile, profiles
from opsconsole.emulator.seed import API_KEY, seed_store
from opsconsole.emulator.store import Store

LISTENING: Final = "listening on "
"""The beginning of the first line that the command prints; the address follows."""
_BACKLOG: Final = 2048
_STOP_TIMEOUT: Final = 20.0
_LONGEST: Final = 3600.0


def make_application(
    profile: Profile,
    *,
    data: Path | None = None,
    seed: str = "starter",
    api_key: str = API_KEY,
    latency: float = 0.0,
) -> Application:
    """Make an emulator; a file that already has rows is not seeded."""
    store = Store(data)
    reseed = partial(seed_store, store, seed, api_key)
    try:
        if not store.loaded:
            reseed()
        # An earlier run may have made the file with another key.
        elif not store.keys.find("secret", api_key):
            seed_store(store, "empty", api_key)
        store.commit()
    except BaseException:
        # Otherwise the archive would stay locked for the next attempt in this process.
        store.close()
        raise
    return Application(EmulatedConsole(store, profile), reseed, latency)


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol with the transport in the scope: a fault can cut the connection."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: {"transport": self.transport}}


class ConsoleServer(Server):
    """uvicorn's server. The API's socket can be closed if the control side has another one."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._api: asyncio.base_events.Server | None = None
        self._held: socket.socket | None = None

    @property
    def can_refuse(self) -> bool:
        """Whether the API has a socket of its own, open or closed."""
        return self._api is not None or self._held is not None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if len(self.servers) > 1:
            # uvicorn closes the servers in its list, but this one is closed and opened here.
            self._api = self.servers.pop(0)

    async def refuse(self) -> None:
        """Refuse connections to the API, and end open ones as soon as they are idle."""
        if self._api is None:
            return
        api, self._api = self._api, None
        address = api.sockets[0].getsockname()
        api.close()
        # A bound socket that does not listen keeps the port, and connections are refused.
        self._held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        # Otherwise connections that are still open would prevent binding the address again.
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        async with asyncio.timeout(_STOP_TIMEOUT):
            while True:
                try:
                    self._held.bind(address)
                    break
                except OSError:
                    # The event loop closes the listener in a turn of its own.
                    await asyncio.sleep(0.001)
        for connection in list(self.server_state.connections):
            connection.shutdown()

    async def accept(self) -> None:
        """Accept connections to the API again."""
        if self._held is not None:
            held, self._held = self._held, None
            loop = asyncio.get_running_loop()
            self._api = await loop.create_server(self._protocol, sock=held, backlog=_BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listener in (self._api, self._held):
            if listener is not None:
                listener.close()
        await super().shutdown(sockets)

    def _protocol(self) -> asyncio.Protocol:
        return Protocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )


@contextlib.contextmanager
def run_emulator(profile: Profile, *ports: int, **options: Any) -> Iterator[list[str]]:
    """Run an emulator on a thread of this process, until the block ends; yield its addresses.

    Args:
        ports: One port for all, or a second one for the control side, so that the API's can be
            closed. 0 takes a free port.
        options: The options of `make_application`.
    """
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", port), backlog=_BACKLOG))
            for port in ports
        ]
        application = make_application(profile, **options)
        stack.callback(application.console.store.close)
        config = Config(
            application,
            http=Protocol,
            loop="uvloop",
            ws="none",
            lifespan="off",
            interface="asgi3",
            access_log=False,
            log_config=None,
            # Requests that are cancelled at the end do not matter; the API logs its own defects.
            log_level="critical",
            server_header=False,
            timeout_keep_alive=120,
            timeout_graceful_shutdown=1,
            backlog=_BACKLOG,
        )
        server = application.server = ConsoleServer(config)
        urls = ["http://{}:{}".format(*item.getsockname()) for item in sockets]
        thread = threading.Thread(target=server.run, args=(sockets,), name="emulator", daemon=True)
        thread.start()
        try:
            yield urls
        finally:
            # Without `force_exit` uvicorn waits for requests in flight, such as one that a fault
            # holds.
            server.should_exit = server.force_exit = True
            thread.join(_STOP_TIMEOUT)


@contextlib.contextmanager
def serve(
    profile: str | Profile = "default",
    *,
    data: Path | None = None,
    seed: str = "starter",
    port: int = 0,
    api_key: str = API_KEY,
    latency: float = 0.0,
) -> Iterator[Emulator]:
    """Run an emulator on a thread of this process, until the block ends.

    Args:
        profile: A name, or a custom profile.
        data: An SQLite file; None keeps the rows in memory.
        seed: The seed, as in `seed.seed_store`.
        port: The port; 0 takes a free port.
        latency: Seconds by which every answer is delayed.
    """
    chosen = profiles()[profile] if isinstance(profile, str) else profile
    options = {"data": data, "seed": seed, "api_key": api_key, "latency": latency}
    with run_emulator(chosen, port, 0, **options) as (base_url, control_url):
        yield Emulator(base_url, api_key, chosen, control_url)


@contextlib.contextmanager
def spawn(
    profile: str = "default",
    *,
    switches: Mapping[str, Any] | None = None,
    data: Path | None = None,
    seed: str = "starter",
    port: int = 0,
    api_key: str = API_KEY,
    latency: float = 0.0,
    seconds: float = _LONGEST,
) -> Iterator[Emulator]:
    """Run an emulator as a separate process, until the block or this process ends.

    Args:
        switches: Switches that differ from the profile's.
        seconds: The number of seconds after which the emulator stops by itself.

    Raises:
        ControlError: The emulator did not start; the message has its output.
    """
    switches = switches or {}
    chosen = with_switches(profiles()[profile], switches)
    options = {
        "profile": profile,
        "data": data,
        "seed": seed,
        "port": port,
        "api-key": api_key,
        "latency": latency * 1000,
        "seconds": seconds,
    }
    turned = [f"{name}={json.dumps(value)}" for name, value in switches.items()]
    process, base_url = start_process(options, turned, lasting=False)
    try:
        yield Emulator(base_url, api_key, chosen)
    finally:
        _stop_process(process)


def _stop_process(process: subprocess.Popen[str]) -> None:
    with process:  # closes its streams
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()


def start_process(
    options: Mapping[str, object], switches: Iterable[str], *, lasting: bool
) -> tuple[subprocess.Popen[str], str]:
    """Run `opsconsole emulator` as a separate process; return the process and its address.

    Args:
        options: Options of the command; None leaves one out.
        switches: `NAME=VALUE` of switches that differ from the profile's.
        lasting: Whether the emulator outlives this process and the terminal.
    """
    words = [f"--{name}={value}" for name, value in options.items() if value is not None]
    words += [f"--switch={switch}" for switch in switches]
    source = str(Path(__file__).parents[2])
    # The process runs the code of this one, whether it is installed or not.
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        [sys.executable, "-m", "opsconsole", "emulator", *words]
        + ([] if lasting else ["--exit-with-parent"]),
        stdin=subprocess.DEVNULL if lasting else subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A shell that captures a command's output would wait for every process that shares the
        # output.
        stderr=subprocess.PIPE if lasting else None,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=lasting,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith(LISTENING):
        said = process.stderr.read() if process.stderr is not None else line
        _stop_process(process)
        raise ControlError(f"the emulator did not start: {said.removeprefix('Error: ').strip()}")
    return process, line.removeprefix(LISTENING).strip()
