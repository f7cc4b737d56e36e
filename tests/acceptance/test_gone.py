"""What was deleted behind Terraform's back is found, and made anew where the API can."""

from typing import Any

from declarations import agent_on, foresee, held, program
from engines import ON_TERRAFORM
from opsconsole.emulator import Emulator


def attachment(agent: str) -> dict[str, Any]:
    return {"agent_id": f"${{opsconsole_agent.{agent}.id}}", "plugin_id": "plg_disk"}


REMAKEABLE = {
    "host": {"gone": {"name": "gone"}, "stays": {"name": "stays"}},
    "agent": {
        "of_gone": agent_on("gone", "of-gone"),
        "gone": agent_on("stays", "gone"),
        "stays": agent_on("stays", "stays"),
    },
    "agent_plugin": {
        "of_gone_host": attachment("of_gone"),
        "of_gone": attachment("gone"),
        "gone": attachment("stays"),
    },
}
ADOPTED = {
    "specialty": {"gone": {"key": "database"}},
    "blacklisted_command": {"gone": {"id": "blk_format"}},
}
GONE = {
    "opsconsole_host.gone",
    "opsconsole_agent.of_gone",
    "opsconsole_agent.gone",
    *(f"opsconsole_agent_plugin.{name}" for name in REMAKEABLE["agent_plugin"]),
}
GONE_FOR_GOOD = {"opsconsole_specialty.gone", "opsconsole_blacklisted_command.gone"}


@ON_TERRAFORM
def test_what_is_gone_is_found_and_made_again(applied, console):
    engine = applied(program(**REMAKEABLE, **ADOPTED), console)
    take_away(held(engine), console)

    console.reset_log()
    found = foresee(engine, "-refresh-only")
    listed = [
        item["path"].split("/")[4]
        for item in console.requests()
        if item["operation"] == "plugin_list"
    ]

    assert found.run.code == 2
    assert found.drift == {item: ["delete"] for item in GONE | GONE_FOR_GOOD}
    state = held(engine)
    assert sorted(listed) == sorted(
        state[f"opsconsole_agent.{name}"]["id"] for name in ("gone", "stays")
    )
    told = {item["summary"] for item in found.run.warnings}
    assert (
        'The host "gone" ({}) is deleted, or not visible to this key'.format(
            state["opsconsole_host.gone"]["id"]
        )
        in told
    )
    assert any("blk_format" in text and "not visible to this key" in text for text in told)

    # An error at plan time would forbid every destroy, which plans like this first.
    warned = engine.plan_run(expect={2})
    said = {item["address"] for item in warned.warnings if "There is no" in item["summary"]}
    assert said == GONE_FOR_GOOD

    engine.write(program(**REMAKEABLE))
    plan = foresee(engine)
    assert plan.actions == {item: ["create"] for item in GONE}
    engine.apply(plan.saved)
    engine.plan_run(expect={0})


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
    found = foresee(engine, "-refresh-only")
    assert found.drift == {
        "opsconsole_agent.orphan": ["delete"],
        "opsconsole_agent_plugin.disk": ["delete"],
    }
    assert console.request_counts() == {"plugin_list": 1}
