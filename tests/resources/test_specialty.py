"""Specialties: found by one search, adopted, and deleted once no agent carries them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from declarations import agent_on, attribute_at, held, program
from engines import ON_TERRAFORM
from lifecycle_steps import created, errors, warnings
from opsconsole.emulator import Emulator
from opsconsole.lifecycle.interface import CreateRequest, DeleteRequest, ReadStatus
from opsconsole.resources.agent.known import KnownAgents
from opsconsole.values import UNKNOWN
from patience import until
from virtual_time import Clock

ADDRESS = "opsconsole_specialty.linux"


def declared(hosts: int = 2, **facts: Any) -> dict[str, Any]:
    """Declare hosts with an agent each, and their specialty, without host → specialty."""
    linux = {"key": "linux-server", "deletion_policy": "delete"} | facts
    of_it = {"specialty_id": f"${{{ADDRESS}.id}}"}
    agents = {f"a{n}": agent_on(f"h{n}", f"a{n}", **of_it) for n in range(hosts)}
    machines = {f"h{n}": {"name": f"h{n}"} for n in range(hosts)}
    return program(specialty={"linux": linux}, host=machines, agent=agents)


def deletes(console: Emulator) -> list[tuple[str, int]]:
    return [
        (item["operation"], item["status"])
        for item in console.requests()
        if item["method"] == "DELETE"
    ]


@ON_TERRAFORM
def test_a_delete_waits_for_the_hosts_of_released_agents(applied, console):
    engine = applied(declared(), console)
    console.fault(method="DELETE", path="/hosts/", hold="before", times=None)

    plan = engine.plan("-destroy")
    assert any("cannot be created again" in item["summary"] for item in plan.run.warnings)
    with ThreadPoolExecutor() as pool:
        destroying = pool.submit(engine.destroy, "-refresh=false")
        until(lambda: destroying.done() or ("specialty_delete", 409) in deletes(console))
        console.clear_faults()
        destroying.result()

    assert ("specialty_delete", 409) in deletes(console)
    assert deletes(console)[-1] == ("specialty_delete", 200)
    assert held(engine) == {}


@ON_TERRAFORM
def test_an_agent_that_stays_keeps_its_specialty(applied, console):
    engine = applied(declared(1), console)
    kept = declared(1)
    del kept["resource"]["opsconsole_specialty"]
    kept["resource"]["opsconsole_agent"]["a0"]["specialty_id"] = "spc_linux"
    [error] = engine.apply(program=kept, expect={1}).errors
    # Terraform shows a provider nothing of what an apply leaves unchanged.
    assert "unchanged in it" in error["detail"] and "request id req_" in error["detail"]
    assert console.request_counts()["specialty_delete"] == 1
    assert ADDRESS in held(engine)


@ON_TERRAFORM
def test_an_adopted_specialty_stays_unless_deletion_is_declared(project, console):
    engine = project(program(specialty={"linux": {"key": "linux-server"}}), console)
    [adopting] = engine.plan_run(expect={2}).warnings
    assert adopting["summary"] == (
        'This takes the specialty "linux-server" (spc_linux) under management; nothing is created'
    )
    engine.apply()
    [leaving] = engine.plan("-destroy").run.warnings
    assert "leaves management; it stays on the console" in leaving["summary"]
    engine.destroy()
    assert console.row("specialties", "spc_linux") is not None
    assert deletes(console) == []


def test_specialty_that_cannot_be_adopted_is_refused(project, console):
    console.create("specialties", id="spc_twice", key="linux-server")
    keys = {"twice": {"key": "linux-server"}, "none": {"key": "no-such"}}
    others = {"renamed": {"key": "database", "name": "Databases"}, "fine": {"id": "spc_linux"}}
    engine = project(program(specialty=keys | others), console)
    run = engine.plan_run(expect={1})
    told = {error["address"].rpartition(".")[2]: error for error in run.errors}
    assert set(told) == {"twice", "none", "renamed"}
    assert attribute_at(engine.folder, told["renamed"]) == "name"
    assert "'Databases'" in told["renamed"]["detail"] and "'Database'" in told["renamed"]["detail"]
    assert "spc_linux" in told["twice"]["detail"] and "spc_twice" in told["twice"]["detail"]
    assert attribute_at(engine.folder, told["none"]) == "key"
    assert console.request_counts()["specialty_search"] == 1


SPECIALTY = "opsconsole_specialty"
AGENT = "opsconsole_agent"
HOST = "opsconsole_host"


async def test_another_specialty_than_was_planned_is_not_adopted(steps_of, console):
    specialties = steps_of("specialty")
    config = specialties.config(key="identity")
    plan = await specialties.plan(None, config)
    console.change("specialties", plan.planned["id"], name="Other")
    request = CreateRequest(config, plan.planned | {"name": "Identity"}, plan.private)
    [changed] = await specialties._run(lambda lifecycle: created(lifecycle, [request]))
    assert "kept another value for name" in errors(changed)[0]

    console.delete("specialties", plan.planned["id"])
    other = console.create("specialties", key="identity", name="Other")
    [refused] = await specialties._run(lambda lifecycle: created(lifecycle, [request]))

    assert refused.state is None
    assert errors(refused) == ['The specialty "identity" (spc_identity) is another object now']
    assert f"adopts spc_identity, the search finds {other['id']}." in refused.diagnostics[0].detail


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_a_specialty_that_can_be_created_is_not_adopted_unless_it_is_there(steps_of, one_run):
    specialties = steps_of("specialty")
    specialties.provider = one_run()
    config = specialties.config(key="new", name="New")
    late = await specialties.plan(None, config | {"key": UNKNOWN})
    plan = await specialties.plan(None, config)
    [by_id] = errors(await specialties.plan(None, specialties.config(id="spc_none")))
    made = await specialties.create(key="new", name="New", deletion_policy="delete")
    again = await specialties.plan(None, config)
    await specialties.change(made, key="new", name="Newer")
    newer = await specialties.plan(None, specialties.config(key="new"))
    await specialties.delete(made)
    after = await specialties.plan(None, config)
    gone = await specialties.read(made)

    assert (late.adopts, plan.adopts, again.adopts, after.adopts) == (False, False, True, False)
    assert (plan.planned["id"], again.planned["id"]) == (UNKNOWN, made.state["id"])
    assert newer.planned["name"] == "Newer"
    assert by_id == "There is no specialty with the id 'spc_none' that this key can see"
    assert (gone.state, gone.status) == (None, ReadStatus.GONE)


@pytest.mark.parametrize("end", ["stop", "host", "abandoned", "timeout"])
async def test_wait_of_a_delete_ends(steps_of, console, one_run, monkeypatch, end):
    hosts, agents, specialties = steps_of("host"), steps_of("agent"), steps_of("specialty")
    web = await hosts.create(name="web", deletion_policy="abandon" if end == "abandoned" else None)
    agent = await agents.create(host_id=web.state["id"], specialty_id="spc_identity")
    timeouts = {"delete": "0m.9s"} if end == "timeout" else None
    policy = {"deletion_policy": "delete", "timeouts": timeouts}
    specialty = await specialties.create(key="identity", **policy)
    run = one_run()
    for name, unlike in (("agt_other", {"specialty_id": "spc_linux"}), ("agt_gone", {})):
        run.lifecycles[AGENT].note_existing(agent.state | {"id": name} | unlike, "")
    run.session.gone_ids["opsconsole_agent"].add("agt_gone")
    await run.lifecycles[AGENT].delete(DeleteRequest(agent.state, agent.private))
    if end == "abandoned":  # and the answer names no agent
        console.fault(operation="specialty_delete", status=409, code="CONFLICT", times=None)

    # Time stands still, so that no delete ends at its own limit of two minutes.
    loop = asyncio.get_running_loop()
    clock = Clock(loop.time())
    monkeypatch.setattr(loop, "time", lambda: clock.now)
    waiting = asyncio.create_task(run.lifecycles[SPECIALTY].delete(DeleteRequest(specialty.state)))
    for _ in range(200):
        await asyncio.sleep(0)
    assert deletes(console)[-1] == ("specialty_delete", 409)
    assert not waiting.done()
    if end == "stop":
        run.stop()
    elif end == "timeout":
        clock.advance(0.9)
    else:
        await run.lifecycles[HOST].delete(DeleteRequest(web.state))
    ended = await waiting

    if end == "host":
        assert (ended.state, ended.diagnostics) == (None, ())
        return
    assert ended.state == specialty.state
    assert errors(ended) == ['An agent still carries the specialty "identity" (spc_identity)']
    known = f"Agents known here that carry it: {agent.state['id']}. Delete their hosts"
    assert ended.diagnostics[0].detail.startswith(known)
    assert "status 409" in ended.diagnostics[0].text


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_knowledge_of_a_specialty_follows_the_writes_of_a_run(steps_of, console, one_run):
    specialties, agents, hosts = steps_of("specialty"), steps_of("agent"), steps_of("host")
    specialties.provider = agents.provider = hosts.provider = one_run()
    kept = await specialties.create(key="network", deletion_policy="delete")
    gone, host = [await hosts.create(name=name) for name in "ab"]
    carriers = [
        await agents.create(name=name, host_id=each.state["id"], specialty_id="spc_network")
        for name, each in (("read", gone), ("archived", gone), ("moves", gone), ("stays", host))
    ]
    ids = [agent.state["id"] for agent in carriers]
    moved = {"name": "moved", "host_id": host.state["id"]}
    specialties.provider.session.singleton(KnownAgents).note_agent(carriers[2].state | moved)
    await hosts.delete(gone)
    console.reset_log()
    assert (await agents.read(carriers[0])).status is ReadStatus.ARCHIVED
    assert console.traffic()["total"] == 0
    console.fault(operation="specialty_delete", status=409, code="CONFLICT")
    [told] = (await specialties.delete(kept)).diagnostics
    assert f'carry it: "moved" ({ids[2]}); "stays" ({ids[3]}). Delete' in told.detail

    # Else the console's details say who carries it.
    details = {"agent_id": ids[3], "more": None}
    console.fault(operation="specialty_delete", status=409, code="CONFLICT", details=details)
    [told] = (await specialties.delete(kept)).diagnostics
    assert '"more": null' in told.text
    assert told.detail.startswith(f'Agents known here that carry it: "stays" ({ids[3]}). ')

    console.delete("agents", ids[3])
    named = await specialties.change(kept, key="network", name="New", deletion_policy="delete")
    again = await specialties.plan(None, specialties.config(key="network"))
    assert named.state["name"] == again.planned["name"] == "New"
    console.fault(kind="reset_after", operation="specialty_delete")
    assert (await specialties.delete(named)).state is None

    # A run that has not met the agent does not wait for it.
    console.reset_log()
    for named, said in ((details, f"The console names {ids[3]}. "), ({}, "No agent ")):
        specialties.provider = one_run()
        console.fault(operation="specialty_delete", status=409, code="CONFLICT", details=named)
        [told] = (await specialties.delete(kept)).diagnostics
        assert told.detail.startswith(said) and "outside this configuration" in told.detail
    assert console.request_counts()["specialty_delete"] == 2


async def test_plans_of_specialties_name_them(steps_of, console, one_run):
    specialties = steps_of("specialty")
    adopted = await specialties.create(key="identity", deletion_policy="delete")
    specialties.provider = one_run()
    specialties.provider.session.command = "tofu"
    adopting = await specialties.plan(None, specialties.config(id="spc_linux"))
    name = 'specialty "linux-server" (spc_linux)'
    assert warnings(adopting) == [f"This takes the {name} under management; nothing is created"]
    for unknown in ({"key": UNKNOWN}, {"id": UNKNOWN}):
        late = await specialties.plan(None, specialties.config(**unknown))
        assert (late.adopts, late.diagnostics) == (True, ())
    [told] = (await specialties.plan(adopted, None)).diagnostics
    assert told.summary.startswith('Once deleted, the specialty "identity"')
    console.fault(kind="reset_after", operation="specialty_delete")
    assert (await specialties.delete(adopted)).state is None, "the list is read again"
    specialties.provider = None
    console.fault(operation="specialty_search", status=403, code="FORBIDDEN")
    [refused] = errors(await specialties.plan(None, specialties.config(key="network")))
    assert refused.startswith('Cannot plan the specialty "network"')


async def test_a_search_that_is_answered_404_does_not_show_a_specialty_as_gone(console, steps_of):
    specialties = steps_of("specialty")
    held = await specialties.create(key="linux-server")
    console.fault(kind="not_found", operation="specialty_search")
    read = await specialties.read(held)
    assert (read.state, read.status) == (held.state, ReadStatus.UNCHECKED)
    assert errors(read) == ['Cannot read the specialty "linux-server" (spc_linux)']
    assert "Check that base_url names the console" in read.diagnostics[0].text


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
    [made] = await created(specialties.provider.lifecycles["opsconsole_specialty"], [request])
    assert made.failed and made.state is None
    assert (await specialties.plan(None, specialties.config(key="never-there"))).failed
    specialties.provider.session.sees_whole_plan = True
    assert (await specialties.plan(None, specialties.config(key="linux-server"))).failed


async def test_fixed_attribute_is_refused_only_once_it_is_known(steps_of):
    specialties = steps_of("specialty")
    prior = await specialties.create(key="database")
    for known in (None, prior):
        plan = await specialties.plan(known, specialties.config(key="database", name=UNKNOWN))
        assert not plan.failed and plan.planned["name"] is UNKNOWN
        plan = await specialties.plan(known, specialties.config(key="database", name="Other"))
        assert [item.path for item in plan.diagnostics] == [("name",)]
    assert plan.diagnostics[0].detail.endswith("name it in extra_endpoints as specialty_update.")


@pytest.mark.parametrize("seen", [True, False])
def test_a_lost_answer_to_the_deletion_of_a_specialty_ends_in_a_destroy(applied, console, seen):
    """A search settles it; where that fails too, the next destroy does."""
    carried = declared(1)
    carried["resource"]["opsconsole_host"]["h0"]["depends_on"] = [ADDRESS]
    engine = applied(carried, console, {"max_retries": 0})
    console.fault(kind="reset_after", operation="specialty_delete")
    if not seen:
        # The refresh and its plan search once.
        console.fault(kind="internal_error", operation="specialty_search", skip=1)
    engine.destroy(expect={0 if seen else 1})
    engine.destroy()
    assert held(engine) == {}
    assert console.row("specialties", "spc_linux") is None
    assert console.rows("hosts") == []
