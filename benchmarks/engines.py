"""The same hosts applied by both engines in one run, beside what Terraform takes of its own."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks.figures import Figure, Section, seconds
from benchmarks.native import apply
from benchmarks.processes import Cost
from benchmarks.terraform import floor_program, folder, host_program
from opsconsole.emulator import spawn


def section(terraform: Path | None, count: int, rounds: int) -> Section:
    """Apply `count` hosts to an empty console, by either engine; ratios are of CPU time."""
    if terraform is None:
        return Section("The engines", [], "There is no terraform on PATH: nothing was measured.")
    costs = list(zip(*(_turn(terraform, count) for _ in range(rounds)), strict=True))
    names = (
        "the native engine",
        "Terraform, the same hosts",
        "Terraform, the same hosts, a provider that answers at once",
        "Terraform, as many terraform_data",
    )
    native = _cpu(costs[0])
    figures = [
        Figure(
            name,
            seconds(statistics.median(cost.wall_seconds for cost in found)),
            f"CPU {seconds(_cpu(found))}",
            _cpu(found) / native,
        )
        for name, found in zip(names, costs, strict=True)
    ]
    return Section(
        f"Apply of the same {count:,} hosts by both engines (median of {rounds})",
        figures,
        "The last two lines are Terraform's own work, which no provider can make less. CPU is\n"
        "that of command and provider: it depends less than the time on what else runs.",
    )


def _cpu(costs: tuple[Cost, ...]) -> float:
    return statistics.median(cost.cpu_seconds + cost.plugin_cpu_seconds for cost in costs)


def _turn(terraform: Path, count: int) -> tuple[Cost, Cost, Cost, Cost]:
    native = apply(count)
    with spawn() as console, folder(terraform, host_program(count), console) as place:
        hosts = place.step("apply")
    with folder(terraform, host_program(count), idle=True) as place:
        idle = place.step("apply")
    with folder(terraform, floor_program(count)) as place:
        floor = place.step("apply")
    return native, hosts, idle, floor
