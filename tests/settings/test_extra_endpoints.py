"""What extra endpoints lift, and that deletions by them are confirmed like any other."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from lifecycle_steps import errors
from opsconsole.emulator import Emulator, Profile
from opsconsole.emulator.document import EXTRA
from opsconsole.lifecycle.interface import DeleteRequest, Outcome, RemovalReason
from opsconsole.resources import AGENT, DATA_SOURCES, SPECIALTY
from opsconsole.values import UNKNOWN

READS_ONE = Profile(
    name="reads_one",
    summary="A list stops after one entry, and one specialty can be read.",
    page_size=1,
    extra=frozenset({"specialty_get"}),
    provider_settings={"extra_endpoints": {"specialty_get": EXTRA["specialty_get"]}},
)


async def _made(console: Emulator, steps_of: Callable[..., Any], name: str) -> Outcome:
    if name == "blacklisted_command":
        row = console.create("blacklists", pattern="rm")
        return await steps_of(name).create(id=row["id"])
    if name == "specialty":
        return await steps_of(name).create(key="identity", deletion_policy="delete")
    host = await steps_of("host").create(name=f"web-{len(console.rows('hosts'))}")
    if name == "host":
        return host
    return await steps_of(name).create(host_id=host.state["id"], specialty_id="spc_linux")


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
@pytest.mark.parametrize("deleted", [False, None, "true"])
@pytest.mark.parametrize("name", ["host", "agent", "specialty", "blacklisted_command"])
async def test_a_deletion_that_is_not_confirmed_is_an_error_and_state_stays(
    console, steps_of, name, deleted
):
    made = await _made(console, steps_of, name)
    text = json.dumps({"id": made.state["id"], "deleted": deleted})
    console.fault(method="DELETE", status=200, text=text)

    refused = await steps_of(name).delete(made)

    assert refused.state == made.state
    assert made.state["id"] in refused.diagnostics[0].text.partition("not say deleted: true of")[2]
    if name in ("agent", "blacklisted_command"):
        # An extra deletion may answer with the resource.
        console.fault(method="DELETE", status=200, text=json.dumps({"id": made.state["id"]}))
    assert (await steps_of(name).delete(made)).state is None


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_a_deleted_agent_is_not_named_as_one_that_carries_a_specialty(
    console, steps_of, one_run
):
    specialty = await steps_of("specialty").create(id="spc_linux", deletion_policy="delete")
    agent = await _made(console, steps_of, "agent")
    await _made(console, steps_of, "agent")
    run = one_run()
    await run.lifecycles[AGENT.type_name].delete(DeleteRequest(agent.state))

    refused = await run.lifecycles[SPECIALTY.type_name].delete(DeleteRequest(specialty.state))

    assert agent.state["id"] not in refused.diagnostics[0].text


@pytest.mark.parametrize("profile", [READS_ONE], indirect=True)
async def test_a_declared_specialty_id_is_read_where_that_can_be_done(console, steps_of, one_run):
    specialties = steps_of("specialty")

    adopted = await specialties.create(id="spc_identity")
    absent = await specialties.plan(None, specialties.config(id="spc_none"))
    run = one_run()
    config = DATA_SOURCES["opsconsole_specialty"].empty() | {"id": "spc_identity"}
    shown = await run.read_data("opsconsole_specialty", config)

    assert adopted.state["key"] == shown.state["key"] == "identity"
    assert "There is no specialty" in errors(absent)[0]
    assert set(console.request_counts()) == {"specialty_get"}


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_plugins_that_are_declared_later_are_read_as_they_are(console, steps_of):
    agents = steps_of("agent")
    declared = {"host_id": console.create("hosts", name="web")["id"], "specialty_id": "spc_linux"}
    created = await agents.create(**declared)
    changed = await agents.change(created, **declared, plugin_ids=["plg_disk"])

    read = await agents.read(changed)

    assert (read.state, read.private) == (changed.state, changed.private)
    assert read.state["plugin_ids"] == ["plg_disk"]


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_a_move_to_an_unknown_host_is_doubted(console, steps_of):
    """Unless the engine knows that no deletion of its host takes the agent along."""
    agents = steps_of("agent")
    old = console.create("hosts", name="web")["id"]
    prior = await agents.create(host_id=old, specialty_id="spc_linux")
    moved = agents.config(host_id=UNKNOWN, specialty_id="spc_linux")

    unexplained = await agents.plan(prior, moved, RemovalReason.UNEXPLAINED)
    alone = await agents.plan(prior, moved, RemovalReason.ALONE)

    [told] = unexplained.diagnostics
    assert f"If its host {old} is replaced in this run" in told.text
    assert (alone.diagnostics, alone.requires_replace, unexplained.requires_replace) == ((), (), ())
