"""What an interrupted replacement put aside is deleted by the next run, as Terraform does."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from declarations import host_with_agent
from engines import Terraform
from opsconsole.emulator import serve
from opsconsole.reports import plan_json, plan_text
from opsconsole.state import RunOptions, deposed_name, instance_and_key
from opsconsole.state.opening import backend_for, open_state
from text_groups import read_rows
from worlds import World

ROWS = read_rows(__file__)

KEY = "0badc0de"
HOST = "opsconsole_host.kept"
NAME = deposed_name(HOST, KEY)


@pytest.fixture
def world(terraform: Callable[..., Terraform]) -> Iterator[World]:
    """A host with another one that waits beside it under a deposed key."""
    with serve() as console:
        world = World(console, terraform({}, console))
        world.write(hosts("kept", "aside"))
        world.native_apply()
        with open_state(backend_for(None, RunOptions(world.folder))) as session:
            held = session.state.get("opsconsole_host.aside")
            assert held is not None
            session.state.put(HOST, held._replace(create_before_destroy=True), KEY)
            session.state.remove("opsconsole_host.aside")
        world.write(hosts("kept"))
        yield world


def hosts(*names: str, **more: Any) -> dict[str, Any]:
    return {"resource": {"opsconsole_host": {name: {"name": name, **more} for name in names}}}


@pytest.mark.terraform
def test_both_engines_plan_its_deletion_alike(world):
    plan = world.native_plan()
    assert [(item.address, item.action.value) for item in plan.acting()] == [(NAME, "delete")]
    [ours] = [
        item
        for item in plan_json.document(plan)["resource_changes"]
        if item["change"]["actions"] != ["no-op"]
    ]
    [theirs] = [
        item
        for item in world.terraform.plan().json["resource_changes"]
        if item["change"]["actions"] != ["no-op"]
    ]
    for member in ("address", "deposed", "type", "name", "mode"):
        assert ours[member] == theirs[member]
    assert ours["change"]["before"]["id"] == theirs["change"]["before"]["id"]
    assert "left over from a replacement" in plan_text.render(plan)


@pytest.mark.terraform
def test_deposed_object_is_deleted_under_prevent_destroy_after_a_move(world):
    program = hosts("moved", lifecycle={"prevent_destroy": True})
    program["resource"]["opsconsole_host"]["moved"]["name"] = "kept"
    program["moved"] = [{"from": HOST, "to": "opsconsole_host.moved"}]
    world.write(program)
    world.native_apply()
    assert [row["name"] for row in world.console.rows("hosts")] == ["kept"]
    assert world.terraform.plan_run().code == 0


@pytest.mark.terraform
def test_missing_deposed_object_leaves_state(world):
    row = world.find("hosts", "aside")
    assert row is not None
    world.console.delete("hosts", row["id"])
    world.write(hosts("kept", knowledge="has a change of its own"))
    world.native_apply()
    with open_state(backend_for(None, RunOptions(world.folder))) as session:
        assert session.state.deposed_keys(HOST) == ()
    assert world.native_plan().empty


@pytest.mark.terraform
def test_removed_block_forgets_a_deposed_object(world):
    world.write({"removed": [{"from": HOST, "lifecycle": {"destroy": False}}]})
    world.native_apply()
    assert len(world.console.rows("hosts")) == 2
    assert world.normalised_state() == {}


def test_removing_an_unsettled_create_keeps_the_deposed_object(native):
    fields = {"deletion_policy": "abandon", "lifecycle": {"create_before_destroy": True}}
    native.write(host_with_agent(**fields))
    native.run("apply", "-auto-approve")
    native.console.fault(kind="request_timeout", operation="agent_create")
    native.write(host_with_agent(**fields | {"name": "newer"}))
    native.run("apply", "-auto-approve", expect=1)
    for options, verb in (["-dry-run"], "Would remove"), ([], "Removed"):
        said = native.run("state", "rm", *options, "opsconsole_agent.a").out
        assert f"{verb} opsconsole_agent.a\nKept opsconsole_agent.a (deposed " in said
    applied = native.run("apply", "-auto-approve").out
    assert "1 added, 0 changed, 1 destroyed" in applied
    assert native.run("plan", "-detailed-exitcode").code == 0


@pytest.mark.parametrize(("text", "parts"), ROWS["test_names_of_deposed_objects"])
def test_names_of_deposed_objects(text, parts):
    assert [*instance_and_key(text)] == parts
