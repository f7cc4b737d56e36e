"""`make bench`: measure everything, print one table. Nothing fails because a machine is slow."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks import (
    calls,
    constructs,
    deploy,
    drift,
    engines,
    native,
    startup,
    terraform,
    transport,
)
from benchmarks.figures import Figure, Section, memory, seconds, table

SUBJECTS = (
    "startup",
    "terraform",
    "engines",
    "native",
    "calls",
    "deploy",
    "drift",
    "transport",
    "constructs",
)


def main() -> None:
    """Measure what is asked for; progress goes to stderr, the table to stdout."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=SUBJECTS, help="repeatable")
    parser.add_argument("--resources", type=int, default=terraform.RESOURCES)
    parser.add_argument("--rounds", type=int, default=terraform.ROUNDS)
    parser.add_argument(
        "--full", action="store_true", help="the native engine with 5,000 to 50,000: ten minutes"
    )
    options = parser.parse_args()
    # With the first, each start would compile the modules, unlike those of an installation. With
    # the second, each line of a progress would be a write of its own.
    for variable in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        os.environ.pop(variable, None)
    chosen = options.only or SUBJECTS
    print(table(list(_measure(chosen, options))))


def _measure(chosen: Sequence[str], options: argparse.Namespace) -> Iterator[Section]:
    measures: dict[str, Callable[[], Section]] = {
        "startup": startup.section,
        "terraform": lambda: _terraform(options),
        "engines": lambda: engines.section(
            terraform.find_terraform(), options.resources, options.rounds
        ),
        "native": lambda: native.section(terraform.find_terraform(), full=options.full),
        "calls": calls.section,
        "deploy": lambda: deploy.section(terraform.find_terraform()),
        "drift": _drift,
        "transport": _transport,
        "constructs": _constructs,
    }
    for subject in chosen:
        started = time.perf_counter()
        print(f"{subject} … ", end="", file=sys.stderr, flush=True)
        section = measures[subject]()
        print(seconds(time.perf_counter() - started), file=sys.stderr)
        yield section


def _terraform(options: argparse.Namespace) -> Section:
    program = terraform.find_terraform()
    if program is None:
        return Section("Terraform", [], "There is no terraform on PATH: nothing was measured.")
    return terraform.section(program, options.resources, options.rounds)


def _drift() -> Section:
    """A check of 10,000 resources: at least 1,500 a second, in less than 300 MiB."""
    figures = []
    for row in drift.rows():
        rate = row.resources / row.seconds
        subject = f"{row.resources:,} resources, {row.fleet}"
        figures += [
            Figure(subject, f"{rate:,.0f}/s", limit="1,500/s at least", kept=rate >= 1500),
            memory(f"peak memory of it, {row.fleet}", row.peak_mebibytes, 300),
        ]
    return Section("Drift checks", figures)


def _transport() -> Section:
    """The client: at least 0.3 of what bare aiohttp does."""
    rows = transport.rows()
    bare = {row.in_flight: row for row in rows if row.transport == transport.BARE}
    ratios = [row.requests_per_second / bare[row.in_flight].requests_per_second for row in rows]
    return Section(
        "Transports of the client, requests a second, and CPU of each",
        [
            Figure(
                f"{row.transport}, {row.in_flight} in flight",
                f"{row.requests_per_second:,.0f}/s",
                f"{row.cpu_milliseconds:.2f} ms",
                ratio,
                "0.3x at least" if row.transport == transport.OURS else "",
                ratio >= 0.3 if row.transport == transport.OURS else None,
            )
            for row, ratio in zip(rows, ratios, strict=True)
        ],
        "The ratio is to bare aiohttp.",
    )


def _constructs() -> Section:
    with constructs.generated_bindings() as generated:
        rows = constructs.rows(generated=generated)
    floor = rows[0].build_seconds + rows[0].synth_seconds
    return Section(
        f"Constructs: building {constructs.HOSTS:,} hosts, and synthesising them beside it",
        [
            Figure(
                row.constructs,
                seconds(row.build_seconds),
                seconds(row.synth_seconds),
                (row.build_seconds + row.synth_seconds) / floor,
            )
            for row in rows
        ],
        "The ratio is of the sum of both to that of cdktf's own resource without attributes.",
    )


if __name__ == "__main__":
    main()
