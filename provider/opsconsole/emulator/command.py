"""The command `opsconsole emulator`: its arguments and its run."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from opsconsole.emulator.profiles import profiles
from opsconsole.emulator.seed import API_KEY, BadSeed

if TYPE_CHECKING:
    from uvicorn import Server

_HOUR = 3600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the emulator to a parser."""
    parser.add_argument("--port", type=_port, default=0, metavar="P", help="0 takes a free port")
    parser.add_argument("--data", type=Path, metavar="FILE", help="SQLite file that keeps the rows")
    parser.add_argument(
        "--profile",
        default="default",
        metavar="NAME",
        choices=profiles(),
        help="the kind of console (default: default)",
    )
    parser.add_argument("--profiles", action="store_true", help="list the profiles and stop")
    parser.add_argument(
        "--switch",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="turn one switch of the profile; the value is JSON, or a word",
    )
    parser.add_argument("--seconds", type=float, metavar="N", help="stop after N seconds")
    parser.add_argument(
        "--seed",
        default="starter",
        metavar="SEED",
        help="first rows: starter, empty, fleet, fleet:HOSTS, or a JSON file",
    )
    parser.add_argument("--api-key", default=API_KEY, metavar="KEY", help="the key that it accepts")
    parser.add_argument(
        "--latency", type=float, default=0.0, metavar="MS", help="milliseconds that answers wait"
    )
    parser.add_argument(
        "--background",
        action="store_true",
        help="serve in a process of its own, for an hour unless --seconds says otherwise; print "
        'what a shell evaluates: eval "$(opsconsole emulator --background)"',
    )
    parser.add_argument("--exit-with-parent", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Serve until stopped; return the exit code."""
    if args.profiles:
        for profile in profiles().values():
            sys.stdout.write(f"{profile.name:<12} {profile.summary}\n")
        return 0
    try:
        return _start_in_background(args) if args.background else _serve(args)
    except _refusals() as failure:
        sys.stderr.write(f"Error: {failure}.\n")
        return 1


def _refusals() -> tuple[type[Exception], ...]:
    """Return what refuses to serve. It is imported only where something failed: that takes long."""
    from opsconsole.emulator.archive import NotAnArchive
    from opsconsole.emulator.bodies import BadBody

    return (NotAnArchive, BadSeed, BadBody, OSError)


def _serve(args: argparse.Namespace) -> int:
    # Starlette and uvicorn are imported only to serve: the other commands start without them.
    from opsconsole.emulator.assembly import assemble, make_server
    from opsconsole.emulator.bodies import with_switches

    profile = with_switches(profiles()[args.profile], dict(map(_switch, args.switch)))
    with socket.create_server(("127.0.0.1", args.port), backlog=2048) as listener:
        application = assemble(
            profile,
            data=args.data,
            seed=args.seed,
            api_key=args.api_key,
            latency=args.latency / 1000,
        )
        server = make_server(application)

        def stop() -> None:
            server.should_exit = True

        if args.seconds is not None:
            timer = threading.Timer(args.seconds, stop)
            timer.daemon = True
            timer.start()
        if args.exit_with_parent:
            threading.Thread(target=_until_end_of_input, args=(stop,), daemon=True).start()
        # The seed is there to stay: the collector need not look at it over and over.
        gc.freeze()
        gc.set_threshold(20_000, 20, 100)
        _announce(args, listener.getsockname()[1])
        try:
            _until_stopped(server, listener)
        finally:
            application.console.store.close()
    return 0


def _start_in_background(args: argparse.Namespace) -> int:
    """Start the same command again in a session of its own; return once it listens."""
    import starlette  # noqa: F401  # a missing package is reported here, not in the other process

    given = {
        "--port": args.port,
        "--data": args.data,
        "--profile": args.profile,
        "--seed": args.seed,
        "--api-key": args.api_key,
        "--latency": args.latency,
        "--seconds": _HOUR if args.seconds is None else args.seconds,
    }
    words = [word for name, item in given.items() if item is not None for word in (name, str(item))]
    words += [word for switch in args.switch for word in ("--switch", switch)]
    process = subprocess.Popen(
        [sys.executable, "-m", "opsconsole.emulator", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        # A shell that collects what this command prints would wait for a process that shares it.
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    exports = [line for line in _first_lines(process.stdout) if line.startswith("export ")]
    if not exports:
        sys.stderr.write(process.stderr.read())
        return process.wait()
    sys.stdout.write("".join([*exports, f"export OPSCONSOLE_EMULATOR_PID={process.pid}\n"]))
    sys.stderr.write(
        f"The emulator runs in process {process.pid}; `kill {process.pid}` stops it.\n"
    )
    return 0


def _first_lines(stream: IO[str]) -> Iterator[str]:
    """Yield what `_announce` writes, and nothing after it: that pipe stays open."""
    for line in stream:
        yield line
        if line.startswith("export OPSCONSOLE_API_KEY="):
            return


def _until_stopped(server: Server, listener: socket.socket) -> None:
    # uvicorn raises the signal that stopped it once more when it is done.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, before)


def _announce(args: argparse.Namespace, port: int) -> None:
    sys.stdout.write(f"listening on http://127.0.0.1:{port}\n")
    if not args.exit_with_parent:
        sys.stdout.write(
            f"profile {args.profile}, rows in {args.data or 'memory'}\n"
            f"{''.join(_settings(args.profile))}"
            f"export OPSCONSOLE_BASE_URL=http://127.0.0.1:{port}\n"
            f"export OPSCONSOLE_API_KEY={args.api_key}\n"
        )
    sys.stdout.flush()


def _settings(profile: str) -> Iterator[str]:
    """Yield lines that export what an operator who knows a console of a profile would set."""
    for name, value in profiles()[profile].provider_settings.items():
        text = value if isinstance(value, str) else json.dumps(value)
        yield f"export OPSCONSOLE_{name.upper()}={shlex.quote(text)}\n"


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is not a port")
    return port


def _switch(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _until_end_of_input(stop: Any) -> None:
    while os.read(0, 4096):
        pass
    stop()
