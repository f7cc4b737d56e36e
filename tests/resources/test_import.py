"""Import round trips: the command and import blocks, and an empty plan after them."""

from typing import Any

import pytest

from declarations import agent_on, foresee, held, program
from engines import ON_TERRAFORM, Terraform
from opsconsole.emulator import Emulator

WRITES = ("host_import", "host_delete", "agent_create", "agent_update", "plugin_attach")

EXPLAINED = {
    "opsconsole_agent_plugin.disk": "AGENT_ID/PLUGIN_ID",
    "opsconsole_specialty.by_key": "no specialty with the key 'none'",
}
"""Where the provider itself says what is wrong; else Terraform does, and names the address."""


@pytest.fixture
def rows(console: Emulator) -> dict[str, Any]:
    """A host, its agent and a plugin of it, as someone made them in the console."""
    host = console.create(
        "hosts",
        name="web",
        tags=["env:live", "a:b"],
        target_port=22,
        additional_names=["web.example.com"],
    )
    agent = console.create(
        "agents",
        name="keeper",
        status="idle",
        host_id=host["id"],
        specialty_id="spc_linux",
        main_engine="engine-a",
    )
    attached = console.create("attachments", agent_id=agent["id"], plugin_id="plg_disk")
    return {"host": host, "agent": agent, "attachment": attached}


def identities(rows: dict[str, Any]) -> dict[str, str]:
    return {
        "opsconsole_host.web": rows["host"]["id"],
        "opsconsole_agent.keeper": rows["agent"]["id"],
        "opsconsole_agent_plugin.disk": f"{rows['agent']['id']}/plg_disk",
        "opsconsole_specialty.by_id": "spc_linux",
        "opsconsole_specialty.by_key": "key=database",
        "opsconsole_blacklisted_command.format": "blk_format",
    }


def declared(rows: dict[str, Any]) -> dict[str, Any]:
    return program(
        host={"web": {"name": "web", "tags": ["a:b", "env:live"], "target_port": 22}},
        agent={
            "keeper": agent_on("web", "keeper", specialty_id="${opsconsole_specialty.by_id.id}")
        },
        agent_plugin={
            "disk": {"agent_id": "${opsconsole_agent.keeper.id}", "plugin_id": "plg_disk"}
        },
        specialty={"by_id": {"key": "linux-server"}, "by_key": {"key": "database"}},
        blacklisted_command={"format": {"id": "blk_format", "pattern": "mkfs*"}},
    )


def no_writes(console: Emulator) -> None:
    """Check that the console was asked and nothing was changed on it."""
    assert not [
        item["operation"]
        for item in console.requests()
        if item["operation"] in WRITES or (item["operation"].endswith("_update") and item["body"])
    ]


def test_the_import_command(project, console, rows):
    engine = project(declared(rows), console)
    for address, identity in identities(rows).items():
        engine.import_(address, identity)

    check_round_trip(engine, console)


def check_round_trip(engine: Terraform, console: Emulator) -> None:
    """Check that after imports only the agent, never shown, needs an apply, without a call."""
    plan = foresee(engine)
    assert plan.actions == {"opsconsole_agent.keeper": ["update"]}
    assert [warning["summary"] for warning in plan.run.warnings if "address" in warning] == [
        "Not verified: name, host_id, specialty_id, main_engine of the agent "
        + held(engine)["opsconsole_agent.keeper"]["id"]
    ]
    engine.apply(plan.saved)
    engine.plan_run(expect={0})
    engine.plan_run("-refresh-only", expect={0})
    no_writes(console)


@ON_TERRAFORM
def test_import_blocks_that_generate_configuration(project, console, rows):
    blocks = [{"to": address, "id": identity} for address, identity in identities(rows).items()]
    engine = project({"import": blocks}, console)

    plan = foresee(engine, "-generate-config-out=generated.tf")
    assert plan.actions == {address: ["import"] for address in identities(rows)}
    engine.apply(plan.saved)
    engine.plan_run(expect={0})
    engine.plan_run("-refresh-only", expect={0})
    no_writes(console)

    kept = held(engine)
    assert kept["opsconsole_host.web"]["tags"] == ["a:b", "env:live"]
    assert kept["opsconsole_specialty.by_key"]["id"] == "spc_database"
    assert kept["opsconsole_blacklisted_command.format"]["pattern"] == "mkfs*"


@ON_TERRAFORM
def test_import_of_missing_objects_is_refused(project, console):
    wrong = {
        "opsconsole_host.web": "hst_none",
        "opsconsole_agent.keeper": "agt_none",
        "opsconsole_agent_plugin.disk": "agt_none",
        "opsconsole_specialty.by_key": "key=none",
        "opsconsole_blacklisted_command.format": "blk_none",
    }
    blocks = [{"to": address, "id": identity} for address, identity in wrong.items()]
    engine = project({"import": blocks}, console)
    run = engine.plan_run("-generate-config-out=generated.tf", expect={1})
    assert len(run.errors) == len(wrong)
    told = " ".join(error["summary"] + error["detail"] for error in run.errors)
    assert all(address in told for address in wrong if address not in EXPLAINED)
    assert all(words in told for words in EXPLAINED.values())
