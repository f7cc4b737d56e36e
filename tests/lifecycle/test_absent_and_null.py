"""A null of the console, a field that it leaves out, and a value that was never seen differ."""

import json
from typing import Any

import pytest

from opsconsole.diagnostics import Severity
from opsconsole.emulator import Emulator


def answering(console: Emulator, outcome: Any, **fields: Any) -> None:
    """Let the next reading of a host show only these fields."""
    text = json.dumps({"id": outcome.state["id"], "name": "web"} | fields)
    console.fault(method="POST", path="/hosts/hst_", status=200, text=text)


@pytest.mark.parametrize("fields", [{}, {"knowledge": None}], ids=["absent", "null"])
async def test_what_was_shown_before_and_is_not_now_is_null(steps_of, console, fields):
    hosts = steps_of("host")
    created = await hosts.create(name="web", knowledge="a")
    answering(console, created, **fields)

    read = await hosts.read(created)
    plan = await hosts.plan(read, hosts.config(name="web", knowledge="a"))

    assert read.state["knowledge"] is None
    assert plan.planned["knowledge"] == "a"
    assert plan.replace == ()


async def test_what_was_never_shown_is_kept(steps_of, console):
    created = await steps_of("host", host_read="none").create(name="web", knowledge="a")
    answering(console, created)

    read = await steps_of("host").read(created)

    assert read.state["knowledge"] == "a"
    assert "knowledge" in read.unobserved


async def test_an_answer_of_a_part_of_a_host_proves_no_absence(steps_of, console):
    hosts = steps_of("host")
    created = await hosts.create(name="web", knowledge="a")
    part = json.dumps({"id": created.state["id"], "public_ip": None})
    console.fault(method="POST", path="/hosts/hst_", status=200, text=part, times=2)

    changed = await hosts.change(created, name="web", knowledge="b", target_port=2200)
    read = await hosts.read(changed)

    assert (read.state["knowledge"], read.state["target_port"]) == ("b", 2200)
    assert {"knowledge", "target_port"} <= set(read.unobserved)
    plan = await hosts.plan(read, hosts.config(name="web", knowledge="b", target_port=2200))
    assert plan.planned == read.state


@pytest.mark.parametrize("name", ["org_id", "external_id", "unique_id", "mac"])
async def test_a_console_that_clears_what_replaces_never_replaces(steps_of, console, name):
    hosts = steps_of("host")
    created = await hosts.create(name="web", **{name: "one"})
    answering(console, created, **{name: None})
    read = await hosts.read(created)
    console.reset_log()

    plan = await hosts.plan(read, hosts.config(name="web", **{name: "one"}))
    applied = await hosts.change(read, name="web", **{name: "one"})

    assert plan.replace == ()
    # Terraform takes no null for what is configured: one apply without a call, then none.
    assert plan.planned[name] == applied.state[name] == "one"
    assert any(f"has no {name}" in item.summary for item in plan.diagnostics)
    assert all(item.severity is Severity.WARNING for item in plan.diagnostics)
    assert console.traffic()["total"] == 0
