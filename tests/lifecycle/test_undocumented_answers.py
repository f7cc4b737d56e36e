"""Answers of another shape than the document shows, where something was changed already."""

import json

import pytest

from opsconsole.lifecycle.interface import Seen
from outcomes import errors, warnings


@pytest.mark.parametrize(
    ("port", "said"),
    [
        ("1e999", "a number that is too large"),
        ("NaN", "NaN, which is not JSON"),
        ('"22"', "as target_port, where the document shows"),
        ("22.5", "as target_port, where the document shows"),
        ('22, "tags": [1]', "holds [1] as tags, where the document shows"),
        ('22, "tags": "a:1"', "as tags, where the document shows"),
    ],
)
async def test_a_value_of_another_type_is_no_defect_of_the_provider(steps_of, console, port, said):
    hosts = steps_of("host")
    created = await hosts.create(name="a")
    text = f'{{"id": "{created.state["id"]}", "target_port": {port}}}'
    console.fault(method="POST", path="/hosts/hst_", status=200, text=text)

    read = await hosts.read(created)

    assert read.state == created.state
    assert read.seen is Seen.UNCHECKED
    assert said in read.diagnostics[0].text


async def test_hosts_that_were_created_stay_known_whatever_goes_wrong_with_reading_them(
    steps_of, console, monkeypatch
):
    async def defect(*_: object) -> None:
        raise OverflowError("anything")

    monkeypatch.setattr("opsconsole.resources.host.reading.HostReader.read", defect)
    hosts = steps_of("host")

    outcomes = await hosts.create_all(hosts.config(name="a"), hosts.config(name="b"))

    assert [errors(outcome) for outcome in outcomes] == [[], []]
    made = {outcome.state["id"] for outcome in outcomes}
    assert made == {row["id"] for row in console.rows("hosts")}
    assert "could not be read back" in warnings(outcomes[0])[0]


@pytest.mark.parametrize("rerouted", [3, "hst_2", {"hst_2": 1}, [3, "hst_2", None], None])
async def test_a_deleted_host_is_gone_whatever_else_the_answer_holds(steps_of, console, rerouted):
    hosts = steps_of("host")
    created = await hosts.create(name="web")
    told = {"id": created.state["id"], "deleted": True, "rerouted_hosts": rerouted}
    console.fault(method="DELETE", path="/hosts/", status=200, text=json.dumps(told))

    deleted = await hosts.delete(created)

    assert deleted.state is None
    assert errors(deleted) == []
    assert deleted.rerouted == (("hst_2",) if isinstance(rerouted, list) else ())


@pytest.mark.parametrize(
    ("shown", "lacks"),
    [
        ({"pattern": "shutdown*", "description": None}, "org_id"),
        ({"pattern": None, "description": None, "org_id": None}, "pattern"),
        ({}, "pattern"),
    ],
    ids=str,
)
async def test_a_row_that_is_not_shown_whole_is_neither_read_nor_written(
    steps_of, console, one_run, shown, lacks
):
    rows = steps_of("blacklisted_command")
    created = await rows.create(id="blk_shutdown", org_id="org_main")
    console.fault(path="/blacklists/", text=json.dumps({"id": "blk_shutdown"} | shown), times=None)

    read = await rows.read(created)
    plan = await rows.plan(None, rows.config(id="blk_shutdown"))
    changed = await rows.change(created, id="blk_shutdown", org_id="org_main", pattern="halt")
    run = one_run()
    data = await run.read_data("opsconsole_blacklisted_command", {"id": "blk_shutdown"})

    assert read.state == changed.state == created.state
    for outcome in (read, plan, changed, data):
        assert any(lacks in item.text for item in outcome.diagnostics)
        assert errors(outcome)


async def test_an_update_that_does_not_show_the_scope_keeps_what_was_asked(steps_of, console):
    rows = steps_of("blacklisted_command")
    created = await rows.create(id="blk_shutdown", org_id="org_main")
    text = json.dumps({"id": "blk_shutdown", "pattern": "halt*"})
    console.fault(method="POST", path="/blacklists/", status=200, text=text)

    updated = await rows.change(created, id="blk_shutdown", org_id="org_main", pattern="halt*")

    assert updated.state["org_id"] == "org_main"
    assert updated.state["tenant_wide"] is False


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
    assert read.seen is Seen.UNCHECKED
    assert 'Set host_read = "none"' in read.diagnostics[0].text
