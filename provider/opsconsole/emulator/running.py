"""A running emulator and the handle to it, for tests, benchmarks and demos.

`serve` runs it on a thread of this process, `spawn` as a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from opsconsole.emulator.assembly import assemble, make_server
from opsconsole.emulator.bodies import with_switches
from opsconsole.emulator.handle import ControlError, Emulator
from opsconsole.emulator.profiles import Profile, profiles
from opsconsole.emulator.seed import API_KEY

START_TIMEOUT = 20.0
LONGEST = 3600

__all__ = ["ControlError", "Emulator", "serve", "spawn"]


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
        profile: A name, or a profile of your own.
        data: An SQLite file; None keeps the rows in memory.
        seed: As of `seed.sow`.
        port: 0 takes a free one.
        latency: Seconds that every answer waits.
    """
    chosen = profiles()[profile] if isinstance(profile, str) else profile
    application = assemble(chosen, data=data, seed=seed, api_key=api_key, latency=latency)
    # The control side has an address of its own, so that the API's can be closed.
    listeners = [socket.create_server(("127.0.0.1", number), backlog=2048) for number in (port, 0)]
    urls = ["http://{}:{}".format(*listener.getsockname()) for listener in listeners]
    server = make_server(application)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": listeners}, name="emulator", daemon=True
    )
    thread.start()
    try:
        yield Emulator(urls[0], api_key, chosen, control_url=urls[1])
    finally:
        server.should_exit = server.force_exit = True
        thread.join(START_TIMEOUT)
        for listener in listeners:
            listener.close()
        application.console.store.close()


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
    seconds: float = LONGEST,
) -> Iterator[Emulator]:
    """Run an emulator as a process of its own, until the block, or this process, ends.

    Args:
        switches: Switches that differ from the profile's.
        seconds: It stops by itself after so many.

    Raises:
        ControlError: It did not start; the message holds what it said.
    """
    chosen = with_switches(profiles()[profile], switches or {})
    arguments = ["--profile", profile, "--seed", seed, "--port", str(port), "--api-key", api_key]
    arguments += ["--latency", str(latency * 1000), "--seconds", str(seconds)]
    for name, value in (switches or {}).items():
        arguments += ["--switch", f"{name}={json.dumps(value)}"]
    if data is not None:
        arguments += ["--data", str(data)]
    process = _started(arguments)
    try:
        yield Emulator(_announced(process), api_key, chosen)
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _started(arguments: list[str]) -> subprocess.Popen[str]:
    source = str(Path(__file__).parents[2])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "opsconsole.emulator", "--exit-with-parent", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def _announced(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    deadline = time.monotonic() + START_TIMEOUT
    said = ""
    while time.monotonic() < deadline:
        line = process.stdout.readline()
        said += line
        if line.startswith("listening on "):
            return line.removeprefix("listening on ").strip()
        if not line:
            break
    raise ControlError(f"the emulator did not start: {said}")
