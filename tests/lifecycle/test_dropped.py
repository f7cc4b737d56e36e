"""What is set at creation only and the console does not keep is told once, then no difference."""

from __future__ import annotations

import pytest

from opsconsole.lifecycle.answers import PrivateState

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
    forgotten = PrivateState.decode(made.private)._replace(dropped=frozenset())
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
