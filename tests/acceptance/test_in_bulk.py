"""A refresh that compares hosts by the verdicts of dry runs (`host_read = "dry_run"`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from declarations import foresee, program
from engines import Terraform
from opsconsole.emulator.handle import Emulator

pytestmark = pytest.mark.terraform

IN_BULK = {
    "host_read": "dry_run",
    "host_read_same": "skipped",
    "host_read_differs": "updated",
    "host_read_fields": ["knowledge", "tags"],
}
COUNT = 40


def test_reads_go_together_and_a_changed_host_is_read_alone(
    project: Callable[..., Terraform], console: Emulator
) -> None:
    fleet = {"count": COUNT, "name": "web-${count.index}", "knowledge": "old"}
    engine = project(program(host={"web": fleet}), console, IN_BULK)
    engine.apply()
    [row] = [row for row in console.rows("hosts") if row["name"] == "web-7"]
    console.change("hosts", row["id"], knowledge="new")
    console.reset_log()
    plan = foresee(engine)
    assert plan.actions == {"opsconsole_host.web[7]": ["update"]}
    counts = console.request_counts()
    # Terraform asks for ten at a time; one that comes alone is read by itself.
    assert counts["host_import"] < COUNT / 2
    assert sum(counts.values()) < COUNT
