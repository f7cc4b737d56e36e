"""Terraform with this provider beside Terraform's own floor: as many built-in `terraform_data`.

And beside a provider with the same schema that does nothing, which is the floor of any provider of
these resources. All in turns, in one run, on an emulator without latency in a process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Section, memory, seconds, slower
from benchmarks.idle_provider import in_place_of
from benchmarks.processes import Cost, run
from opsconsole.address import SOURCE
from opsconsole.cli.provider_install import CONFIGURATION, install
from opsconsole.emulator import Emulator, spawn
from opsconsole.resources import HOST

RESOURCES = 1000
ROUNDS = 3
STEPS = ("plan", "apply", "refresh plan")
LIMITS = {"plan": 1.8, "apply": 1.4, "refresh plan": 4.0}
_CHANGED = 2
"""Exit code of `plan -detailed-exitcode` where there are changes."""


def find_terraform() -> Path | None:
    """Return Terraform, or the program that TERRAFORM_BINARY_NAME names, as for cdktf."""
    found = shutil.which(os.environ.get("TERRAFORM_BINARY_NAME", "terraform"))
    return Path(found) if found else None


@dataclass(frozen=True)
class Folder:
    """A folder with one program; Terraform runs in it."""

    program: Path | None
    path: Path
    environment: Mapping[str, str]

    def step(self, name: str) -> Cost:
        """Run one of STEPS; a refresh plan must find nothing changed."""
        if name == "apply":
            return self.terraform("apply", "-input=false", "-auto-approve")
        code = 0 if name == "refresh plan" else _CHANGED
        return self.terraform("plan", "-input=false", "-detailed-exitcode", expect=(code,))

    def terraform(self, *words: str, expect: tuple[int, ...] = (0,)) -> Cost:
        """Run Terraform; there must be one."""
        assert self.program is not None
        return run([self.program, *words, "-no-color"], self.path, self.environment, expect)

    def forget(self) -> None:
        """Remove the state."""
        for file in self.path.glob("terraform.tfstate*"):
            file.unlink()


def environment(home: Path, configuration: Path, **variables: str) -> dict[str, str]:
    """Return an environment in which Terraform asks nobody and looks nothing up."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TF_", "OPSCONSOLE_"))
    }
    return {
        **kept,
        "HOME": str(home),
        "TF_CLI_CONFIG_FILE": str(configuration),
        "TF_IN_AUTOMATION": "1",
        "CHECKPOINT_DISABLE": "1",
        **variables,
    }


def floor_program(count: int) -> dict[str, Any]:
    """Return `count` resources of the type that is built into Terraform."""
    names = (f"host_{number}" for number in range(count))
    return {"resource": {"terraform_data": {name: {"input": name} for name in names}}}


def host_program(count: int) -> dict[str, Any]:
    """Return `count` hosts, declared one by one."""
    hosts = {
        f"host_{number}": {
            "name": f"host-{number}",
            "private_ip": f"10.0.{number // 250}.{number % 250 + 1}",
            "tags": ["site:north", "role:web"],
        }
        for number in range(count)
    }
    return {
        "terraform": {"required_providers": {"opsconsole": {"source": SOURCE}}},
        "provider": {"opsconsole": {}},
        "resource": {"opsconsole_host": hosts},
    }


@contextmanager
def folder(
    terraform: Path | None,
    program: Mapping[str, Any],
    console: Emulator | None = None,
    *,
    idle: bool = False,
) -> Iterator[Folder]:
    """Make a folder in which `program` is initialised, if there is a Terraform to do that.

    It goes with the block. `idle` puts a provider that does nothing in place of ours.
    """
    with tempfile.TemporaryDirectory(prefix="opsconsole-bench-") as scratch:
        home = Path(scratch)
        launchers = install(home / "plugins")
        if idle:
            for launcher in launchers:
                in_place_of(launcher)
        named = console.environment if console else {}
        variables = environment(home, home / "plugins" / CONFIGURATION, **named)
        made = Folder(terraform, home / "program", variables)
        made.path.mkdir()
        (made.path / "main.tf.json").write_text(json.dumps(program))
        if terraform is not None:
            made.terraform("init", "-input=false")
        yield made


Costs = dict[str, list[Cost]]
"""Step to what it cost in each round."""


@dataclass(frozen=True)
class Measured:
    """What each step cost: of `terraform_data`, of an idle provider's hosts, of hosts."""

    floor: Costs
    idle: Costs
    hosts: Costs


def measure(terraform: Path, count: int, rounds: int) -> Measured:
    """Let all three live through STEPS, `rounds` times."""
    costs = [{step: list[Cost]() for step in STEPS} for _ in range(3)]
    with ExitStack() as stack:
        console = stack.enter_context(spawn())
        places = [
            stack.enter_context(folder(terraform, floor_program(count))),
            stack.enter_context(folder(terraform, host_program(count), idle=True)),
            stack.enter_context(folder(terraform, host_program(count), console)),
        ]
        for _ in range(rounds):
            console.reset()
            for place in places:
                place.forget()
            for step in STEPS:
                for place, found in zip(places, costs, strict=True):
                    found[step].append(place.step(step))
    return Measured(*costs)


def section(terraform: Path, count: int = RESOURCES, rounds: int = ROUNDS) -> Section:
    """Measure all steps; ratios are of medians."""
    found = measure(terraform, count, rounds)
    floor, idle, hosts = (
        {step: statistics.median(cost.wall_seconds for cost in costs[step]) for step in STEPS}
        for costs in (found.floor, found.idle, found.hosts)
    )
    figures = [
        slower(f"{step}, beside terraform_data", hosts[step], floor[step], LIMITS[step])
        for step in STEPS
    ]
    figures += [
        slower(f"{step}, an idle provider of the same schema", idle[step], floor[step])
        for step in STEPS
    ]
    figures += [
        slower(f"{step}, beside that idle provider", hosts[step], idle[step]) for step in STEPS
    ]
    figures += [
        Figure(
            f"CPU of the provider, {step}",
            seconds(statistics.median(cost.plugin_cpu_seconds for cost in found.hosts[step])),
        )
        for step in STEPS
    ]
    peak = max(cost.peak_mebibytes for costs in found.hosts.values() for cost in costs)
    figures.append(memory("peak memory of the provider", peak))
    return Section(
        f"Terraform: {count:,} hosts, and as many terraform_data (median of {rounds})",
        figures,
        f"Terraform reads and writes {len(HOST.attributes)} attributes of a host and 4 of "
        "terraform_data, and\nwrites all of its state after each change: the idle provider shows "
        "what that alone costs.",
    )
