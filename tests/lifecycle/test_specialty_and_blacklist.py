"""Specialties and blacklisted commands through the lifecycle."""

import asyncio

import pytest

from creations import created
from opsconsole.diagnostics import Severity
from opsconsole.lifecycle.interface import CreateRequest, DeleteRequest
from opsconsole.resources import BLACKLISTED_COMMAND
from opsconsole.values import UNKNOWN
from outcomes import errors

SPECIALTY = "opsconsole_specialty"
AGENT = "opsconsole_agent"
HOST = "opsconsole_host"


async def test_another_specialty_than_was_planned_is_not_adopted(steps_of, console):
    specialties = steps_of("specialty")
    config = specialties.config(key="identity")
    plan = await specialties.plan(None, config)
    console.delete("specialties", plan.planned["id"])
    other = console.create("specialties", key="identity", name="Other")
    request = CreateRequest(config, plan.planned, plan.private)

    [refused] = await specialties._run(lambda lifecycle: created(lifecycle, [request]))

    assert refused.state is None
    assert plan.planned["id"] in refused.diagnostics[0].detail
    assert other["id"] in refused.diagnostics[0].detail


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_an_update_answers_for_no_value_that_it_did_not_send(steps_of, console):
    specialties = steps_of("specialty")
    adopted = await specialties.create(key="identity", description="who may")
    console.change("specialties", adopted.state["id"], prompt="a stranger's")

    updated = await specialties.change(adopted, key="identity", description="who may not")

    assert not updated.diagnostics
    assert updated.state["description"] == "who may not"


async def test_an_update_of_a_row_answers_for_no_value_that_it_did_not_send(steps_of, console):
    rows = steps_of("blacklisted_command")
    adopted = await rows.create(id="blk_format", pattern="mkfs.*")
    console.change("blacklists", "blk_format", description="a stranger's")

    updated = await rows.change(adopted, id="blk_format", pattern="mkfs")

    assert not updated.diagnostics
    assert updated.state["pattern"] == "mkfs"


async def test_a_stop_ends_the_wait_of_a_delete(steps_of, one_run):
    hosts, agents, specialties = steps_of("host"), steps_of("agent"), steps_of("specialty")
    web = await hosts.create(name="web")
    agent = await agents.create(host_id=web.state["id"], specialty_id="spc_identity")
    specialty = await specialties.create(key="identity", deletion_policy="delete")
    run = one_run()
    await run.resources[AGENT].delete(DeleteRequest(agent.state, agent.private))

    waiting = asyncio.create_task(run.resources[SPECIALTY].delete(DeleteRequest(specialty.state)))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    run.stop()
    async with asyncio.timeout(60):  # the delete itself would wait for two minutes
        refused = await waiting

    assert refused.state == specialty.state
    assert "still carries" in errors(refused)[0]


async def test_a_delete_does_not_wait_for_a_host_that_is_abandoned(steps_of, one_run):
    hosts, agents, specialties = steps_of("host"), steps_of("agent"), steps_of("specialty")
    web = await hosts.create(name="web", deletion_policy="abandon")
    agent = await agents.create(host_id=web.state["id"], specialty_id="spc_identity")
    specialty = await specialties.create(key="identity", deletion_policy="delete")
    run = one_run()
    await run.resources[AGENT].delete(DeleteRequest(agent.state, agent.private))
    await run.resources[HOST].delete(DeleteRequest(web.state))

    async with asyncio.timeout(5):
        refused = await run.resources[SPECIALTY].delete(DeleteRequest(specialty.state))

    assert "still carries" in errors(refused)[0]
    assert agent.state["id"] in refused.diagnostics[0].detail


async def test_a_scope_that_was_refused_only_at_the_second_try_is_read(steps_of, console):
    rows = steps_of("blacklisted_command", max_retries=1)
    created = await rows.create(id="blk_format")
    console.fault(kind="reset_after", operation="blacklist_update")
    console.fault(kind="forbidden", operation="blacklist_update")

    changed = await rows.change(created, id="blk_format", tenant_wide=True)

    assert not changed.failed
    assert changed.state["org_id"] is None


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({}, ("leaves the row as it is", "pattern: 'rm -rf' → 'rm -rf'")),
        ({"pattern": "rm"}, ("changes a row", "pattern: 'rm -rf' → 'rm'")),
        ({"description": "why"}, ("changes a row", "description: null → 'why'")),
    ],
)
async def test_planning_an_adoption_says_what_it_does(steps_of, console, declared, said):
    document = {"document_id": "doc_1", "org_id": "org_main"}
    row = console.create("blacklists", pattern="rm -rf", **document)
    rows = steps_of("blacklisted_command")

    plan = await rows.plan(None, rows.config(id=row["id"], **declared))

    [told] = plan.diagnostics
    assert told.severity is Severity.WARNING
    assert said[0] in told.summary
    assert said[1] in told.detail
    assert "doc_1" in told.detail


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
@pytest.mark.parametrize(
    ("declared", "org_id", "tenant_wide"),
    [
        ({}, UNKNOWN, UNKNOWN),
        ({"org_id": "org_lab"}, "org_lab", False),
        ({"org_id": UNKNOWN}, UNKNOWN, UNKNOWN),
        ({"tenant_wide": True}, None, True),
    ],
)
async def test_the_scope_of_a_row_to_be_created(steps_of, declared, org_id, tenant_wide):
    rows = steps_of("blacklisted_command")

    plan = await rows.plan(None, rows.config(pattern="rm -rf", **declared))

    assert not plan.failed
    assert (plan.planned["org_id"], plan.planned["tenant_wide"]) == (org_id, tenant_wide)


@pytest.mark.parametrize(
    ("row", "declared", "scope"),
    [
        ("format", {}, ("org_main", False)),
        ("wipe", {}, (None, True)),
        ("format", {"tenant_wide": True}, (None, True)),
        ("wipe", {"org_id": "org_lab"}, ("org_lab", False)),
        ("format", {"tenant_wide": False}, ("org_main", False)),
        ("wipe", {"org_id": UNKNOWN}, (UNKNOWN, UNKNOWN)),
        ("wipe", {"org_id": UNKNOWN, "tenant_wide": False}, (UNKNOWN, False)),
        ("wipe", {"tenant_wide": UNKNOWN}, (UNKNOWN, UNKNOWN)),
        ("wipe", {"org_id": "org_lab", "tenant_wide": UNKNOWN}, ("org_lab", UNKNOWN)),
    ],
)
async def test_the_scope_of_a_row_that_is_adopted(steps_of, row, declared, scope):
    rows = steps_of("blacklisted_command")

    plan = await rows.plan(None, rows.config(id=f"blk_{row}", **declared))

    assert not plan.failed
    assert (plan.planned["org_id"], plan.planned["tenant_wide"]) == scope


async def test_a_row_leaves_the_tenant_for_a_named_org_only(steps_of):
    rows = steps_of("blacklisted_command")

    plan = await rows.plan(None, rows.config(id="blk_wipe", tenant_wide=False))

    assert [item.path for item in plan.diagnostics if item.severity is Severity.ERROR] == [
        ("tenant_wide",)
    ]
    assert (plan.planned["org_id"], plan.planned["tenant_wide"]) == (None, False)


@pytest.mark.parametrize("org_id", [None, UNKNOWN])
def test_a_scope_that_is_not_known_yet_is_not_called_wrong(org_id):
    config = BLACKLISTED_COMMAND.empty() | {"id": "blk_1", "tenant_wide": True, "org_id": org_id}

    assert BLACKLISTED_COMMAND.problems(config) == []
    assert BLACKLISTED_COMMAND.problems(config | {"org_id": "org_main"}) != []
