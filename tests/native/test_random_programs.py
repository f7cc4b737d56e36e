"""Random programs, one after the other: each apply leaves what is declared, and an empty plan.

The console can be asked for everything, so that agents move and are deleted too.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest

SEEDS = range(40) if os.environ.get("OPSCONSOLE_TEST_EVERYTHING") else (0, 13, 77)


def _hosts(rng: random.Random) -> tuple[dict[str, Any], list[str]]:
    """Return hosts by name, some of which replace earlier ones, and references to them."""
    created_first = rng.random() < 0.5
    suffix = f"-{rng.randrange(10**6)}" if created_first else ""
    hosts: dict[str, Any] = {}
    found: list[str] = []
    for name in ("h0", "h1", "h2", "h3", "m"):
        if rng.random() < 0.25:
            continue
        host: dict[str, Any] = {"name": name + suffix, "external_id": rng.choice("12")}
        host["lifecycle"] = {"create_before_destroy": created_first and rng.random() < 0.5}
        if found and rng.random() < 0.4:
            host["jump_host_ids"] = [rng.choice(found)]
        if name == "m":
            host |= {"count": rng.choice((1, 2, 3)), "name": f"m{suffix}-${{count.index}}"}
        keys = [f"[{number}]" for number in range(host["count"])] if name == "m" else [""]
        found += [f"${{opsconsole_host.{name}{key}.id}}" for key in keys]
        hosts[name] = host
    return hosts, found


def _program(rng: random.Random) -> dict[str, Any]:
    hosts, found = _hosts(rng)
    agents: dict[str, Any] = {}
    plugins: dict[str, Any] = {}
    for name in ("a0", "a1", "a2", "a3"):
        if not found or rng.random() < 0.3:
            continue
        specialty = rng.choice(("spc_linux", "spc_database"))
        agents[name] = {"name": name, "host_id": rng.choice(found), "specialty_id": specialty}
        wanted = rng.sample(("plg_disk", "plg_logs"), rng.randrange(3))
        if rng.random() < 0.5:
            agents[name]["plugin_ids"] = wanted
        for plugin in wanted if "plugin_ids" not in agents[name] else ():
            ids = {"agent_id": f"${{opsconsole_agent.{name}.id}}", "plugin_id": plugin}
            plugins[f"{name}-{plugin}"] = ids
    kinds = {"host": hosts, "agent": agents, "agent_plugin": plugins}
    return {f"opsconsole_{kind}": items for kind, items in kinds.items() if items}


@pytest.mark.parametrize("seed", SEEDS)
def test_each_program_follows_the_last(native_on: Callable[[str], Any], seed: int) -> None:
    native, rng = native_on("extended"), random.Random(seed)
    for _ in range(4):
        resources = _program(rng)
        native.write(resources)
        native.console.fault(operation="agent_update", delay=0.05)
        native.run("apply", "-auto-approve", "-force")

        native.console.clear_faults()
        planned = native.run("plan", "-detailed-exitcode", expect=None)
        assert (planned.code, "differs from state" in planned.out) == (0, False), planned.text
        living = [row for row in native.console.rows("agents") if row["status"] != "archived"]
        declared = resources.get("opsconsole_agent", {})
        assert sorted(row["name"] for row in living) == sorted(declared)
