"""Agents and attachments that the console changed by itself, as reading and writing find them."""

import json
from typing import Any

import pytest

from opsconsole.diagnostics import Severity
from opsconsole.emulator import Emulator
from opsconsole.lifecycle.interface import Seen


@pytest.fixture
def declared(console: Emulator) -> dict[str, Any]:
    host = console.create("hosts", name="web")
    return {"name": "keeper", "host_id": host["id"], "specialty_id": "spc_linux"}


async def test_an_attach_that_shows_another_agent_is_an_error_and_state_follows(
    steps_of, console, declared
):
    agents = steps_of("agent")
    created = await agents.create(**declared, plugin_ids=[])
    console.change("agents", created.state["id"], name="renamed")

    updated = await agents.change(created, **declared, plugin_ids=["plg_disk"])

    [told] = updated.diagnostics
    assert told.severity is Severity.ERROR
    assert "kept another value for name" in told.summary
    assert updated.state["name"] == "renamed"
    assert updated.state["plugin_ids"] == ["plg_disk"]


@pytest.mark.parametrize("profile", ["truncated"], indirect=True)
async def test_plugins_that_may_stay_attached_are_reported(steps_of, console, declared):
    agents = steps_of("agent")
    agent = await agents.create(**declared)
    for name in ("disk", "logs", "metrics", "packages", "backup", "legacy"):
        row = {"agent_id": agent.state["id"], "plugin_id": f"plg_{name}"}
        console.create("attachments", **row)

    updated = await agents.change(agent, **declared, plugin_ids=["plg_disk"])

    [told] = updated.diagnostics
    assert told.severity is Severity.WARNING
    assert "Not every plugin" in told.summary


async def test_an_agent_that_a_write_showed_archived_is_gone(steps_of, console, declared):
    agents = steps_of("agent")
    created = await agents.create(**declared)
    text = json.dumps(created.state | {"status": "archived", "plugin_ids": None})
    console.fault(method="POST", path="/plugins$", status=200, text=text)

    updated = await agents.change(created, **declared, plugin_ids=["plg_disk"])
    read = await agents.read(updated)

    assert updated.failed
    assert updated.diagnostics[0].summary.endswith("is archived")
    assert read.state is None
    assert read.seen is Seen.ARCHIVED


@pytest.mark.parametrize("profile", ["default", "archiving"], indirect=True)
async def test_an_agent_that_is_created_archived_stays_in_state_and_is_told(
    steps_of, console, declared
):
    agents = steps_of("agent")
    plain = await agents.create(**declared)
    text = json.dumps(plain.state | {"status": "archived", "plugin_ids": None})
    console.fault(operation="agent_create", status=200, text=text)
    console.change("agents", plain.state["id"], status="archived")

    created = await agents.create(**declared)
    read = await agents.read(created)
    plan = await agents.plan(read, agents.config(**declared))

    for outcome in (created, read):
        [told] = outcome.diagnostics
        assert told.severity is Severity.WARNING
        assert "was created archived" in told.summary
    assert read.state == created.state
    assert plan.planned == created.state
    assert not plan.replace


async def test_an_attach_that_leaves_nothing_in_the_list_is_an_error_with_nothing_in_state(
    steps_of, console, declared
):
    agent = await steps_of("agent").create(**declared)
    text = json.dumps({"id": agent.state["id"], "status": "idle"})
    console.fault(method="POST", path="/plugins$", status=200, text=text)
    attachments = steps_of("agent_plugin")

    lost = await attachments.create(agent_id=agent.state["id"], plugin_id="plg_disk")

    assert lost.state is None
    assert [item.severity for item in lost.diagnostics] == [Severity.ERROR]
    assert "is not attached" in lost.diagnostics[0].summary


@pytest.mark.parametrize("profile", ["truncated"], indirect=True)
async def test_a_refused_detach_is_no_success_where_the_list_shows_only_a_part(
    steps_of, console, declared
):
    agent = await steps_of("agent").create(**declared)
    for name in ("disk", "logs", "metrics", "packages", "backup"):
        row = {"agent_id": agent.state["id"], "plugin_id": f"plg_{name}"}
        console.create("attachments", **row)
    attachments = steps_of("agent_plugin")
    made = await attachments.create(agent_id=agent.state["id"], plugin_id="plg_legacy")
    console.fault(method="DELETE", path="/plugins/", status=404, code="NOT_FOUND")

    kept = await attachments.delete(made)

    assert kept.state == made.state
    assert [item.severity for item in kept.diagnostics] == [Severity.ERROR]


async def test_nothing_is_detached_from_an_agent_that_is_gone(steps_of, console, declared):
    agents, attachments = steps_of("agent"), steps_of("agent_plugin")
    agent = await agents.create(**declared)
    made = await attachments.create(agent_id=agent.state["id"], plugin_id="plg_disk")
    console.delete("agents", agent.state["id"])
    agents.provider = attachments.provider = agents.open()
    assert (await agents.read(agent)).state is None
    console.reset_log()

    removed = await attachments.delete(made)
    await agents.provider.close()

    assert (removed.state, removed.diagnostics) == (None, ())
    assert console.traffic()["total"] == 0


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_an_agent_that_is_shown_stays_though_the_list_of_its_plugins_is_not(
    steps_of, console
):
    host, plugins = console.create("hosts", name="web")["id"], ["plg_disk"]
    agents = steps_of("agent")
    made = await agents.create(host_id=host, specialty_id="spc_linux", plugin_ids=plugins)
    console.fault(kind="not_found", operation="plugin_list")

    read = await agents.read(made)

    assert read.state == made.state
    assert "answers 404 to the list of its plugins" in read.diagnostics[0].detail
