"""`host_read`: hosts that cannot be read, or that are shown in part."""

import json

import pytest

from declarations import program
from lifecycle_steps import errors
from opsconsole.lifecycle.interface import ReadStatus


@pytest.mark.parametrize("profile", ["blind"], indirect=True)
def test_host_that_cannot_be_read_is_no_difference(applied, console):
    hosts = {name: {"name": name, "knowledge": "k"} for name in ("a", "b", "c")}
    engine = applied(program(host=hosts), console, {"max_concurrency": 1})
    console.reset_log()
    plan = engine.plan("-parallelism=1")
    assert plan.run.code == 0
    assert len(plan.run.warned("Hosts cannot be read")) == 1
    # Two different hosts must refuse: one refusal may be that host's own.
    assert console.request_counts()["host_update"] == 2

    # Never observed is not a difference: one apply, which sends what is declared, and then none.
    hosts["a"]["public_ip"] = "198.51.100.7"
    plan = engine.plan(program=program(host=hosts))
    assert plan.actions == {"opsconsole_host.a": ["update"]}
    assert plan.run.warned("Not verified: public_ip")
    console.reset_log()
    engine.apply(plan.saved)
    sent = [item["body"] for item in console.requests() if item["operation"] == "host_update"]
    assert {"public_ip": "198.51.100.7"} in sent
    engine.plan_run(expect={0})

    engine.settings = {"host_read": "none"}
    engine.write(program(host=hosts))
    console.reset_log()
    assert not engine.plan_run(expect={0}).warned("Hosts cannot be read")
    assert console.traffic()["total"] == 0


def test_a_key_that_may_not_write_hosts_learns_what_reading_needs(applied, console):
    engine = applied(program(host={"web": {"name": "web"}}), console)
    console.change("keys", "key_main", write_orgs=["org_lab"], read_orgs=["org_main"])
    run = engine.plan_run(expect={0})
    [told] = [item for item in run.warnings if "was not checked" in item["summary"]]
    assert "takes the right to write" in told["detail"]
    assert "host_get" in told["detail"]


def test_unread_resources_are_counted_in_no_changes(native):
    program = {"opsconsole_host": {"web": {"count": 2, "name": "web-${count.index}"}}}
    native.apply(program)
    assert "No changes. The console matches the program." in native.run("plan").out
    unread = "No changes. State matches the program. 2 resources in it were not read"
    assert unread in native.run("plan", "-refresh=false").out
    native.settings["host_read"] = "none"
    assert unread in native.run_plan(program).out


def test_resources_shown_in_part_are_counted_in_no_changes(native):
    native.apply({"opsconsole_host": {"web": {"name": "web", "knowledge": "a"}}})
    part = json.dumps({"id": native.attributes("opsconsole_host.web")["id"]})
    native.console.fault(method="POST", path="/hosts/hst_", status=200, text=part)
    told = native.run("plan").out
    assert "State matches the program. 1 resource in it was shown only in part" in told


async def test_an_update_answered_without_a_body_is_made_and_shows_nothing(steps_of, console):
    hosts = steps_of("host")
    created = await hosts.create(name="a")
    console.fault(method="POST", path="/hosts/hst_", status=204, text="", handled=True, times=2)

    updated = await hosts.change(created, name="b")

    assert errors(updated) == []
    assert updated.state["name"] == "b"
    assert console.rows("hosts")[0]["name"] == "b"
    console.fault(method="POST", path="/hosts/hst_", status=204, text="", handled=True)
    read = await hosts.read(updated)
    assert read.status is ReadStatus.UNCHECKED
    assert 'Set host_read = "none"' in read.diagnostics[0].text
