"""What an interrupted replacement put aside is deleted by the next run, as Terraform does."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from declarations import host_with_agent, hosts
from engines import Terraform
from opsconsole.state import instance_and_key
from opsconsole.state.backend import LocalBackend
from opsconsole.state.opening import open_state
from text_groups import read_rows

ROWS = read_rows(__file__)

KEY = "0badc0de"
HOST = "opsconsole_host.kept"
NEEDS = {"required_providers": {"opsconsole": {"source": "opsconsole/opsconsole"}}}


@pytest.fixture
def deposed(native: Any) -> Any:
    """A folder whose state holds another host beside `kept`, as deposed."""
    native.apply(hosts(kept={}, aside={}))
    with open_state(LocalBackend(native.state_file)) as session:
        held = session.state.get("opsconsole_host.aside")
        session.state.put(HOST, held._replace(create_before_destroy=True), KEY)
        session.state.remove("opsconsole_host.aside")
    native.write(hosts(kept={}), terraform=NEEDS)
    return native


@pytest.fixture
def theirs(terraform: Callable[..., Terraform], deposed: Any) -> Terraform:
    """Terraform in the same folder."""
    engine = terraform({}, deposed.console)
    engine.folder = deposed.folder
    return engine


@pytest.mark.terraform
def test_both_engines_plan_its_deletion_alike(deposed, theirs):
    plans = (deposed.plan(), theirs.plan().json)
    [ours], [other] = (
        [item for item in plan["resource_changes"] if item["change"]["actions"] != ["no-op"]]
        for plan in plans
    )
    assert ours["change"]["actions"] == other["change"]["actions"] == ["delete"]
    assert ours["deposed"] == KEY
    for member in ("address", "deposed", "type", "name", "mode"):
        assert ours[member] == other[member]
    assert ours["change"]["before"]["id"] == other["change"]["before"]["id"]
    assert "left over from a replacement" in deposed.run("plan").out


@pytest.mark.terraform
def test_deposed_object_is_deleted_under_prevent_destroy_after_a_move(deposed, theirs):
    moved = {"name": "kept", "lifecycle": {"prevent_destroy": True}}
    block = {"from": HOST, "to": "opsconsole_host.moved"}
    deposed.apply(hosts(moved=moved), terraform=NEEDS, moved=[block])
    assert [row["name"] for row in deposed.console.rows("hosts")] == ["kept"]
    theirs.plan_run(expect={0})


@pytest.mark.parametrize(
    ("resource", "instance", "said"),
    [
        ({}, {"schema_version": 1}, f"State holds {HOST} (deposed {KEY}) in schema version 1."),
        ({}, {"attributes": {"tags": "x"}}, f"The state holds tags of {HOST} (deposed {KEY}) in a"),
        ({"module": "module.m"}, {}, f"State holds module.m.{HOST} (deposed {KEY}), which is not"),
    ],
)
def test_deposed_object_that_cannot_be_understood_is_left_alone(deposed, resource, instance, said):
    document = deposed.state
    [held] = document["resources"]
    [aside] = [item for item in held["instances"] if "deposed" in item]
    aside |= instance
    if resource:
        held["instances"].remove(aside)
        document["resources"].append({**held, **resource, "instances": [aside]})
    deposed.state_file.write_text(json.dumps(document))
    for command in ("plan",), ("apply", "-auto-approve"):
        assert said in deposed.run(*command, expect=1).text
    assert len(deposed.console.rows("hosts")) == 2


def test_missing_deposed_object_leaves_state(deposed):
    [aside] = [row["id"] for row in deposed.console.rows("hosts") if row["name"] == "aside"]
    deposed.console.delete("hosts", aside)
    deposed.apply(hosts(kept={"knowledge": "has a change of its own"}))
    assert "deposed" not in json.dumps(deposed.state)
    assert deposed.actions() == {}


def test_removed_block_forgets_a_deposed_object(deposed):
    deposed.apply({}, removed=[{"from": HOST, "lifecycle": {"destroy": False}}])
    assert len(deposed.console.rows("hosts")) == 2
    assert deposed.state["resources"] == []


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


@pytest.mark.parametrize(*ROWS["test_names_of_deposed_objects"])
def test_names_of_deposed_objects(text, parts):
    assert [*instance_and_key(text)] == parts
