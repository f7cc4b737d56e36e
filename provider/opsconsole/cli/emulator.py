"""`opsconsole emulator`: serves a console, here or in the background."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import shlex
import sys
import threading
from collections.abc import Iterator
from typing import Any

from opsconsole.emulator import API_KEY, ControlError, Emulator, profiles
from opsconsole.emulator.bodies import BadBody, with_switches
from opsconsole.emulator.seed import BadSeed
from opsconsole.emulator.server import LISTENING, run_emulator, start_process
from opsconsole.emulator.store import NotAnArchive

_HOUR = 3600.0


def run(args: argparse.Namespace) -> int:
    if args.profiles:
        for profile in profiles().values():
            sys.stdout.write(f"{profile.name:<12} {profile.summary}\n")
        return 0
    args.api_key = args.api_key or API_KEY
    try:
        if args.background:
            _start_in_background(args)
        else:
            _serve(args)
    except (NotAnArchive, BadSeed, BadBody, ControlError, OSError) as problem:
        sys.stderr.write(f"Error: {problem}.\n")
        return 1
    return 0


def _serve(args: argparse.Namespace) -> None:
    profile = with_switches(profiles()[args.profile], dict(map(_read_switch, args.switch)))
    options = {"data": args.data, "seed": args.seed, "api_key": args.api_key}
    emulator = run_emulator(profile, args.port, latency=args.latency / 1000, **options)
    with emulator as (base_url,), contextlib.suppress(KeyboardInterrupt):
        # The seed stays in memory, so the garbage collector need not scan it again and again.
        gc.freeze()
        gc.set_threshold(20_000, 20, 100)
        sys.stdout.write(f"{LISTENING}{base_url}\n")
        if not args.exit_with_parent:
            sys.stdout.write(f"profile {args.profile}, rows in {args.data or 'memory'}\n")
            sys.stdout.writelines(_exports(args, base_url))
        sys.stdout.flush()
        stopped = threading.Event()
        if args.exit_with_parent:
            threading.Thread(target=_wait_for_parent, args=(stopped,), daemon=True).start()
        stopped.wait(args.seconds)


def _start_in_background(args: argparse.Namespace) -> None:
    """Start this command again in a session of its own; return once it listens."""
    options = {
        "port": args.port,
        "data": args.data,
        "profile": args.profile,
        "seed": args.seed,
        "api-key": args.api_key,
        "latency": args.latency,
        "seconds": _HOUR if args.seconds is None else args.seconds,
    }
    process, base_url = start_process(options, args.switch, lasting=True)
    sys.stdout.writelines(_exports(args, base_url))
    sys.stdout.write(f"export OPSCONSOLE_EMULATOR_PID={process.pid}\n")
    sys.stderr.write(
        f"The emulator runs in process {process.pid}; `kill {process.pid}` stops it.\n"
    )


def _exports(args: argparse.Namespace, base_url: str) -> Iterator[str]:
    """Yield lines that export the settings of an operator who knows this console."""
    console = Emulator(base_url, args.api_key, profiles()[args.profile])
    for name, value in console.provider_settings.items():
        text = value if isinstance(value, str) else json.dumps(value)
        yield f"export OPSCONSOLE_{name.upper()}={shlex.quote(text)}\n"


def _read_switch(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _wait_for_parent(stopped: threading.Event) -> None:
    # stdin is a pipe from the parent. It closes when the parent ends for any reason.
    while os.read(0, 4096):
        pass
    stopped.set()
