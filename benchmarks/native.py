"""The native engine beside Terraform: apply of many hosts, their plan, growth, and memory.

The limits are asked of 5,000, 10,000 and 50,000 hosts. Terraform alone needs minutes for those, so
without `full` everything is measured with fewer, and nothing is judged that depends on the number.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure, Section, faster, memory, seconds, slower
from benchmarks.processes import Cost, run
from benchmarks.terraform import Folder, floor_program, folder, host_program
from opsconsole.emulator import spawn

ROUNDS = 3
APPLY_LEAST, PLAN_LEAST, GROWTH_MOST, MEMORY_MOST = 60, 3, 11, 1024


@dataclass(frozen=True)
class Sizes:
    """How many hosts each measurement takes."""

    apply: int
    plan: int
    few: int
    many: int


SMALL = Sizes(apply=1000, plan=2000, few=1000, many=10_000)
FULL = Sizes(apply=5000, plan=10_000, few=5000, many=50_000)


def section(terraform: Path | None, *, full: bool = False) -> Section:
    """Measure everything; without Terraform what stands alone."""
    sizes = FULL if full else SMALL
    figures = _growth(sizes)
    if terraform is not None:
        figures = [_apply(terraform, sizes, judged=full), _plan(terraform, sizes), *figures]
    note = "" if full else "The limits are asked of 5,000 and more: --full measures those."
    return Section("The native engine: apply is plan, import, read-back and state", figures, note)


def _apply(terraform: Path, sizes: Sizes, *, judged: bool) -> Figure:
    ours = statistics.median(apply(sizes.apply).wall_seconds for _ in range(ROUNDS))
    with folder(terraform, floor_program(sizes.apply)) as floor:
        theirs = floor.step("apply").wall_seconds
    subject = f"apply of {sizes.apply:,} hosts, beside Terraform's of terraform_data"
    if judged:
        return faster(subject, ours, theirs, APPLY_LEAST)
    return Figure(subject, seconds(ours), seconds(theirs), theirs / ours)


def _plan(terraform: Path, sizes: Sizes) -> Figure:
    program = host_program(sizes.plan)
    with spawn() as console, folder(terraform, program, console) as place:
        ours = statistics.median(run_native(place, "plan").wall_seconds for _ in range(ROUNDS))
        theirs = place.step("plan").wall_seconds
    return faster(f"plan of {sizes.plan:,} hosts, beside Terraform's", ours, theirs, PLAN_LEAST)


def _growth(sizes: Sizes) -> list[Figure]:
    few, many = apply(sizes.few), apply(sizes.many)
    times = sizes.many // sizes.few
    return [
        slower(
            f"apply of {sizes.many:,} hosts, beside {sizes.few:,}",
            many.wall_seconds,
            few.wall_seconds,
            GROWTH_MOST * times / 10,
        ),
        memory(f"peak memory of an apply of {sizes.many:,}", many.peak_mebibytes, MEMORY_MOST),
    ]


def apply(count: int) -> Cost:
    """Apply `count` hosts to an empty console."""
    with spawn() as console, folder(None, host_program(count), console) as place:
        return run_native(place, "apply", "-auto-approve")


def run_native(place: Folder, *words: str) -> Cost:
    """Run a command of the native engine."""
    command = (sys.executable, "-m", "opsconsole.cli.main", *words, "-dir", ".", "-no-color")
    return run(command, place.path, place.environment)
