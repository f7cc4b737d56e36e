"""`on_missing`: what was deleted behind Terraform's back is found, and made anew where the API can.

What is missing is warned of or refused.
"""

from typing import Any

import pytest

from declarations import agent_on, held, program
from engines import check_drift
from opsconsole.emulator import Emulator


def attachment(agent: str) -> dict[str, Any]:
    return {"agent_id": f"${{opsconsole_agent.{agent}.id}}", "plugin_id": "plg_disk"}


HOSTS = {name: {"name": name} for name in ("gone", "stays")}
AGENTS = {name: agent_on("stays", name) for name in ("gone", "stays")}
AGENTS["of_gone"] = agent_on("gone", "of-gone")
ON = {"of_gone_host": "of_gone", "of_gone": "gone", "gone": "stays"}
ATTACHMENTS = {name: attachment(agent) for name, agent in ON.items()}
REMAKEABLE = {"host": HOSTS, "agent": AGENTS, "agent_plugin": ATTACHMENTS}
ADOPTED = {
    "specialty": {"gone": {"key": "database"}},
    "blacklisted_command": {"gone": {"id": "blk_format"}},
}
WHOLE = program(**REMAKEABLE, **ADOPTED)
GONE = {
    "opsconsole_host.gone",
    "opsconsole_agent.of_gone",
    "opsconsole_agent.gone",
    *(f"opsconsole_agent_plugin.{name}" for name in REMAKEABLE["agent_plugin"]),
}
GONE_FOR_GOOD = {"opsconsole_specialty.gone", "opsconsole_blacklisted_command.gone"}
HOST = "opsconsole_host.gone"
AWAY = {f"{type_name}.gone" for type_name in WHOLE["resource"]}
"""What was read and is away: what went with the host is not read."""


def take_away(state: dict[str, dict[str, Any]], console: Emulator) -> None:
    """Take the rows out, those of the gone host's agent too: it must not be asked for."""
    console.delete("hosts", state["opsconsole_host.gone"]["id"])
    console.delete("agents", state["opsconsole_agent.gone"]["id"])
    console.delete("attachments", state["opsconsole_agent_plugin.gone"]["id"])
    console.delete("specialties", "spc_database")
    console.delete("blacklists", "blk_format")


def test_an_agent_of_a_host_outside_costs_one_list(applied, console):
    host = console.create("hosts", name="theirs")
    declared = agent_on("none", "orphan") | {"host_id": host["id"]}
    engine = applied(
        program(agent={"orphan": declared}, agent_plugin={"disk": attachment("orphan")}), console
    )
    console.delete("hosts", host["id"])
    console.change("agents", held(engine)["opsconsole_agent.orphan"]["id"], status="archived")

    console.reset_log()
    found = engine.plan("-refresh-only")
    assert found.drift == {
        "opsconsole_agent.orphan": ["delete"],
        "opsconsole_agent_plugin.disk": ["delete"],
    }
    assert console.request_counts() == {"plugin_list": 1}


def test_on_missing_of_every_kind_warns_or_refuses(applied, console):
    engine = applied(WHOLE, console)
    take_away(held(engine), console)

    plan = engine.plan("-refresh-only")
    assert plan.drift == {item: ["delete"] for item in GONE | GONE_FOR_GOOD}
    found = plan.run
    assert {
        item["address"] for item in found.warnings if "not visible to this key" in item["summary"]
    } == AWAY
    for item in found.warnings:
        assert item["address"] not in AWAY or "removed from state" in item["detail"]
    drifted = check_drift(engine.folder, console)
    assert (drifted.code, drifted.addresses("missing")) == (2, AWAY)
    assert all("not visible to this key" in drifted.of(address)["reason"] for address in AWAY)
    said = {item["address"]: item["detail"] for item in found.warnings}
    assert 'on_missing = "error"' in said["opsconsole_agent.gone"]
    # They are not read, so that they have no warning of their own.
    assert "with those of its agents and plugins" in said[HOST]

    engine.settings = {"on_missing": "error"}
    refused = engine.plan_run("-refresh-only", program=WHOLE, expect={1})
    # One error is that of its agent, which Terraform may read after it.
    with_agent = {"opsconsole_agent_plugin.of_gone"}
    assert {item["address"] for item in refused.errors} - with_agent == AWAY
    assert all('on_missing is "error"' in item["detail"] for item in refused.errors)
    assert set(held(engine)) >= AWAY
    # Missing is missing, whatever a refresh would do.
    assert check_drift(engine.folder, console).addresses("missing") == AWAY

    for settings, kept in (
        ({"on_missing": "error", "on_missing_host": "remove"}, AWAY - {HOST}),
        ({"on_missing_host": "error"}, {HOST}),
    ):
        engine.settings = settings
        refused = engine.plan_run("-refresh-only", program=WHOLE, expect={1})
        assert {item["address"] for item in refused.errors} - with_agent == kept
        assert kept <= held(engine).keys()
    assert "request id req_" in refused.errors[0]["detail"]

    engine.settings = {}
    engine.environment["OPSCONSOLE_FORCE"] = "1"  # the native engine asks for it
    plan = engine.plan(program=program(**REMAKEABLE))
    assert plan.actions == {item: ["create"] for item in GONE}
    engine.apply(plan.saved)
    engine.plan_run(expect={0})


@pytest.mark.parametrize("profile", ["blind"], indirect=True)
@pytest.mark.parametrize("choice", ["remove", "error"])
async def test_on_missing_decides_on_a_deletion_answered_404(steps_of, console, choice):
    """Where no read shows whether the object is gone."""
    hosts, specialties = steps_of("host", on_missing_host=choice), steps_of("specialty")
    specialties.settings["on_missing"] = choice
    host = await hosts.create(name="web")
    specialty = await specialties.create(key="database", deletion_policy="delete")
    console.fault(kind="not_found", operation="host_delete")
    console.fault(kind="forbidden", operation="host_update")
    console.switch(has_more="absent", total_count="never")
    console.delete("specialties", "spc_database")
    for steps, made, by in ((hosts, host, "_host"), (specialties, specialty, "")):
        deleted = await steps.delete(made)
        [told] = deleted.diagnostics
        assert "deleted already, or is not visible to this key" in told.summary
        kept = (True, made.state, f'on_missing{by} is "error"')
        left = (False, None, "it cannot be read. It is removed from state.")
        failed, state, said = kept if choice == "error" else left
        assert (deleted.failed, deleted.state) == (failed, state)
        assert said in told.detail
