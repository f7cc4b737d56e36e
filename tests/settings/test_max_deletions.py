"""`max_deletions`: no more is deleted than it allows, however it is planned."""

from dataclasses import replace

import pytest

from declarations import program
from engines import ON_TERRAFORM
from opsconsole.lifecycle.interface import (
    DeleteRequest,
    Outcome,
    PlanChange,
    PlanCreation,
    PlanOutcome,
)
from opsconsole.lifecycle.planning import DeletionCount, too_many_deletions_error
from opsconsole.resources import HOST

NAMES = ("a", "b", "c")


@ON_TERRAFORM
def test_no_more_is_deleted_than_the_setting_allows(applied, console):
    hosts = {name: {"name": name} for name in NAMES}
    kept = {"d": {"name": "d", "deletion_policy": "abandon"}}
    engine = applied(program(host=hosts | kept), console, {"max_deletions": 1})
    replaced = {name: {"name": name, "external_id": "new"} for name in NAMES[:2]}

    engine.write(program(host=replaced | {"c": hosts["c"]} | kept))
    told = engine.plan_run(expect={1}).errors[-1]
    assert "than max_deletions allows: 1" in told["summary"]
    assert '"a"' in told["detail"] and '"b"' in told["detail"]
    engine.write(program(host=hosts | kept))
    asked = [f"-replace=opsconsole_host.{name}" for name in NAMES[:2]]
    assert "max_deletions" in engine.plan_run(*asked, expect={1}).errors[-1]["summary"]
    assert "max_deletions" in engine.destroy(expect={1}).errors[-1]["summary"]
    assert len(console.rows("hosts")) == 4

    engine.run("taint", "opsconsole_host.a")
    engine.run("taint", "opsconsole_host.b")
    assert "max_deletions" in engine.apply(expect={1}).errors[0]["summary"]
    assert console.request_counts()["host_delete"] == 1

    engine.write(program(host={name: hosts[name] for name in NAMES[1:]}))
    engine.run("untaint", "opsconsole_host.b", expect=None)
    engine.run("untaint", "opsconsole_host.a", expect=None)
    engine.apply()
    assert len(console.rows("hosts")) == 3


@ON_TERRAFORM
def test_hosts_that_are_gone_count_until_they_have_left_the_state(applied, console):
    hosts = {name: {"name": name} for name in NAMES}
    engine = applied(program(host=hosts), console, {"max_deletions": 1})
    for row in console.rows("hosts")[:2]:
        console.delete("hosts", row["id"])
    left = console.rows("hosts")[0]["name"]

    engine.write({})
    told = engine.plan_run(expect={1}).errors[-1]
    assert "`terraform apply -refresh-only` with max_deletions raised" in told["detail"]

    engine.write({"provider": {"opsconsole": {"max_deletions": 3}}})
    engine.run("apply", "-refresh-only", "-auto-approve")
    engine.write({})
    assert engine.plan().actions == {f"opsconsole_host.{left}": ["delete"]}


HELD = HOST.empty() | {"id": "hst_1", "deletion_policy": "delete"}
DECLARED = HOST.empty() | {"name": "web", "deletion_policy": "delete"}


@pytest.mark.parametrize(("private", "is_too_many"), [(b"of the old", False), (b"other", True)])
def test_a_replacement_counts_once(one_run, private, is_too_many):
    """Terraform plans it as a change, and as a creation that carries the same private bytes."""
    count = one_run(max_deletions=1).session.singleton(DeletionCount)
    kept = {"deletion_policy": "abandon"}
    in_place, replaced = PlanOutcome(DECLARED), PlanOutcome(DECLARED, ("name",))
    change = PlanChange(HELD, DECLARED, b"of the old")
    assert count.count_plan(HOST, PlanCreation(DECLARED), in_place, "new") is None
    assert count.count_plan(HOST, PlanCreation(DECLARED | kept, b"x"), in_place, "kept") is None
    assert count.count_plan(HOST, PlanChange(HELD | kept, DECLARED), replaced, "kept") is None
    assert count.count_plan(HOST, change, in_place, "web") is None
    creation = PlanCreation(DECLARED, private)

    assert count.count_plan(HOST, change, replaced, "web") is None
    problem = count.count_plan(HOST, creation, in_place, "web")
    again = count.count_plan(HOST, creation, in_place, "db")

    assert (problem is not None) == is_too_many
    wanted = too_many_deletions_error([*["web"] * is_too_many, "web", "db"], 1)
    assert again.detail.startswith(wanted.detail), "a tainted object that is replaced counts too"
    assert replace(again, detail=wanted.detail) == wanted


async def test_deletions_beyond_the_setting_are_refused(steps_of, one_run, console):
    """Both at the plan and at the apply."""
    hosts = steps_of("host")
    made = [await hosts.create(name=name) for name in "ab"]
    hosts.provider = one_run(max_deletions=1)
    # A plan that is asked for twice counts once.
    plans = [await hosts.plan(each, None) for each in (made[0], *made)]
    requests = [DeleteRequest(each.state, plans[2].private) for each in made]
    ended = [await hosts._run(lambda own, it=it: own.delete(it)) for it in requests]

    assert [plan.failed for plan in plans] == [False, False, True]
    [told] = plans[2].diagnostics
    names = [f'host "{each.state["name"]}" ({each.state["id"]})' for each in made]
    assert told.detail.startswith(f"They are: {', '.join(names)}. If")
    wanted = too_many_deletions_error(names, 1)
    assert replace(told, detail=wanted.detail) == wanted
    assert ended == [Outcome(None), Outcome(*requests[1][:2], (wanted,))]
    assert [row["name"] for row in console.rows("hosts")] == ["b"]
    assert ", 49. If" in too_many_deletions_error([*map(str, range(50))], 3).detail
    assert ", 49 and 1,002 more. If" in too_many_deletions_error([*map(str, range(1052))], 3).detail


def test_no_more_is_deleted_than_max_deletions_allows(native, fleet):
    native.settings["max_deletions"] = 1
    native.apply(fleet(3))
    for words in (("plan", "-destroy"), ("destroy", "-auto-approve", "-force")):
        refused = native.run(*words, expect=1).text
        assert refused.count("than max_deletions allows: 1") == 1
        for number in range(3):
            assert f"opsconsole_host.web[{number}]" in refused
    assert len(native.console.rows("hosts")) == 3
    native.console.fault(operation="host_delete", status=400)
    native.apply(fleet(2), "-force", expect=1)
    assert len(native.addresses()) == 10, "an agent stays while its host could not be deleted"
    native.apply(fleet(2), "-force")
    assert len(native.console.rows("hosts")) == 2
