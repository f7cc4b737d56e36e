"""Terraform with this provider beside Terraform's own floor: as many built-in `terraform_data`.

Both in turns, in one run, on an emulator without latency that runs as a process of its own.
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
from benchmarks.processes import Cost, run
from opsconsole.address import SOURCE
from opsconsole.cli.mirror import CONFIGURATION, install
from opsconsole.emulator.running import Emulator, spawn

RESOURCES = 1000
ROUNDS = 3
STEPS = ("plan", "apply", "refresh plan")
LIMITS = {"plan": 1.8, "refresh plan": 4.0, "apply": 1.4}
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
    terraform: Path | None, program: Mapping[str, Any], console: Emulator | None = None
) -> Iterator[Folder]:
    """Make a folder in which `program` is initialised, if there is a Terraform to do that.

    It goes with the block.
    """
    with tempfile.TemporaryDirectory(prefix="opsconsole-bench-") as scratch:
        home = Path(scratch)
        install(home / "plugins")
        named = console.environment if console else {}
        variables = environment(home, home / "plugins" / CONFIGURATION, **named)
        made = Folder(terraform, home / "program", variables)
        made.path.mkdir()
        (made.path / "main.tf.json").write_text(json.dumps(program))
        if terraform is not None:
            made.terraform("init", "-input=false")
        yield made


def measure(
    terraform: Path, count: int, rounds: int, steps: tuple[str, ...] = STEPS
) -> tuple[dict[str, list[Cost]], dict[str, list[Cost]]]:
    """Return what each step cost in each round: of the floor, and of the hosts."""
    floor: dict[str, list[Cost]] = {step: [] for step in steps}
    hosts: dict[str, list[Cost]] = {step: [] for step in steps}
    with ExitStack() as stack:
        console = stack.enter_context(spawn())
        ours = stack.enter_context(folder(terraform, host_program(count), console))
        theirs = stack.enter_context(folder(terraform, floor_program(count)))
        for _ in range(rounds):
            console.reset()
            for place in (ours, theirs):
                place.forget()
            for step in steps:
                floor[step].append(theirs.step(step))
                hosts[step].append(ours.step(step))
    return floor, hosts


def section(terraform: Path, count: int = RESOURCES, rounds: int = ROUNDS) -> Section:
    """Measure all steps; ratios are of medians."""
    floor, hosts = measure(terraform, count, rounds)
    figures = [
        slower(f"{step}, of {count:,} hosts", _wall(hosts[step]), _wall(floor[step]), LIMITS[step])
        for step in LIMITS
    ]
    peak = max(cost.peak_mebibytes for costs in hosts.values() for cost in costs)
    figures += [
        _cpu(f"CPU of Terraform itself, {step}", hosts[step], floor[step]) for step in LIMITS
    ]
    figures += [
        Figure(f"CPU of the provider, {step}", seconds(_provider(hosts[step]))) for step in LIMITS
    ]
    figures.append(memory("peak memory of the provider", peak))
    return Section(
        f"Terraform: hosts beside as many terraform_data (median of {rounds})",
        figures,
        "A provider that does nothing at all stands at 1.6x, 2.1x and 1.1x on such a machine.",
    )


def _wall(costs: list[Cost]) -> float:
    return statistics.median(cost.wall_seconds for cost in costs)


def _provider(costs: list[Cost]) -> float:
    return statistics.median(cost.plugin_cpu_seconds for cost in costs)


def _cpu(subject: str, ours: list[Cost], floor: list[Cost]) -> Figure:
    own, theirs = (statistics.median(cost.cpu_seconds for cost in costs) for costs in (ours, floor))
    return Figure(subject, seconds(own), seconds(theirs), own / theirs)
