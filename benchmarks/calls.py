"""The native engine beside a bare aiohttp client that makes the same calls: ratios of CPU time.

The calls are taken from the emulator's log. The client makes them again on a second console, where
the hosts have other ids. Its cost is the least that these calls cost in Python.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from itertools import filterfalse
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Section, slower
from benchmarks.native import run_native
from benchmarks.processes import run
from benchmarks.terraform import folder, host_program
from opsconsole.emulator import Emulator, spawn

HOSTS = 10_000
"""The emulator's log holds 20,000 requests; a destroy sends two for each host."""
VERBS = {
    ("apply", "-auto-approve"): 4.0,
    ("plan",): 3.0,
    ("destroy", "-auto-approve", "-max-destroy=100"): 3.0,
}
"""The words of each command, and its limit: the engine's CPU time in times of the client's."""

Call = tuple[str, str, Any]
"""Method, path with query, and body."""

_CLIENT = """
import asyncio, json, sys
import aiohttp

async def make_calls(base_url, key, *calls):
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(base_url, headers=headers) as session:
        waiting = iter(calls)
        async def work():
            for method, path, body in waiting:
                async with session.request(method, path, json=body) as answer:
                    answer.raise_for_status()
                    await answer.json()
        await asyncio.gather(*(work() for _ in range(8)))

asyncio.run(make_calls(*json.load(open("calls.json"))))
"""


def section() -> Section:
    """Measure an apply, a plan and a destroy."""
    figures: list[Figure] = []
    ids: dict[str, str] = {}
    with (
        spawn() as console,
        spawn() as second,
        folder(None, host_program(HOSTS), console) as place,
    ):
        for words, most in VERBS.items():
            console.reset_log()
            ours = run_native(place, *words).cpu_seconds
            calls = _calls_of(console)
            theirs = 0.0
            if words[0] == "apply":
                theirs = _make_calls(place.path, second, filter(_is_import, calls), ids)
                ids = _same_hosts(console, second)
            others = filterfalse(_is_import, calls)
            theirs += _make_calls(place.path, second, others, ids)
            subject = f"{words[0]} of {HOSTS:,} hosts, {len(calls):,} calls"
            figures.append(slower(subject, ours, theirs, most))
    return Section("The native engine beside a bare aiohttp client: CPU time", figures)


def _is_import(call: Call) -> bool:
    return "/batch?" in call[1]


def _calls_of(console: Emulator) -> list[Call]:
    """Return the calls since the log was cleared, in their order."""
    traffic = console.traffic(limit=20_000)
    calls = [
        (entry["method"], f"{entry['path']}?{entry['query']}".rstrip("?"), entry["body"])
        for entry in traffic["entries"]
    ]
    assert len(calls) == sum(traffic["counts"].values()), "the log does not hold every request"
    return calls


def _same_hosts(console: Emulator, second: Emulator) -> dict[str, str]:
    """Return the id on the second console of each host, by its id on the first."""
    others = {row["name"]: row["id"] for row in second.rows("hosts")}
    return {row["id"]: others[row["name"]] for row in console.rows("hosts")}


def _make_calls(
    folder: Path, console: Emulator, calls: Iterable[Call], ids: Mapping[str, str]
) -> float:
    """Make the calls with the ids of this console; return the CPU seconds of the client."""
    with_ids = [
        (method, "/".join(ids.get(part, part) for part in path.split("/")), body)
        for method, path, body in calls
    ]
    content = json.dumps([console.base_url, console.api_key, *with_ids])
    (folder / "calls.json").write_text(content)
    return run([sys.executable, "-c", _CLIENT], folder, os.environ).cpu_seconds
