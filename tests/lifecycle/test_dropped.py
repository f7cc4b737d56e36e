"""What is set at creation only and the console does not keep is told once, then no difference."""

import json

import pytest

from opsconsole.diagnostics import Severity
from opsconsole.lifecycle.answers import PrivateState
from opsconsole.resources import HOST

DECLARED = {"name": "web", "mac": "02:00:00:00:00:01", "unique_id": "u-1"}


@pytest.mark.parametrize("profile", ["dropping"], indirect=True)
async def test_a_dropped_value_is_reported_at_creation_and_no_difference_later(steps_of):
    hosts = steps_of("host")
    made = await hosts.create(**DECLARED)
    assert sorted(item.path for item in made.diagnostics) == [("mac",), ("unique_id",)]
    read = await hosts.read(made)
    assert read.diagnostics == ()
    assert (read.state["mac"], read.state["unique_id"]) == (DECLARED["mac"], DECLARED["unique_id"])

    plan = await hosts.plan(read, hosts.config(**DECLARED))
    assert (plan.planned, plan.replace, plan.diagnostics) == (read.state, (), ())

    changed = await hosts.plan(read, hosts.config(**DECLARED | {"mac": "02:00:00:00:00:02"}))
    assert changed.replace == ("mac",)


@pytest.mark.parametrize("profile", ["dropping"], indirect=True)
async def test_what_was_not_read_back_is_told_by_the_plan_that_meets_it(steps_of):
    hosts = steps_of("host")
    made = await hosts.create(**DECLARED)
    forgotten = PrivateState.decode(made.private)._replace(not_kept={})
    read = await hosts.read(made._replace(private=forgotten.encode()))
    assert read.state["mac"] is None

    plan = await hosts.plan(read, hosts.config(**DECLARED))
    assert plan.replace == ()
    assert {item.summary.split(" for ")[0] for item in plan.diagnostics} == {
        "The console has no mac",
        "The console has no unique_id",
    }
    kept = await hosts.read(await hosts.change(read, **DECLARED))
    again = await hosts.plan(kept, hosts.config(**DECLARED))
    assert (again.planned, again.diagnostics) == (kept.state, ())


@pytest.mark.parametrize("profile", ["dropping"], indirect=True)
async def test_a_value_that_the_console_shows_later_is_followed(steps_of, console):
    hosts = steps_of("host")
    made = await hosts.create(**DECLARED)
    console.change("hosts", made.state["id"], mac="02:00:00:00:00:09")
    read = await hosts.read(made)
    assert read.state["mac"] == "02:00:00:00:00:09"


@pytest.mark.parametrize("kept", [{"org_id": "org_other"}, {"org_id": None}, {}], ids=str)
async def test_an_org_that_the_console_does_not_keep_is_told_once(steps_of, console, kept):
    """Whatever it shows in its place, the host was created, and later plans find no difference."""
    hosts = steps_of("host")
    declared = {"name": "web", "org_id": "org_lab"}
    row = {name: None for name in HOST.names if name not in ("deletion_policy", "org_id")}
    row |= {"id": "hst_1", "name": "web"} | kept
    results = [{"index": 0, "status": "created", "id": "hst_1"}]
    for dry_run in (True, False):
        answer = {"object": "import_result", "dry_run": dry_run, "results": results}
        console.fault(operation="host_import", status=200, text=json.dumps(answer))
    console.fault(operation="host_update", status=200, text=json.dumps(row), times=None)

    made = await hosts.create(**declared)
    [told] = made.diagnostics
    assert (told.severity, told.path) == (Severity.WARNING, ("org_id",))
    assert (made.state["id"], made.state["org_id"]) == ("hst_1", "org_lab")
    read = await hosts.read(made)
    plan = await hosts.plan(read, hosts.config(**declared))
    assert (read.state, read.diagnostics) == (made.state, ())
    assert (plan.planned, plan.replace, plan.diagnostics) == (read.state, (), ())
    other = await hosts.plan(read, hosts.config(**declared | {"org_id": "org_new"}))
    assert other.replace == ("org_id",)
