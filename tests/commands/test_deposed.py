"""What an interrupted run put aside is deleted by the next run, as Terraform does."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from declarations import host_with_agent, hosts
from engines import Terraform
from opsconsole.lifecycle.writes import unsettled_private
from opsconsole.state import Intent, LocalBackend, open_state, split_deposed
from opsconsole.state.journal import StartingState, StateChanges, encode_records
from opsconsole.state.objects import StateChange
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
    prior = [plan["prior_state"]["values"]["root_module"]["resources"] for plan in plans]
    [keys] = {tuple(sorted(item.get("deposed_key", "") for item in held)) for held in prior}
    assert keys == ("", KEY)
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


def unsettle(deposed: Any, address: str, sent: str = "") -> str:
    """Put the create of the deposed host into state, as unsettled, and return the host's id."""
    with open_state(LocalBackend(deposed.state_file)) as session:
        held = session.state.get(HOST, KEY)
        attributes = held.attributes | {"id": "outcome-unknown/call"}
        private = unsettled_private("created", sent)
        unsettled = held._replace(attributes=attributes, private=private, tainted=True)
        session.state.put(address, unsettled, KEY if address == HOST else "")
    return held.attributes["id"]


@pytest.mark.parametrize(
    ("is_there", "sent", "said"),
    [
        (True, "", "was created by an earlier run"),
        (False, "2020-01-01T00:00:00Z", "was not created by an earlier run"),
        (False, "", "the next apply takes it out of the state. Look it up in the console, and"),
    ],
)
def test_unsettled_deposed_host_is_settled_and_leaves_state(deposed, is_there, sent, said):
    made = unsettle(deposed, HOST, sent)
    if not is_there:
        deposed.console.delete("hosts", made)
    assert said in deposed.run("plan").out
    deposed.run("apply", "-auto-approve")
    assert [row["name"] for row in deposed.console.rows("hosts")] == ["kept"]
    assert "deposed" not in json.dumps(deposed.state)


def test_deposed_host_is_no_outcome_of_another_create(deposed):
    unsettle(deposed, "opsconsole_host.aside")
    said = deposed.run_plan(hosts(kept={}, aside={})).out
    assert "It is not known whether opsconsole_host.aside was created" in said
    assert f"# {HOST} (deposed {KEY}) will be destroyed" in said


def test_deposed_host_is_neither_moved_nor_adopted(deposed):
    deposed.settings |= {"on_existing_host": "adopt", "max_retries": 0}
    deposed.console.fault(operation="host_delete", kind="internal_error", times=None)
    said = deposed.apply(hosts(kept={}, aside={}), expect=1).text
    assert "moved" not in said
    assert f"It is held by {HOST} (deposed {KEY}) in state already" in said
    deposed.console.clear_faults()
    assert "1 added, 0 changed, 1 destroyed" in deposed.run("apply", "-auto-approve").out


def test_deposed_agent_that_must_not_be_removed_can_be_forgotten(native):
    native.apply(host_with_agent(deletion_policy="prevent"))
    address = "opsconsole_agent.a"
    with open_state(LocalBackend(native.state_file)) as session:
        agent = session.state.get(address)
        host_id = agent.attributes["host_id"]
        other = native.console.create("agents", host_id=host_id, specialty_id="spc_linux")
        attributes = agent.attributes | {"id": other["id"]}
        session.state.put(address, agent._replace(attributes=attributes), KEY)
    said = native.run("plan", expect=1).text
    assert f"forget both objects with `opsconsole state rm '{address}'`" in said
    native.run("state", "rm", address)
    native.run("import", address, agent.attributes["id"])
    native.run("apply", "-auto-approve")
    assert len(native.console.rows("agents")) == 2


def test_host_that_a_crashed_run_created_beside_another(native):
    native.apply(hosts(kept={}, aside={}))
    backend = LocalBackend(native.state_file)
    with open_state(backend) as session:
        aside = session.state.get("opsconsole_host.aside")
        made = StateChange("instance", HOST, session.state.object_json("opsconsole_host.aside"))
        session.state.remove("opsconsole_host.aside")
    records = [
        StartingState("crashed", native.state["lineage"], 0, "of another state", False),
        Intent("crashed-1", HOST, "POST /api/v1/hosts/batch", {"verb": "create"}, "now"),
        StateChanges((made._replace(provider=aside.provider),), ("crashed-1",)),
    ]
    backend.journal.write_bytes(encode_records(records))
    native.write(hosts(kept={}))
    created = aside.attributes["id"]
    native.console.change("hosts", created, knowledge="changed")
    [deposed] = native.drift().addresses("changed")
    assert deposed.startswith(f"{HOST} (deposed ")
    kept = native.attributes(HOST)["id"]
    for command in ("state", "fold"), ("plan",):
        backend.journal.write_bytes(encode_records(records))
        said = native.run(*command).text
        # Folding again finds it in the state.
        assert (f"Warning: {HOST} is {kept} in the state" in said) is (command[0] == "state")
    assert f"# {deposed} will be destroyed" in said
    assert "1 to destroy" in said
    assert "1 destroyed" in native.run("apply", "-auto-approve").out
    assert [row["id"] for row in native.console.rows("hosts")] == [kept]
    assert native.run("plan", "-detailed-exitcode").code == 0


@pytest.mark.parametrize(*ROWS["test_names_of_deposed_objects"])
def test_names_of_deposed_objects(text, parts):
    assert [*split_deposed(text)] == parts
