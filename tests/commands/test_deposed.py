"""What an interrupted replacement put aside is deleted by the next run, as Terraform does."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from declarations import host_with_agent
from engines import Standin, Terraform
from opsconsole.emulator import Emulator
from opsconsole.state import RunOptions, instance_and_key
from opsconsole.state.opening import backend_for, open_state
from text_groups import read_rows

ROWS = read_rows(__file__)

KEY = "0badc0de"
HOST = "opsconsole_host.kept"


@pytest.fixture
def engines(
    terraform: Callable[..., Terraform], console_of: Callable[[str], Emulator]
) -> tuple[Standin, Terraform, Emulator]:
    """Both engines in one folder, on a console: beside a host waits another one, as deposed."""
    console = console_of("default")
    theirs = terraform(hosts("kept", "aside"), console)
    ours = Standin(theirs.folder, theirs.environment)
    ours.settings = theirs.settings
    ours.apply()
    with open_state(backend_for(None, RunOptions(ours.folder))) as session:
        held = session.state.get("opsconsole_host.aside")
        assert held is not None
        session.state.put(HOST, held._replace(create_before_destroy=True), KEY)
        session.state.remove("opsconsole_host.aside")
    ours.write(hosts("kept"))
    return ours, theirs, console


def hosts(*names: str, **more: Any) -> dict[str, Any]:
    return {"resource": {"opsconsole_host": {name: {"name": name, **more} for name in names}}}


@pytest.mark.terraform
def test_both_engines_plan_its_deletion_alike(engines):
    plans = [engine.plan().json["resource_changes"] for engine in engines[:2]]
    [ours], [theirs] = (
        [item for item in plan if item["change"]["actions"] != ["no-op"]] for plan in plans
    )
    assert ours["change"]["actions"] == theirs["change"]["actions"] == ["delete"]
    assert ours["deposed"] == KEY
    for member in ("address", "deposed", "type", "name", "mode"):
        assert ours[member] == theirs[member]
    assert ours["change"]["before"]["id"] == theirs["change"]["before"]["id"]
    assert "left over from a replacement" in engines[0].run("plan").out


@pytest.mark.terraform
def test_deposed_object_is_deleted_under_prevent_destroy_after_a_move(engines):
    ours, theirs, console = engines
    program = hosts("moved", lifecycle={"prevent_destroy": True})
    program["resource"]["opsconsole_host"]["moved"]["name"] = "kept"
    program["moved"] = [{"from": HOST, "to": "opsconsole_host.moved"}]
    ours.apply(program=program)
    assert [row["name"] for row in console.rows("hosts")] == ["kept"]
    theirs.plan_run(expect={0})


@pytest.mark.terraform
def test_missing_deposed_object_leaves_state(engines):
    ours, _, console = engines
    [aside] = [row["id"] for row in console.rows("hosts") if row["name"] == "aside"]
    console.delete("hosts", aside)
    ours.apply(program=hosts("kept", knowledge="has a change of its own"))
    assert "deposed" not in json.dumps(ours.state())
    ours.plan_run(expect={0})


@pytest.mark.terraform
def test_removed_block_forgets_a_deposed_object(engines):
    ours, _, console = engines
    ours.apply(program={"removed": [{"from": HOST, "lifecycle": {"destroy": False}}]})
    assert len(console.rows("hosts")) == 2
    assert ours.state()["resources"] == []


def test_unsettled_replacement_keeps_the_deposed_object(native):
    fields = {"deletion_policy": "abandon", "lifecycle": {"create_before_destroy": True}}
    native.apply(host_with_agent(**fields))
    old = native.attributes("opsconsole_agent.a")["id"]
    native.console.fault(kind="request_timeout", operation="agent_create")
    native.apply(host_with_agent(**fields | {"name": "newer"}), expect=1)
    refused = native.run("import", "opsconsole_agent.a", old, expect=1).text
    assert f") holds the agent {old} already" in refused
    assert "Import the object that was created in its place." in refused
    for options, verb in (["-dry-run"], "Would remove"), ([], "Removed"):
        said = native.run("state", "rm", *options, "opsconsole_agent.a").out
        assert f"{verb} opsconsole_agent.a\nKept opsconsole_agent.a (deposed " in said
    applied = native.run("apply", "-auto-approve").out
    assert "1 added, 0 changed, 1 destroyed" in applied
    assert native.run("plan", "-detailed-exitcode").code == 0


@pytest.mark.parametrize(("text", "parts"), ROWS["test_names_of_deposed_objects"])
def test_names_of_deposed_objects(text, parts):
    assert [*instance_and_key(text)] == parts
