"""The same hosts applied by both engines in one run, beside what Terraform takes of its own."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks.figures import Figure, Section, seconds
from benchmarks.native import applied
from benchmarks.terraform import floor_program, folder, host_program
from opsconsole.emulator.running import spawn


def section(terraform: Path | None, count: int, rounds: int) -> Section:
    """Apply `count` hosts to an empty console, by either engine; ratios are to the native one."""
    if terraform is None:
        return Section("The engines", [], "There is no terraform on PATH: nothing was measured.")
    turns = [_turn(terraform, count) for _ in range(rounds)]
    native, hosts, idle, floor = (statistics.median(times) for times in zip(*turns, strict=True))
    beside = {
        f"Terraform, the same {count:,} hosts": hosts,
        f"Terraform, {count:,} hosts, a provider that answers at once": idle,
        f"Terraform, {count:,} terraform_data": floor,
    }
    return Section(
        f"Apply of the same {count:,} hosts by both engines (median of {rounds})",
        [
            Figure(
                f"the native engine, beside {name}", seconds(native), seconds(time), time / native
            )
            for name, time in beside.items()
        ],
        "The last two lines are Terraform's own work, which no provider can make less.",
    )


def _turn(terraform: Path, count: int) -> tuple[float, float, float, float]:
    native = applied(count).wall_seconds
    with spawn() as console, folder(terraform, host_program(count), console) as place:
        hosts = place.step("apply").wall_seconds
    with folder(terraform, host_program(count), idle=True) as place:
        idle = place.step("apply").wall_seconds
    with folder(terraform, floor_program(count)) as place:
        floor = place.step("apply").wall_seconds
    return native, hosts, idle, floor
