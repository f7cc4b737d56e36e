"""Answers that are not the answer to what was asked: taken for nothing that they do not say."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from creations import created
from opsconsole.emulator import Emulator
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.lifecycle.interface import CreateRequest


@pytest.fixture
def host_id(console: Emulator) -> str:
    return str(console.create("hosts", name="web")["id"])


def summaries(outcome: Any) -> list[str]:
    return [item.summary for item in outcome.diagnostics]


async def test_a_whole_number_may_be_written_with_a_point(console, steps_of):
    hosts = steps_of("host")
    made = await hosts.create(name="web", target_port=22)
    console.fault(operation="host_update", text=json.dumps(made.state | {"target_port": 2200.0}))

    assert (await hosts.read(made)).state["target_port"] == 2200


@pytest.mark.parametrize("shown", ["host_id", "specialty_id", "org_id", "name"])
async def test_an_agent_with_another_host_specialty_org_or_name_is_not_the_created_one(
    console, steps_of, host_id, shown
):
    sent = {"name": "a", "host_id": host_id, "specialty_id": "spc_linux", "org_id": "org_main"}
    answer = {"id": "agt_x", **sent, shown: "another"}
    console.fault(operation="agent_create", text=json.dumps(answer))
    assert (await steps_of("agent").create(**sent)).unsettled
    console.fault(operation="agent_create", text=json.dumps({"id": "agt_y"}))
    assert (await steps_of("agent").create(**sent)).state["id"] == "agt_y"
    console.fault(operation="agent_create", text=json.dumps({"id": "agt_z", "main_engine": 5}))
    [told] = summaries(made := await steps_of("agent").create(**sent))
    assert (made.failed, made.state["id"]) == (False, "agt_z")
    assert "was created, but the console's answer cannot be read" in told


async def test_an_agent_whose_name_is_stored_otherwise_is_the_created_one(
    console, steps_of, host_id
):
    # The second "e" of the answer is two characters, a letter and its accent.
    answer = {"id": "agt_x", "name": "web fil\u0065\u0301", "host_id": host_id}
    console.fault(operation="agent_create", text=json.dumps(answer))
    made = await steps_of("agent").create(
        name=" Web  \ufb01l\u00e9 ", host_id=host_id, specialty_id="spc_linux"
    )
    assert not made.failed
    assert made.state["id"] == "agt_x"


async def test_an_agent_that_was_there_before_is_not_the_created_one(
    console, one_run, steps_of, host_id
):
    agents = steps_of("agent")
    agents.provider = one_run()
    body = {"name": "twin", "host_id": host_id, "specialty_id": "spc_linux"}
    first = await agents.create(**body)
    twin = json.dumps(console.row("agents", first.state["id"]))
    console.fault(operation="agent_create", text=twin)
    assert (await agents.create(**body)).unsettled


async def host(steps_of: Callable[..., Any], **settings: Any) -> tuple[Any, Any]:
    hosts = steps_of("host", **settings)
    return hosts, await hosts.create(name="web")


async def test_a_long_value_is_cut_in_a_message(console, steps_of):
    hosts, made = await host(steps_of)
    kept = made.state | {"knowledge": "x" * 300}
    console.fault(operation="host_update", text=json.dumps(kept))

    [told] = (await hosts.change(made, name="web", knowledge="y")).diagnostics

    assert f"the console kept '{'x' * 196}.... " in told.text


@pytest.mark.parametrize("kinds", [("unavailable", "not_found"), ("unavailable", "forbidden")])
async def test_a_delete_that_was_sent_twice_is_not_said_to_have_failed(console, steps_of, kinds):
    hosts, made = await host(steps_of, max_retries=1)
    for kind in kinds:
        console.fault(kind=kind, operation="host_delete")
    kept = await hosts.delete(made)
    assert kept.failed
    assert kept.state == made.state
    assert "It is not known whether" in kept.diagnostics[0].summary


async def test_a_delete_of_what_is_gone_is_confirmed_by_one_read(console, steps_of):
    hosts, made = await host(steps_of)
    console.delete("hosts", made.state["id"])
    console.reset_log()
    gone = await hosts.delete(made)
    assert not gone.failed
    assert gone.state is None
    assert console.request_counts() == {"host_delete": 1, "host_update": 1}


@pytest.mark.parametrize("choice", ["remove", "error"])
async def test_a_delete_answered_404_of_what_cannot_be_read(console, steps_of, choice):
    hosts, made = await host(steps_of, on_missing_host=choice)
    console.fault(kind="not_found", operation="host_delete")
    console.fault(kind="forbidden", operation="host_update")
    ended = await hosts.delete(made)
    assert ended.failed is (choice == "error")
    assert (ended.state is None) is (choice == "remove")
    assert "deleted already, or is not visible to this key" in summaries(ended)[0]


@pytest.mark.parametrize(
    ("kind", "read", "said"),
    [
        ("reset_after", "forbidden", "it is not known whether it still runs"),
        ("reset_before", None, "it is not known whether it still runs"),
        ("conflict", None, "left management and still run"),
    ],
)
async def test_what_is_said_of_agents_whose_host_was_perhaps_not_deleted(
    console, one_run, steps_of, kind, read, said
):
    provider = one_run()
    hosts, agents = steps_of("host"), steps_of("agent")
    hosts.provider = agents.provider = provider
    made = await hosts.create(name="web")
    agent = await agents.create(name="a", host_id=made.state["id"], specialty_id="spc_linux")
    await agents.delete(agent)
    console.fault(kind=kind, operation="host_delete")
    if read:
        console.fault(kind=read, operation="host_update")
    ended = await hosts.delete(made)
    assert ended.failed
    assert ended.state == made.state
    [told] = [item for item in ended.diagnostics if "left management" in item.summary]
    assert said in told.summary
    assert f"terraform import opsconsole_agent.NAME {agent.state['id']}" in told.text
    assert ("was not deleted" in told.text) is (kind == "conflict")


async def test_a_specialty_that_a_refresh_found_gone_forbids_no_destroy(console, one_run, steps_of):
    """Terraform plans the creation of what its refresh found gone before it destroys the rest."""
    before = steps_of("specialty")
    held = await before.create(key="linux-server")
    console.delete("specialties", "spc_linux")
    specialties = steps_of("specialty")
    specialties.provider = one_run()
    assert (await specialties.read(held)).state is None
    plan = await specialties.plan(None, specialties.config(key="linux-server"))
    assert not plan.failed
    assert plan.planned["id"] == "spc_linux"
    assert "There is no specialty" in plan.diagnostics[0].summary
    request = CreateRequest(specialties.config(key="linux-server"), plan.planned, plan.private)
    [made] = await created(specialties.provider.resources["opsconsole_specialty"], [request])
    assert made.failed and made.state is None
    other = await specialties.plan(None, specialties.config(key="never-there"))
    assert other.failed
    specialties.provider.session.command = "opsconsole"
    assert (await specialties.plan(None, specialties.config(key="linux-server"))).failed


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
@pytest.mark.parametrize(
    ("name", "operation", "fields"),
    [
        ("specialty", "specialty_delete", {"key": "network", "deletion_policy": "delete"}),
        ("blacklisted_command", "blacklist_delete", {"id": "blk_format"}),
        ("agent", "agent_delete", {"name": "a", "specialty_id": "spc_linux"}),
    ],
)
async def test_a_404_for_the_deletion_of_what_is_still_shown_is_explained(
    console, steps_of, host_id, name, operation, fields
):
    steps = steps_of(name)
    made = await steps.create(**fields | ({"host_id": host_id} if name == "agent" else {}))
    console.fault(kind="not_found", operation=operation)
    kept = await steps.delete(made)
    assert kept.failed
    assert kept.state == made.state
    assert "this key may read it, but not delete it" in kept.diagnostics[0].text


@pytest.mark.parametrize("kind", ["other_object", "ids_null", "ids_dots"])
@pytest.mark.parametrize("told", ["existing", "none"])
async def test_a_host_whose_id_an_import_does_not_tell_is_found_by_a_dry_run(
    console, steps_of, kind, told
):
    """Where dry runs tell no ids either, it stays unknown; no other host is taken for it."""
    console.switch(dry_run_ids=told)
    console.create("hosts", name="theirs")
    console.fault(kind=kind, operation="host_import", holds='"dry_run":false')
    hosts = steps_of("host")
    [mine] = await hosts.create_all(hosts.config(name="mine"))
    [row] = [row for row in console.rows("hosts") if row["name"] == "mine"]
    assert mine.unsettled is (told == "none")
    if told == "none":
        assert is_sentinel(mine.state["id"])
    else:
        assert mine.state["id"] == row["id"]


@pytest.mark.parametrize("profile", ["blind"], indirect=True)
@pytest.mark.parametrize("choice", ["remove", "error"])
async def test_on_missing_decides_where_a_deletion_answers_404_and_nothing_can_be_read(
    steps_of, console, choice
):
    specialties = steps_of("specialty", on_missing=choice)
    made = await specialties.create(key="database", deletion_policy="delete")
    console.switch(has_more="absent", total_count="never")
    console.delete("specialties", "spc_database")
    deleted = await specialties.delete(made)
    [told] = deleted.diagnostics
    assert "not visible to this key" in told.summary
    if choice == "error":
        assert deleted.state == made.state
        assert 'on_missing is "error"' in told.detail
    else:
        assert deleted.state is None
        assert not deleted.failed
        assert "it cannot be read. It is removed from state." in told.detail
