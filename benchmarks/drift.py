"""How fast a drift check reads a fleet, and in how much memory, against an emulated console.

The emulator is a process of its own and the check another, so that each is measured alone. State
is made up and written first; the console holds the same rows, but for a few that drifted.
Run: `python -m benchmarks.drift`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opsconsole.emulator import Emulator, spawn
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.resources import RESOURCES
from opsconsole.state import InstanceObject, State

RESOURCES_CHECKED = 10_000
PROVIDER = 'provider["registry.terraform.io/opsconsole/opsconsole"]'
DRIFTED = 10
_LOT = 2_000


@dataclass(frozen=True)
class Row:
    """One check: what was read, and what it cost.

    `seconds` are the check's own, `process_seconds` those of its process from start to end.
    """

    fleet: str
    resources: int
    calls: int
    seconds: float
    process_seconds: float
    cpu_seconds: float
    peak_mebibytes: float

    @property
    def per_second(self) -> float:
        """Resources checked in a second."""
        return self.resources / self.seconds


def hosts_only(count: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield collection, address and fields of hosts: each costs a call."""
    for number in range(count):
        yield "hosts", f"opsconsole_host.web[{number}]", _host(number)


def mixed_resources(count: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield a fleet of which a quarter each are hosts and agents, and half are attachments."""
    for number in range(count // 4):
        yield "hosts", f"opsconsole_host.web[{number}]", _host(number)
        agent_id = f"agt_bench{number:06}"
        yield (
            "agents",
            f"opsconsole_agent.ops[{number}]",
            {
                "id": agent_id,
                "name": f"ops-{number}",
                "host_id": f"hst_bench{number:06}",
                "specialty_id": "spc_linux",
                "main_engine": "engine-a",
                "org_id": "org_main",
                "status": "idle",
            },
        )
        for plugin_id in ("plg_disk", "plg_logs"):
            yield (
                "attachments",
                f'opsconsole_agent_plugin.on["{number}-{plugin_id}"]',
                {
                    "id": f"{agent_id}/{plugin_id}",
                    "agent_id": agent_id,
                    "plugin_id": plugin_id,
                },
            )


def _host(number: int) -> dict[str, Any]:
    return {
        "id": f"hst_bench{number:06}",
        "name": f"web-{number:06}",
        "org_id": "org_main",
        "public_ip": f"198.51.{number // 250 % 250}.{number % 250 + 1}",
        "private_ip": f"10.{number // 62500}.{number // 250 % 250}.{number % 250 + 1}",
        "ip_connect_mode": "private",
        "target_type": "ssh",
        "target_port": 22,
        "skip_tls_verify": False,
        "is_jump_host": False,
        "tags": ["env:prod", f"rack:{number % 40}", "role:web"],
        "additional_names": [f"w{number}"],
        "knowledge": "Runs the shop.\nRestart with systemctl restart shop.",
    }


FLEETS = {"hosts": hosts_only, "a quarter hosts, a quarter agents, half plugins": mixed_resources}


def rows(count: int = RESOURCES_CHECKED) -> list[Row]:
    """Measure every fleet of `count` resources."""
    return [measure(name, count) for name in FLEETS]


def measure(name: str, count: int) -> Row:
    """Measure one fleet of `count` resources."""
    with tempfile.TemporaryDirectory() as folder, spawn("default") as console:
        state = Path(folder) / "terraform.tfstate"
        _prepare(console, state, list(FLEETS[name](count)))
        return _run(name, console, state)


def _prepare(console: Emulator, path: Path, fleet: list[tuple[str, str, dict[str, Any]]]) -> None:
    """Give the console its rows, and write the state that an apply would have left."""
    by_collection: dict[str, list[dict[str, Any]]] = {}
    for collection, _, fields in fleet:
        by_collection.setdefault(collection, []).append(fields)
    stored: dict[str, dict[str, Any]] = {}
    for collection, rows in by_collection.items():
        for start in range(0, len(rows), _LOT):
            for row in console.create_many(collection, rows[start : start + _LOT]):
                stored[row["id"]] = row
    plugins = {row["id"]: row for row in console.rows("plugins")}
    state = State.new()
    for _, address, fields in fleet:
        shown = stored[fields["id"]]
        if "plugin_id" in fields:
            shown = {**plugins[fields["plugin_id"]], **fields}
        state.put(address, _instance(address, shown))
    path.write_bytes(state.to_bytes())
    for row in list(console.rows("hosts"))[:DRIFTED]:
        console.change("hosts", row["id"], knowledge="Drifted.")


def _instance(address: str, shown: dict[str, Any]) -> InstanceObject:
    definition = RESOURCES[address.partition(".")[0]]
    values = definition.empty() | {
        name: value for name, value in shown.items() if name in definition.by_name
    }
    for name in ("jump_host_ids", "eligible_subnets"):
        if name in values:
            values[name] = values[name] or []
    observed = frozenset(item.name for item in definition.answer_fields)
    return InstanceObject(PROVIDER, values, private=PrivateState(observed, {}).encode())


def _run(name: str, console: Emulator, state: Path) -> Row:
    report = state.with_name("drift.json")
    command = [sys.executable, "-m", "opsconsole.cli.main", "drift", str(state)]
    command += ["--format", f"json={report}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    watched = [sys.executable, "-c", _WATCHED, *command]
    done = subprocess.run(watched, capture_output=True, text=True, env=_environment(console))
    spent = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 2:
        raise RuntimeError(f"the check exited with {done.returncode}: {done.stderr}")
    document = json.loads(report.read_text())
    if document["summary"]["drifted"] != DRIFTED:
        raise RuntimeError(f"{document['summary']['drifted']} resources drifted, not {DRIFTED}")
    return Row(
        name,
        sum(item["bucket"] != "unmanaged" for item in document["findings"]),
        sum(document["calls"].values()),
        document["seconds"],
        spent,
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        float(done.stdout.split()[-1]) / 1024,
    )


_WATCHED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""
"""Runs a command and prints its peak of memory in KiB, apart from that of earlier children."""


def _environment(console: Emulator) -> dict[str, str]:
    import os

    return {**os.environ, **console.environment}


def main() -> None:
    """Print the figures."""
    for row in rows():
        print(
            f"{row.fleet}: {row.resources:,} resources, {row.calls:,} calls, {row.seconds:.2f} s, "
            f"{row.per_second:,.0f}/s; process {row.process_seconds:.2f} s, "
            f"CPU {row.cpu_seconds:.2f} s, {row.peak_mebibytes:.0f} MiB"
        )


if __name__ == "__main__":
    main()
