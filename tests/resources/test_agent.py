"""Agents, which the API can create and never delete."""

import json
from typing import Any

import pytest

from declarations import agent_on, attribute_at, held, program
from engines import ON_TERRAFORM
from opsconsole.diagnostics import Severity
from opsconsole.emulator import Emulator
from opsconsole.errors import NotFound
from opsconsole.lifecycle.interface import DeleteRequest, PlanChange, PlanCreation, RemovalReason
from opsconsole.resources import AGENT

ADDRESS = "opsconsole_agent.keeper"


def declared(**facts: Any) -> dict[str, Any]:
    """Declare two hosts and an agent of the first; `facts` change the agent."""
    agent = agent_on("web", "keeper")
    return program(
        host={"web": {"name": "web"}, "other": {"name": "other"}}, agent={"keeper": agent | facts}
    )


def without_agent() -> dict[str, Any]:
    return program(host=declared()["resource"]["opsconsole_host"])


@ON_TERRAFORM
def test_removed_agent_is_told_to_stay(applied, console):
    engine = applied(declared(), console)
    agent_id = held(engine)[ADDRESS]["id"]
    host_id = held(engine)["opsconsole_host.web"]["id"]

    for left in (without_agent(), {}):
        plan = engine.plan(program=left)
        assert plan.actions[ADDRESS] == ["delete"]
        [told] = plan.run.warned(f'The agent "keeper" ({agent_id}) leaves management')
        assert f"archived only if the host {host_id} is deleted in this run" in told

    console.reset_log()
    run = engine.apply(engine.plan(program=without_agent()).saved)
    assert run.warned(f'The agent "keeper" ({agent_id}) leaves management')
    assert set(console.request_counts()) <= {"plugin_list", "host_update"}
    assert console.row("agents", agent_id)["status"] == "idle"
    assert ADDRESS not in held(engine)


@ON_TERRAFORM
def test_prevent_refuses_every_removal_and_replacement(applied, console):
    kept = {"deletion_policy": "prevent"}
    engine = applied(declared(**kept), console)
    agent_id = held(engine)[ADDRESS]["id"]
    console.reset_log()

    [error] = engine.plan_run(program=declared(**kept, main_engine="engine-b"), expect={1}).errors
    assert attribute_at(engine.folder, error) == "main_engine"
    told = [error]
    told += engine.plan_run(program=without_agent(), expect={1}).errors
    told += engine.plan_run("-destroy", expect={1}).errors
    told += engine.plan_run(f"-replace={ADDRESS}", program=declared(**kept), expect={1}).errors
    assert len(told) == 4
    for error in told:
        assert error["summary"].startswith('The agent "keeper"')
        assert error["summary"].endswith("must not be removed")

    assert "host_delete" not in console.request_counts()
    engine.apply(program=declared())
    engine.destroy()
    assert console.row("agents", agent_id)["status"] == "archived"


@ON_TERRAFORM
def test_a_move_to_another_host_is_refused(applied, console):
    """A replacement that is asked for, or whose new host is not known yet, is let through."""
    engine = applied(declared(), console)
    first = held(engine)[ADDRESS]["id"]

    engine.write(declared(host_id="${opsconsole_host.other.id}"))
    [error] = engine.plan_run(expect={1}).errors
    assert "It would move to another host" in error["detail"]
    assert attribute_at(engine.folder, error) == "host_id"
    engine.write(declared())

    # Terraform keeps a provider's warnings on it to itself until it is applied.
    run = engine.apply(f"-replace={ADDRESS}")
    assert run.warned(f'The agent "keeper" ({first}) leaves management')
    second = held(engine)[ADDRESS]["id"]
    assert {first, second} == {row["id"] for row in console.rows("agents")}

    moved = declared(host_id="${opsconsole_host.new.id}")
    moved["resource"]["opsconsole_host"]["new"] = {"name": "new"}
    plan = engine.plan(program=moved)
    assert plan.actions[ADDRESS] == ["delete", "create"]
    [told] = plan.run.warned("is replaced, because the id of its host is not known yet")
    assert "otherwise both run" in told
    engine.apply(plan.saved)
    third = held(engine)[ADDRESS]

    run = engine.apply(program=declared(deletion_policy="abandon"))
    assert any(third["id"] in item["summary"] for item in run.warnings)
    assert console.row("agents", third["id"])["status"] == "archived"
    engine.plan_run(expect={0})


def test_a_host_that_is_replaced_takes_its_agent_along(applied, console):
    before, after = declared(), declared()
    for number, either in enumerate((before, after)):
        either["resource"]["opsconsole_host"]["web"]["external_id"] = f"ext-{number}"
    engine = applied(before, console)
    old = held(engine)

    plan = engine.plan(program=after)
    replaced = ["delete", "create"]
    assert plan.actions == {"opsconsole_host.web": replaced, ADDRESS: replaced}
    host_id = old["opsconsole_host.web"]["id"]
    summary = f'Replacing the host "web" ({host_id}) archives every agent of it, unmanaged ones too'
    [told] = plan.run.warned(summary)
    assert "external_id" in told
    engine.apply(plan.saved)
    engine.plan_run(expect={0})

    assert console.row("hosts", old["opsconsole_host.web"]["id"]) is None
    assert console.row("agents", old[ADDRESS]["id"])["status"] == "archived"
    new = held(engine)
    assert console.row("agents", new[ADDRESS]["id"])["host_id"] == new["opsconsole_host.web"]["id"]


@pytest.mark.parametrize("profile", ["extended", "archiving"], indirect=True)
def test_extra_endpoints_lift_the_limits(applied, console):
    engine = applied(declared(), console)
    agent_id = held(engine)[ADDRESS]["id"]
    run = engine.apply(program=without_agent())
    assert not run.warned("leaves management")
    row = console.row("agents", agent_id)
    assert row is None or row["status"] == "archived"


async def test_defaults_within_a_credential_are_no_difference(steps_of, console, agent_values):
    entry = {"credential_id": "crd_1", "credential_role": "login"}
    agent_values["credential_config"] = [entry | {"order": None, "is_required": None}]
    agents = steps_of("agent")
    console.fault(operation="agent_create", holds="null", status=400)

    created = await agents.create(**agent_values, plugin_ids=["plg_disk"])
    # The console answers with the agent, whose entry has an order and is_required.
    attached = await agents.change(created, **agent_values, plugin_ids=["plg_disk", "plg_logs"])

    assert (created.diagnostics, attached.diagnostics) == ((), ())
    [kept] = console.rows("agents")
    assert kept["credential_config"] == [entry | {"order": 0, "is_required": False}]
    shown = attached.state | {"credential_config": kept["credential_config"]}
    config = agents.config(**agent_values, plugin_ids=["plg_disk", "plg_logs"])
    for state in (attached.state, shown):
        plan = await agents.plan(attached._replace(state=state), config)
        assert (plan.planned, plan.requires_replace) == (state, ())

    agent_values["credential_config"] = [entry | {"order": 2, "is_required": None}]
    plan = await agents.plan(attached, agents.config(**agent_values, plugin_ids=["plg_disk"]))
    assert [item.path for item in plan.diagnostics] == [("credential_config",)]


async def test_agent_is_looked_up_anew(steps_of, one_run, console, agent_values):
    created = await steps_of("agent").create(**agent_values)
    agents = one_run().lifecycles[AGENT.type_name]

    assert await agents.is_there(created.state["id"])
    console.delete("agents", created.state["id"])
    with pytest.raises(NotFound):
        await agents.is_there(created.state["id"])


@pytest.mark.parametrize("profile", ["default", "archiving"], indirect=True)
async def test_an_agent_that_is_created_archived_stays_in_state_and_is_told(
    steps_of, console, agent_values
):
    agents = steps_of("agent")
    plain = await agents.create(**agent_values)
    text = json.dumps(plain.state | {"status": "archived", "plugin_ids": None})
    console.fault(operation="agent_create", status=200, text=text)
    console.change("agents", plain.state["id"], status="archived")

    created = await agents.create(**agent_values)
    read = await agents.read(created)
    plan = await agents.plan(read, agents.config(**agent_values))

    for outcome in (created, read):
        [told] = outcome.diagnostics
        assert told.severity is Severity.WARNING
        assert "was created archived" in told.summary
    assert read.state == created.state
    assert plan.planned == created.state
    assert not plan.requires_replace
    [replacement] = await agents.create_all(agents.config(**agent_values), replaced=read)
    assert replacement.private == plain.private, "nothing is known yet of a new agent"


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_an_agent_stays_if_its_list_of_plugins_answers_404(steps_of, console):
    host, plugins = console.create("hosts", name="web")["id"], ["plg_disk"]
    agents = steps_of("agent")
    made = await agents.create(host_id=host, specialty_id="spc_linux", plugin_ids=plugins)
    console.fault(kind="not_found", operation="plugin_list")

    read = await agents.read(made)

    assert read.state == made.state
    assert "answers 404 to the list of its plugins" in read.diagnostics[0].detail


async def test_prevent_refuses_a_replacement_that_no_plan_showed(agent_values, steps_of, one_run):
    agents = steps_of("agent")
    prior = await agents.create(**agent_values, deletion_policy="prevent")
    lifecycle = one_run().lifecycles[AGENT.type_name]
    assert lifecycle.describe(None, ADDRESS) == f"agent {ADDRESS}"
    config = agents.config(**agent_values, deletion_policy="prevent")

    [plan] = await lifecycle.plan([PlanCreation(config, prior.private)])
    assert [item.summary for item in plan.diagnostics] == ['The agent "keeper" must not be removed']
    assert "Terraform cannot tell" in plan.diagnostics[0].detail
    outcome = await lifecycle.delete(DeleteRequest(prior.state, prior.private))
    assert outcome.failed and outcome.state == prior.state

    [fresh] = await lifecycle.plan([PlanCreation(config)])
    assert fresh.diagnostics == ()
    for host_id in (config["host_id"], "hst_2"):
        after = config | {"host_id": host_id}
        why = RemovalReason.WITH_OWNER
        goes = PlanChange(prior.state, after, prior.private, why, owner_is_deleted_first=True)
        assert (await lifecycle.plan([goes]))[0].requires_replace == ("host_id",)

    # It holds for the change that drops it.
    changed = prior.state | {"main_engine": "other", "deletion_policy": "abandon"}
    plan = await agents.plan(prior, agents.config(**{n: changed[n] for n in AGENT.names}))
    [told] = plan.diagnostics
    assert (told.path, told.summary[:18]) == (("main_engine",), 'The agent "keeper"')
    assert plan.failed


@pytest.mark.parametrize("shown", ["host_id", "specialty_id", "org_id", "name"])
async def test_an_answer_that_shows_another_agent_is_unsettled(
    console, steps_of, agent_values, shown
):
    """An agent with another host, specialty, org or name is another agent."""
    sent = {"host_id": agent_values["host_id"], "specialty_id": "spc_linux"}
    sent |= {"name": "a", "org_id": "org_main"}
    answer = {"id": "agt_x", **sent, shown: "another"}
    console.fault(operation="agent_create", text=json.dumps(answer))
    assert (await steps_of("agent").create(**sent)).unsettled
    console.fault(operation="agent_create", text=json.dumps({"id": "agt_y"}))
    assert (await steps_of("agent").create(**sent)).state["id"] == "agt_y"
    console.fault(operation="agent_create", text=json.dumps({"id": "agt_z", "main_engine": 5}))
    read = await steps_of("agent").create(**sent)
    assert (read.failed, read.state["id"]) == (False, "agt_z")
    [told] = read.diagnostics
    said = 'The agent "a" (agt_z) was created, but the console\'s answer cannot be read'
    assert told.summary == said
    assert told.detail == "State holds what was declared; a later refresh shows the rest."
    assert told.cause is not None and "holds 5 as main_engine" in told.cause.text
    assert read.state == AGENT.empty() | sent | {"id": "agt_z"}
    assert json.loads(read.private) == {"declared": {}}


async def test_a_created_agent_is_known_despite_another_spelling(
    console, one_run, steps_of, agent_values
):
    """An answer that spells the name otherwise shows the new agent; an older twin does not."""
    # The second "e" of the answer is two characters, a letter and its accent.
    agents = steps_of("agent")
    agents.provider = one_run()
    answer = {"id": "agt_x", "name": "web fil\u0065\u0301", "host_id": agent_values["host_id"]}
    console.fault(operation="agent_create", text=json.dumps(answer))
    made = await agents.create(
        name=" Web  \ufb01l\u00e9 ", host_id=agent_values["host_id"], specialty_id="spc_linux"
    )
    assert not made.failed and made.state["id"] == "agt_x"

    body = {"name": "twin", "host_id": agent_values["host_id"], "specialty_id": "spc_linux"}
    first = await agents.create(**body)
    twin = json.dumps(console.row("agents", first.state["id"]))
    console.fault(operation="agent_create", text=twin)
    assert (await agents.create(**body)).unsettled


def test_the_full_set_of_plugins(applied, console):
    """Null leaves plugins alone; a set keeps them; an attachment beside it is told."""
    of_it, names = {"agent_id": f"${{{ADDRESS}.id}}"}, ("plg_disk", "plg_logs")
    attached = {name: of_it | {"plugin_id": name} for name in names}
    engine = applied(declared(), console)
    agent_id = held(engine)[ADDRESS]["id"]
    console.create("attachments", agent_id=agent_id, plugin_id="plg_backup")
    engine.plan_run(expect={0})

    both = declared(plugin_ids=["plg_disk"])
    both["resource"]["opsconsole_agent_plugin"] = attached
    run = engine.plan_run(program=both, expect={1})
    [error] = run.errors
    assert error["address"] == "opsconsole_agent_plugin.plg_logs"
    assert attribute_at(engine.folder, error) == "plugin_id"
    assert "declares its full set of plugins without plg_logs" in error["summary"]
    assert len(run.warned("is declared twice")) == 1

    engine.apply(program=declared(plugin_ids=["plg_disk", "plg_logs"]))
    engine.plan_run(expect={0})
    assert plugins(console) == ["plg_disk", "plg_logs"]
    engine.apply(program=declared())
    engine.plan_run(expect={0})
    assert plugins(console) == ["plg_disk", "plg_logs"]
    engine.apply(program=declared(plugin_ids=[]))
    assert plugins(console) == []


def plugins(console: Emulator) -> list[str]:
    return sorted(row["plugin_id"] for row in console.rows("attachments"))


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_members_that_the_console_adds_to_an_object_are_no_difference(
    steps_of, console, agent_values
):
    agents = steps_of("agent")
    declared = {"credential_id": "crd_1", "credential_role": "login", "order": 1}
    created = await agents.create(**agent_values | {"credential_config": [declared]})
    for row, kept in ((declared | {"is_required": False}, True), (declared | {"order": 2}, False)):
        console.change("agents", created.state["id"], credential_config=[row])
        read = await agents.read(created)
        assert (read.state == created.state) is kept


@ON_TERRAFORM
@pytest.mark.parametrize("is_gone", [True, False])
def test_agent_leaves_a_host_that_no_state_holds_only_if_the_host_is_gone(
    applied, console, is_gone
):
    engine = applied(declared(), console)
    old = held(engine)[ADDRESS]
    # Some consoles go on listing the plugins of archived agents, so such an agent looks alive.
    console.switch(archived_plugins_status=200)
    engine.run("state", "rm", "opsconsole_host.web")
    if is_gone:
        console.delete("hosts", old["host_id"])
    agent = agent_on("other", "keeper")
    moved = program(host={"other": {"name": "other"}}, agent={"keeper": agent})
    run = engine.plan_run(program=moved, expect={2 if is_gone else 1})
    if not is_gone:
        assert "cannot be replaced while its host stays" in run.text
        return
    engine.apply()
    assert held(engine)[ADDRESS]["id"] != old["id"]
    assert engine.plan_run().code == 0
