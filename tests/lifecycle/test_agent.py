"""Agents and attachments through the lifecycle."""

import asyncio
from typing import Any

import pytest

from opsconsole.emulator import Emulator
from opsconsole.errors import NotFound
from opsconsole.lifecycle.interface import UpdateRequest
from outcomes import errors
from patience import until

AGENT = "opsconsole_agent"


@pytest.fixture
def host(console: Emulator) -> dict[str, Any]:
    return console.create("hosts", name="web")


@pytest.fixture
def declared(host: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "keeper",
        "host_id": host["id"],
        "specialty_id": "spc_linux",
        "main_engine": "engine-a",
        "accessible_credential_ids": ["crd_2", "crd_1"],
        "credential_config": [
            {"credential_id": "crd_1", "credential_role": "login", "order": 1, "is_required": True}
        ],
    }


async def test_what_the_console_sets_within_an_entry_is_no_difference(steps_of, console, declared):
    entry = {"credential_id": "crd_1", "credential_role": "login"}
    declared["credential_config"] = [entry | {"order": None, "is_required": None}]
    agents = steps_of("agent")

    created = await agents.create(**declared, plugin_ids=["plg_disk"])
    # The console answers with the agent, whose entry has an order and is_required.
    attached = await agents.change(created, **declared, plugin_ids=["plg_disk", "plg_logs"])

    assert (created.diagnostics, attached.diagnostics) == ((), ())
    [kept] = console.rows("agents")
    assert kept["credential_config"] == [entry | {"order": 0, "is_required": False}]
    shown = attached.state | {"credential_config": kept["credential_config"]}
    config = agents.config(**declared, plugin_ids=["plg_disk", "plg_logs"])
    for state in (attached.state, shown):
        plan = await agents.plan(attached._replace(state=state), config)
        assert (plan.planned, plan.replace) == (state, ())

    declared["credential_config"] = [entry | {"order": 2, "is_required": None}]
    plan = await agents.plan(attached, agents.config(**declared, plugin_ids=["plg_disk"]))
    assert [item.path for item in plan.diagnostics] == [("credential_config",)]


@pytest.mark.parametrize("profile", ["default", "strict", "sparse"], indirect=True)
async def test_attaching_twice_and_detaching_what_is_gone_both_succeed(steps_of, console, declared):
    agent = await steps_of("agent").create(**declared)
    attachments = steps_of("agent_plugin")
    ids = {"agent_id": agent.state["id"], "plugin_id": "plg_disk"}
    first = await attachments.create(**ids)

    again = await attachments.create(**ids)
    [row] = console.rows("attachments")
    console.delete("attachments", row["id"])
    gone = await attachments.delete(first)

    assert errors(again) == errors(gone) == []
    assert gone.state is None


async def test_a_change_of_plugins_that_is_stopped_says_what_was_done(
    steps_of, one_run, console, declared
):
    agents = steps_of("agent")
    created = await agents.create(**declared, plugin_ids=[])
    config = agents.config(**declared, plugin_ids=["plg_disk", "plg_logs"])
    plan = await agents.plan(created, config)
    request = UpdateRequest(created.state, config, plan.planned, plan.private)
    run = one_run()
    console.fault(operation="plugin_attach", answer_delay=1.0)

    changing = asyncio.create_task(run.resources[AGENT].update(request))
    await asyncio.to_thread(until, lambda: not console.waiting_faults())
    run.stop()
    in_part = await changing
    # What was never seen of an agent is no call where no operation updates agents.
    unseen = request._replace(prior=created.state | {"main_engine": None})
    not_begun = await run.resources[AGENT].update(unseen)

    assert errors(in_part) == [f'The agent "keeper" ({created.state["id"]}) was updated in part']
    assert in_part.state["plugin_ids"] == ["plg_disk"]
    assert in_part.begun
    assert (not_begun.state, not_begun.begun) == (unseen.prior, False)


async def test_whether_an_agent_is_there_is_read_anew(steps_of, one_run, console, declared):
    created = await steps_of("agent").create(**declared)
    agents = one_run().resources[AGENT]

    assert await agents.is_there(created.state["id"])
    console.delete("agents", created.state["id"])
    with pytest.raises(NotFound):
        await agents.is_there(created.state["id"])
