"""What may become of an agent, which the API can create and never delete."""

from typing import Any

import pytest

from declarations import agent_on, attribute_at, foresee, held, program
from engines import ON_TERRAFORM, Native, Run
from opsconsole.emulator import Emulator
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


def warnings(run: Run, words: str) -> list[str]:
    return [item["detail"] for item in run.warnings if words in item["summary"]]


@ON_TERRAFORM
def test_a_removal_says_what_stays_behind(applied, console):
    engine = applied(declared(), console)
    agent_id = held(engine)[ADDRESS]["id"]
    host_id = held(engine)["opsconsole_host.web"]["id"]

    for left in (without_agent(), {}):
        engine.write(left)
        plan = foresee(engine)
        assert plan.actions[ADDRESS] == ["delete"]
        [told] = warnings(plan.run, f'The agent "keeper" ({agent_id}) leaves management')
        assert f"archived only if the host {host_id} is deleted in this run" in told

    console.reset_log()
    engine.write(without_agent())
    run = engine.apply(foresee(engine).saved)
    assert warnings(run, f'The agent "keeper" ({agent_id}) leaves management')
    assert set(console.request_counts()) <= {"plugin_list", "host_update"}
    assert console.row("agents", agent_id)["status"] == "idle"
    assert ADDRESS not in held(engine)


@ON_TERRAFORM
def test_prevent_refuses_every_removal_and_replacement(applied, console):
    kept = {"deletion_policy": "prevent"}
    engine = applied(declared(**kept), console)
    agent_id = held(engine)[ADDRESS]["id"]
    console.reset_log()

    engine.write(declared(**kept, main_engine="engine-b"))
    [error] = engine.plan_run(expect={1}).errors
    assert attribute_at(engine.folder, error) == "main_engine"
    told = [error]
    engine.write(without_agent())
    told += engine.plan_run(expect={1}).errors
    told += engine.plan_run("-destroy", expect={1}).errors
    engine.write(declared(**kept))
    told += engine.plan_run(f"-replace={ADDRESS}", expect={1}).errors
    assert len(told) == 4
    for error in told:
        assert error["summary"].startswith('The agent "keeper"')
        assert error["summary"].endswith("must not be removed")

    assert "host_delete" not in console.request_counts()
    engine.write(declared())
    engine.apply()
    engine.destroy()
    assert console.row("agents", agent_id)["status"] == "archived"


@ON_TERRAFORM
def test_a_replacement_beside_the_old_one_is_refused_and_where_it_is_let_through(applied, console):
    engine = applied(declared(), console)
    first = held(engine)[ADDRESS]["id"]

    engine.write(declared(host_id="${opsconsole_host.other.id}"))
    [error] = engine.plan_run(expect={1}).errors
    assert "It would move to another host" in error["detail"]
    assert attribute_at(engine.folder, error) == "host_id"
    engine.write(declared())

    # Core keeps a provider's warnings on it to itself until it is applied.
    run = engine.apply(f"-replace={ADDRESS}")
    assert warnings(run, f'The agent "keeper" ({first}) leaves management')
    second = held(engine)[ADDRESS]["id"]
    assert {first, second} == {row["id"] for row in console.rows("agents")}

    engine.write(declared(host_id="${opsconsole_host.new.id}"))
    moved = declared(host_id="${opsconsole_host.new.id}")
    moved["resource"]["opsconsole_host"]["new"] = {"name": "new"}
    engine.write(moved)
    plan = foresee(engine)
    assert plan.actions[ADDRESS] == ["delete", "create"]
    [told] = warnings(plan.run, "is replaced, because the id of its host is not known yet")
    assert "otherwise both run" in told
    engine.apply(plan.saved)
    third = held(engine)[ADDRESS]

    engine.write(declared(deletion_policy="abandon"))
    run = engine.apply()
    assert any(third["id"] in item["summary"] for item in run.warnings)
    assert console.row("agents", third["id"])["status"] == "archived"
    engine.plan_run(expect={0})


def test_a_host_that_is_replaced_takes_its_agent_along(applied, console):
    before, after = declared(), declared()
    for number, either in enumerate((before, after)):
        either["resource"]["opsconsole_host"]["web"]["external_id"] = f"ext-{number}"
    engine = applied(before, console)
    old = held(engine)

    engine.write(after)
    plan = foresee(engine)
    assert plan.actions == {
        "opsconsole_host.web": ["delete", "create"],
        ADDRESS: ["delete", "create"],
    }
    [told] = warnings(plan.run, "archives every agent of it, unmanaged ones too")
    assert "external_id" in told
    engine.apply(plan.saved)
    engine.plan_run(expect={0})

    assert console.row("hosts", old["opsconsole_host.web"]["id"]) is None
    assert console.row("agents", old[ADDRESS]["id"])["status"] == "archived"
    new = held(engine)
    assert console.row("agents", new[ADDRESS]["id"])["host_id"] == new["opsconsole_host.web"]["id"]


@ON_TERRAFORM
def test_a_failed_host_delete_lists_the_agents_it_leaves(applied, console):
    engine = applied(declared(), console)
    state = held(engine)
    console.fault(method="DELETE", path=f"/hosts/{state['opsconsole_host.web']['id']}$", status=409)

    run = engine.destroy(expect={1})

    told = " ".join(error["summary"] + error["detail"] for error in run.errors)
    assert "1 agent of the host" in told and "still run" in told
    assert f"terraform import {ADDRESS} {state[ADDRESS]['id']}" in told.replace(
        "opsconsole_agent.NAME", ADDRESS
    )
    engine.import_(ADDRESS, state[ADDRESS]["id"])
    engine.apply()
    engine.plan_run(expect={0})


def test_the_full_set_of_plugins(applied, console):
    """Null leaves plugins alone; a set keeps them; an attachment beside it is told."""
    attached = {
        name: {"agent_id": f"${{{ADDRESS}.id}}", "plugin_id": name}
        for name in ("plg_disk", "plg_logs")
    }
    engine = applied(declared(), console)
    agent_id = held(engine)[ADDRESS]["id"]
    console.create("attachments", agent_id=agent_id, plugin_id="plg_backup")
    engine.plan_run(expect={0})

    both = declared(plugin_ids=["plg_disk"])
    both["resource"]["opsconsole_agent_plugin"] = attached
    engine.write(both)
    run = engine.plan_run(expect={1})
    [error] = run.errors
    assert error["address"] == "opsconsole_agent_plugin.plg_logs"
    # The native engine points at no line of a program.
    assert attribute_at(engine.folder, error) == ("" if isinstance(engine, Native) else "plugin_id")
    assert "declares its full set of plugins without plg_logs" in error["summary"]
    assert len(warnings(run, "is declared twice")) == 1

    engine.write(declared(plugin_ids=["plg_disk", "plg_logs"]))
    engine.apply()
    engine.plan_run(expect={0})
    assert plugins(console) == ["plg_disk", "plg_logs"]
    engine.write(declared())
    engine.apply()
    engine.plan_run(expect={0})
    assert plugins(console) == ["plg_disk", "plg_logs"]
    engine.write(declared(plugin_ids=[]))
    engine.apply()
    assert plugins(console) == []


def plugins(console: Emulator) -> list[str]:
    return sorted(row["plugin_id"] for row in console.rows("attachments"))


@pytest.mark.parametrize("profile", ["extended", "archiving"])
def test_extra_endpoints_lift_the_limits(profile, applied, console_of):
    console = console_of(profile)
    engine = applied(declared(), console)
    agent_id = held(engine)[ADDRESS]["id"]
    assert {name for name in AGENT.names if held(engine)[ADDRESS][name] is None} <= {
        "deletion_policy",
        "secondary_engine",
        "credential_config",
        "accessible_credential_ids",
        "disabled_rule_ids",
        "plugin_ids",
    }
    engine.write(without_agent())
    run = engine.apply()
    assert not warnings(run, "leaves management")
    row = console.row("agents", agent_id)
    assert row is None or row["status"] == "archived"
