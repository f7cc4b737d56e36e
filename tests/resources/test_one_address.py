"""One object of the console has one address, wherever a second one would come to be."""

import json
from typing import Any

import pytest

from declarations import hosts

HOST = "opsconsole_host"


def one_host(native: Any) -> str:
    native.apply({HOST: {"a": {"name": "a"}}})
    return native.attributes(f"{HOST}.a")["id"]


def both(native: Any, provider: str = "opsconsole", **blocks: Any) -> None:
    """Declare the host at two addresses, `b` under this provider."""
    hosts = {"a": {"name": "a"}, "b": {"name": "a", "provider": provider}}
    blocks |= {"provider": {"opsconsole": [native.settings, {"alias": "other"}]}}
    native.write({HOST: hosts}, **blocks)


def refused(text: str, host_id: str) -> None:
    """Both addresses, the object and a way out are named."""
    assert f"{HOST}.a" in text and f"{HOST}.b" in text
    assert host_id in text
    assert "opsconsole state rm" in text


@pytest.mark.parametrize("provider", ["opsconsole", "opsconsole.other"])
def test_an_import_of_what_another_address_holds(native, provider):
    host_id = one_host(native)
    both(native, provider)
    refused(native.run("import", f"{HOST}.b", host_id, expect=1).err, host_id)
    assert native.addresses() == [f"{HOST}.a"]


@pytest.mark.parametrize(
    ("held", "moved", "imported"),
    [(True, False, "b"), (False, False, "ab"), (True, True, "a")],
    ids=["held by another", "two blocks", "a moved block makes room"],
)
def test_import_blocks_of_one_object(native, held, moved, imported):
    host_id = one_host(native)
    if not held:
        native.run("state", "rm", f"{HOST}.a")
    blocks: dict[str, Any] = {"import": [{"to": f"{HOST}.{n}", "id": host_id} for n in imported]}
    if moved:
        blocks["moved"] = [{"from": f"{HOST}.a", "to": f"{HOST}.b"}]
    both(native, **blocks)
    refused(native.run("apply", "-auto-approve", expect=1).text, host_id)
    assert native.addresses() == [f"{HOST}.a"] * held


def test_two_declarations_that_adopt_one_object(native):
    result = native.apply(
        {"opsconsole_specialty": {"a": {"key": "linux-server"}, "b": {"key": "linux-server"}}},
        expect=1,
    )
    assert "opsconsole_specialty.a and opsconsole_specialty.b are the same" in result.text
    assert "  with opsconsole_specialty.b\n" in result.text
    assert not native.state_file.exists() or native.addresses() == []

    rows = {"a": {"id": "blk_format"}}
    native.apply({"opsconsole_blacklisted_command": rows})
    result = native.run_plan({"opsconsole_blacklisted_command": rows | {"b": rows["a"]}}, expect=1)
    assert "opsconsole_blacklisted_command.b" in result.text
    assert "opsconsole_blacklisted_command.a" in result.text


@pytest.mark.parametrize("forgotten", [False, True])
def test_what_is_only_released_may_be_taken_by_another_address(native, forgotten):
    specialty, command = "opsconsole_specialty", "opsconsole_blacklisted_command"
    row = {"id": "blk_format"}
    native.apply({specialty: {"a": {"key": "linux-server"}}, command: {"a": row}})
    taken = {specialty: {"b": {"key": "linux-server"}}, command: {"b": row}}
    kept = {"lifecycle": {"destroy": False}}
    removed = {"removed": [{"from": f"{kind}.a", **kept} for kind in taken if forgotten]}
    native.write(taken, **removed)
    refused = native.run("apply", "-auto-approve", f"-target={specialty}.b", expect=1).text
    assert f"{specialty}.a and {specialty}.b are the same" in refused
    native.apply(taken, **removed)
    assert native.addresses() == [f"{command}.b", f"{specialty}.b"]
    assert native.actions() == {}


def test_what_is_deleted_may_not_be_taken(native):
    deleted = {"key": "linux-server", "deletion_policy": "delete"}
    native.apply({"opsconsole_specialty": {"a": deleted}})
    refused = native.run_plan({"opsconsole_specialty": {"b": deleted}}, expect=1).text
    assert "opsconsole_specialty.a and opsconsole_specialty.b are the same" in refused


def test_what_is_forgotten_may_be_imported_again(native):
    host_id = one_host(native)
    forget = {"from": f"{HOST}.a", "lifecycle": {"destroy": False}}
    imported = {"to": f"{HOST}.b", "id": host_id}
    native.write({HOST: {"b": {"name": "a"}}}, **{"removed": [forget], "import": [imported]})
    native.run("apply", "-auto-approve")
    assert native.addresses() == [f"{HOST}.b"]
    assert native.attributes(f"{HOST}.b")["id"] == host_id


def test_a_late_key_of_a_specialty_that_is_held_is_refused(native):
    keys = {"a": "linux-server", "b": "${data.opsconsole_specialty.late.key}"}
    specialties = {"opsconsole_specialty": {name: {"key": key} for name, key in keys.items()}}
    late = {"late": {"id": "spc_linux", "depends_on": [f"{HOST}.a"]}}
    declared, data = hosts("a") | specialties, {"opsconsole_specialty": late}
    result = native.apply(declared, expect=1, data=data)
    held = "opsconsole_specialty.a" in native.addresses()
    first, second = ("a", "b") if held else ("b", "a")
    assert f"opsconsole_specialty.{first} holds the specialty spc_linux already" in result.text
    assert f"opsconsole_specialty.{second}" not in native.addresses()


def test_an_adopted_host_that_state_holds(native):
    native.settings["on_existing_host"] = "adopt"
    host_id = one_host(native)
    both(native)
    result = native.run("apply", "-auto-approve", expect=1)
    assert host_id in result.text and f"{HOST}.a in state" in result.text
    assert "an id that another host holds" in result.text
    assert native.addresses() == [f"{HOST}.a"]


def test_a_state_that_holds_it_twice_deletes_nothing_and_has_a_way_out(native):
    """Older releases let such a state come to be."""
    host_id = one_host(native)
    state = native.state
    state["resources"].append({**state["resources"][0], "name": "b"})
    state["serial"] += 1
    native.state_file.write_text(json.dumps(state))
    for words in (("apply", "-auto-approve"), ("destroy", "-auto-approve"), ("plan",)):
        refused(native.run(*words, expect=1).text, host_id)
    native.run("state", "rm", f"{HOST}.b")
    assert native.actions() == {}
    assert native.console.row("hosts", host_id) is not None
