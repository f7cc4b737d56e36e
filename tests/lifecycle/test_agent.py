"""Agents and attachments through the lifecycle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from consoles import CONSOLES
from opsconsole.emulator import Emulator
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.lifecycle.interface import (
    DeleteRequest,
    PlanChange,
    PlanCreation,
    ReadRequest,
    Removal,
    Seen,
    UpdateRequest,
)
from opsconsole.lifecycle.lifecycle import Lifecycle
from opsconsole.values import UNKNOWN
from outcomes import errors, warnings
from patience import until

AGENT = "opsconsole_agent"
PLUGIN = "opsconsole_agent_plugin"
HOST = "opsconsole_host"


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


@pytest.mark.parametrize("profile", list(CONSOLES), indirect=True)
async def test_creation_then_a_plan_without_a_change(
    steps_of: Callable[..., Any], console: Emulator, declared: dict[str, Any]
) -> None:
    agents = steps_of("agent")

    created = await agents.create(**declared, plugin_ids=["plg_disk", "plg_logs"])

    assert errors(created) == []
    assert created.state["id"].startswith("agt_")
    read = await agents.read(created)
    assert read.state == created.state
    plan = await agents.plan(read, agents.config(**declared, plugin_ids=["plg_disk", "plg_logs"]))
    assert plan.planned == read.state


async def test_what_the_console_sets_within_an_entry_is_no_difference(
    steps_of: Callable[..., Any], console: Emulator, declared: dict[str, Any]
) -> None:
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


@pytest.mark.parametrize("name", ["host_id", "specialty_id"])
async def test_what_a_create_needs_is_demanded(
    steps_of: Callable[..., Any], declared: dict[str, Any], name: str
) -> None:
    agents = steps_of("agent")

    plan = await agents.plan(None, agents.config(**declared | {name: None}))

    assert [item.path for item in plan.diagnostics] == [(name,)]


async def test_plugins_are_attached_and_detached(
    steps_of: Callable[..., Any], console: Emulator, declared: dict[str, Any]
) -> None:
    agents = steps_of("agent")
    created = await agents.create(**declared, plugin_ids=["plg_disk", "plg_logs"])

    changed = await agents.change(created, **declared, plugin_ids=["plg_logs", "plg_backup"])

    assert errors(changed) == []
    assert changed.state["plugin_ids"] == ["plg_backup", "plg_logs"]
    attached = {row["plugin_id"] for row in console.rows("attachments")}
    assert attached == {"plg_backup", "plg_logs"}


async def test_plugins_left_out_are_left_alone(
    steps_of: Callable[..., Any], console: Emulator, declared: dict[str, Any]
) -> None:
    agents = steps_of("agent")
    created = await agents.create(**declared)
    console.create("attachments", agent_id=created.state["id"], plugin_id="plg_disk")

    read = await agents.read(created)

    assert read.state["plugin_ids"] is None
    plan = await agents.plan(read, agents.config(**declared))
    assert plan.planned == read.state


async def test_replacing_beside_the_first_is_refused(
    steps_of: Callable[..., Any], declared: dict[str, Any]
) -> None:
    agents = steps_of("agent")
    created = await agents.create(**declared)

    refused = await agents.plan(created, agents.config(**declared | {"name": "other"}))
    moved = await agents.plan(created, agents.config(**declared | {"host_id": "hst_other"}))
    abandoned = await agents.plan(
        created, agents.config(**declared | {"name": "other", "deletion_policy": "abandon"})
    )
    unknown = await agents.plan(created, agents.config(**declared | {"host_id": UNKNOWN}))

    assert "cannot be replaced while its host stays" in errors(refused)[0]
    assert "another host" in moved.diagnostics[0].detail
    assert errors(abandoned) == errors(unknown) == []
    assert abandoned.replace == ("name",)
    assert "not known yet" in warnings(unknown)[0]


async def test_removal_says_what_becomes_of_the_agent(
    steps_of: Callable[..., Any], declared: dict[str, Any]
) -> None:
    agents = steps_of("agent")
    created = await agents.create(**declared)
    guarded = await agents.create(**declared | {"deletion_policy": "prevent"})

    unexplained = await agents.plan(created, None)
    alone = await agents.plan(created, None, Removal.ALONE)
    along = await agents.plan(created, None, Removal.WITH_OWNER)
    prevented = await agents.plan(guarded, None)
    allowed = await agents.plan(guarded, None, Removal.WITH_OWNER)

    assert "leaves management" in warnings(unexplained)[0]
    assert declared["host_id"] in unexplained.diagnostics[0].detail
    assert "is not archived" in warnings(alone)[0]
    assert along.diagnostics == allowed.diagnostics == ()
    assert "must not be removed" in errors(prevented)[0]


@pytest.mark.parametrize("fault", [{"status": 500}, {"cut": "after"}, {"cut": "before"}])
async def test_a_lost_create_is_never_repeated(
    steps_of: Callable[..., Any],
    console: Emulator,
    declared: dict[str, Any],
    fault: dict[str, Any],
) -> None:
    agents = steps_of("agent", max_retries=3)
    console.fault(method="POST", path="/api/v1/agents", **fault)
    console.reset_log()

    created = await agents.create(**declared)

    assert console.request_counts()["agent_create"] == 1
    assert created.uncertain
    assert is_sentinel(created.state["id"])
    assert (await agents.read(created)).seen is Seen.UNCHECKED


async def test_an_agent_goes_with_its_host_without_a_call(
    steps_of: Callable[..., Any],
    console: Emulator,
    one_run: Callable[..., Lifecycle],
    host: dict[str, Any],
    declared: dict[str, Any],
) -> None:
    hosts, agents = steps_of("host"), steps_of("agent")
    web = await hosts.create(name="other")
    agent = await agents.create(**declared | {"host_id": web.state["id"]})
    console.delete("hosts", web.state["id"])
    run = one_run()
    console.reset_log()

    await run.resources[HOST].read([ReadRequest(web.state, web.private)])
    [gone] = await run.resources[AGENT].read([ReadRequest(agent.state, agent.private)])

    assert gone.seen is Seen.ARCHIVED
    assert gone.state is None
    assert console.request_counts() == {"host_update": 1}


async def test_one_list_serves_agent_attachments_and_data_source(
    steps_of: Callable[..., Any],
    console: Emulator,
    one_run: Callable[..., Lifecycle],
    declared: dict[str, Any],
) -> None:
    agents, attachments = steps_of("agent"), steps_of("agent_plugin")
    agent = await agents.create(**declared)
    agent_id = agent.state["id"]
    plugins = await attachments.create_all(
        *(
            attachments.config(agent_id=agent_id, plugin_id=plugin)
            for plugin in ("plg_disk", "plg_logs", "plg_metrics")
        )
    )
    assert [errors(item) for item in plugins] == [[], [], []]
    run = one_run()
    console.reset_log()

    await run.resources[AGENT].read([ReadRequest(agent.state, agent.private)])
    read = await run.resources[PLUGIN].read(
        [ReadRequest(item.state, item.private) for item in plugins]
    )
    data = await run.read_data("opsconsole_agent_plugins", {"agent_id": agent_id})

    assert console.request_counts() == {"plugin_list": 1}
    assert [item.state for item in read] == [item.state for item in plugins]
    assert [entry["id"] for entry in data.state["plugins"]] == [
        "plg_disk",
        "plg_logs",
        "plg_metrics",
    ]


@pytest.mark.parametrize("profile", ["default", "strict", "sparse"], indirect=True)
async def test_attaching_twice_and_detaching_what_is_gone_both_succeed(
    steps_of: Callable[..., Any], console: Emulator, declared: dict[str, Any]
) -> None:
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


@pytest.mark.parametrize("profile", ["truncated"], indirect=True)
async def test_a_truncated_list_proves_presence_and_never_absence(
    steps_of: Callable[..., Any], console: Emulator, declared: dict[str, Any]
) -> None:
    agent = await steps_of("agent").create(**declared)
    attachments = steps_of("agent_plugin")
    names = ["plg_disk", "plg_logs", "plg_metrics", "plg_packages", "plg_backup", "plg_legacy"]
    made = [await attachments.create(agent_id=agent.state["id"], plugin_id=name) for name in names]

    read = [await attachments.read(item) for item in made]

    assert [item.state["plugin_id"] for item in read] == names
    assert Seen.UNCHECKED in {item.seen for item in read}
    assert Seen.PRESENT in {item.seen for item in read}


async def test_a_plugin_declared_twice_is_reported(
    one_run: Callable[..., Lifecycle], steps_of: Callable[..., Any], declared: dict[str, Any]
) -> None:
    agents, attachments = steps_of("agent"), steps_of("agent_plugin")
    agent = await agents.create(**declared, plugin_ids=["plg_disk"])
    run = one_run()
    config = agents.config(**declared, plugin_ids=["plg_disk"])
    await run.resources[AGENT].plan([PlanChange(agent.state, config, agent.private)])

    inside, outside = await run.resources[PLUGIN].plan(
        [
            PlanCreation(attachments.config(agent_id=agent.state["id"], plugin_id=plugin_id))
            for plugin_id in ("plg_disk", "plg_logs")
        ]
    )

    assert "declared twice" in warnings(inside)[0]
    assert "full set" in errors(outside)[0]


async def test_a_failed_host_deletion_lists_the_released_agents(
    console: Emulator,
    one_run: Callable[..., Lifecycle],
    steps_of: Callable[..., Any],
    declared: dict[str, Any],
) -> None:
    hosts, agents = steps_of("host"), steps_of("agent")
    web = await hosts.create(name="other")
    agent = await agents.create(**declared | {"host_id": web.state["id"]})
    console.fault(method="DELETE", path="/api/v1/hosts/.*", status=403, code="FORBIDDEN")
    run = one_run()

    await run.resources[AGENT].delete(DeleteRequest(agent.state, agent.private))
    refused = await run.resources[HOST].delete(DeleteRequest(web.state))

    assert "terraform import" in refused.diagnostics[-1].detail
    assert agent.state["id"] in refused.diagnostics[-1].detail


@pytest.mark.parametrize("profile", ["default", "extended"], indirect=True)
async def test_an_imported_agent_needs_one_apply_without_a_call(
    steps_of: Callable[..., Any], console: Emulator, declared: dict[str, Any]
) -> None:
    agents = steps_of("agent")
    made = await agents.create(**declared)
    imported = await agents._run(lambda steps: steps.import_state(made.state["id"]))
    read = await agents.read(imported)
    plan = await agents.plan(read, agents.config(**declared))
    assert errors(plan) == []
    assert plan.replace == ()
    console.reset_log()

    applied = await agents.change(read, **declared)

    assert console.traffic()["total"] == 0
    read_again = await agents.read(applied)
    assert (await agents.plan(read_again, agents.config(**declared))).planned == read_again.state


async def test_a_change_of_plugins_that_is_stopped_says_what_was_done(
    steps_of: Callable[..., Any],
    one_run: Callable[..., Lifecycle],
    console: Emulator,
    declared: Any,
) -> None:
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
