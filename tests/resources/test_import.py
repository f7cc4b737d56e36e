"""Import round trips: the command and import blocks, and an empty plan after them."""

from typing import Any

import pytest

from declarations import agent_on, held, program
from engines import ON_TERRAFORM, Standin, Terraform
from opsconsole.emulator import Emulator

WRITES = ("host_import", "host_delete", "agent_create", "agent_update", "plugin_attach")


@pytest.fixture
def rows(console: Emulator) -> dict[str, Any]:
    """A host, its agent and a plugin of it, as someone made them in the console."""
    lists = {"tags": ["env:live", "a:b"], "additional_names": ["web.example.com"]}
    host = console.create("hosts", name="web", target_port=22, **lists)
    of_it = {"host_id": host["id"], "specialty_id": "spc_linux", "main_engine": "engine-a"}
    agent = console.create("agents", name="keeper", status="idle", **of_it)
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


def declared() -> dict[str, Any]:
    keeper = agent_on("web", "keeper", specialty_id="${opsconsole_specialty.by_id.id}")
    disk = {"agent_id": "${opsconsole_agent.keeper.id}", "plugin_id": "plg_disk"}
    return program(
        host={"web": {"name": "web", "tags": ["a:b", "env:live"], "target_port": 22}},
        agent={"keeper": keeper},
        agent_plugin={"disk": disk},
        specialty={"by_id": {"key": "linux-server"}, "by_key": {"key": "database"}},
        blacklisted_command={"format": {"id": "blk_format", "pattern": "mkfs*"}},
    )


def no_writes(console: Emulator) -> None:
    """Check that the console was asked and nothing was changed on it."""
    for item in console.requests():
        name = item["operation"]
        assert name not in WRITES and not (name.endswith("_update") and item["body"])


def test_import_command_round_trip(project, console, rows):
    engine = project(declared(), console)
    for address, identity in identities(rows).items():
        engine.import_(address, identity)

    check_round_trip(engine, console)


def check_round_trip(engine: Terraform, console: Emulator) -> None:
    """Check that after imports only the agent, never shown, needs an apply, without a call."""
    plan = engine.plan()
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

    plan = engine.plan("-generate-config-out=generated.tf")
    changes = plan.json["resource_changes"]
    assert {it["address"] for it in changes if "importing" in it["change"]} == {*identities(rows)}
    assert plan.actions == {}
    engine.apply(plan.saved)
    engine.plan_run(expect={0})
    engine.plan_run("-refresh-only", expect={0})
    no_writes(console)

    kept = held(engine)
    assert kept["opsconsole_host.web"]["tags"] == ["a:b", "env:live"]
    assert kept["opsconsole_specialty.by_key"]["id"] == "spc_database"
    assert kept["opsconsole_blacklisted_command.format"]["pattern"] == "mkfs*"


CONFIGS = {
    "opsconsole_host": {"name": "a"},
    "opsconsole_agent": {"host_id": "hst_1", "specialty_id": "spc_linux"},
    "opsconsole_agent_plugin": {"agent_id": "agt_none", "plugin_id": "plg_disk"},
    "opsconsole_specialty": {"key": "no"},
    "opsconsole_blacklisted_command": {"id": "blk_none", "pattern": "x"},
}
MISSING: dict[str, tuple[str, str]] = {
    "opsconsole_host.x": ("hst_none", "There is no host hst_none"),
    "opsconsole_host.blank": (" ", "The import id is emptyUse hst_…."),
    "opsconsole_agent.x": ("agt_none", "There is no agent agt_none"),
    "opsconsole_agent_plugin.x": ("agt_none/plg_disk", "no plugin attachment agt_none/plg_disk"),
    "opsconsole_agent_plugin.unnamed": ("agt_none", "AGENT_ID/PLUGIN_ID"),
    "opsconsole_specialty.x": ("spc_none", "There is no specialty"),
    "opsconsole_specialty.by_key": ("key=none", "no specialty with the key 'none'"),
    "opsconsole_blacklisted_command.x": ("blk_none", "There is no blacklisted command blk_none"),
}


@pytest.mark.parametrize("words", [(), ("-refresh=false",)])
@pytest.mark.parametrize("address", MISSING)
def test_import_of_a_missing_object_is_refused(project, console, address, words):
    identity, said = MISSING[address]
    type_name, name = address.split(".")
    block = {"to": address, "id": identity}
    resources = {"opsconsole_host": {"more": {"name": "more"}}}
    resources |= {type_name: {name: CONFIGS[type_name], **resources.get(type_name, {})}}
    engine = project({"import": [block], "resource": resources}, console)
    run = engine.apply(*words, expect={1})
    if isinstance(engine, Standin) and name == "x":
        assert "more" not in run.text
    told = " ".join(error["summary"] + error["detail"] for error in run.errors)
    # Terraform says in its own words that an object is missing, and names the address.
    explained = isinstance(engine, Standin) or name in ("blank", "unnamed", "by_key")
    assert (said if explained else address) in told
    assert console.rows("hosts") == []
    assert not (engine.folder / "terraform.tfstate").exists() or held(engine) == {}
