"""What a plan says of a deletion and a creation that are one object with another address."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest


def program(prefix: str, **more: Any) -> dict[str, Any]:
    """A jump host, a host behind it with an agent, and a plugin of that agent."""
    jump, web, agent = (f"{prefix}_{name}" for name in ("jump", "web", "agent"))
    return {
        "opsconsole_host": {
            jump: {"name": "jump", "is_jump_host": True},
            web: {
                "name": "web",
                "tags": ["b:2", "a:1"],
                "jump_host_ids": [f"${{opsconsole_host.{jump}.id}}"],
                **more,
            },
        },
        "opsconsole_agent": {
            agent: {
                "name": "agent",
                "host_id": f"${{opsconsole_host.{web}.id}}",
                "specialty_id": "spc_linux",
            }
        },
        "opsconsole_agent_plugin": {
            f"{prefix}_disk": {
                "agent_id": f"${{opsconsole_agent.{agent}.id}}",
                "plugin_id": "plg_disk",
            }
        },
    }


MOVED = [
    {"from": f"opsconsole_{type_name}.old_{name}", "to": f"opsconsole_{type_name}.new_{name}"}
    for type_name, name in (
        ("host", "jump"),
        ("host", "web"),
        ("agent", "agent"),
        ("agent_plugin", "disk"),
    )
]


def begin(native: Any, resources: dict[str, Any]) -> None:
    native.write(resources)
    native.run("apply", "-auto-approve")


def told(native: Any, *words: str) -> str:
    return native.run("plan", "-force", *words, expect=None).text


def test_what_moves_together_is_one_answer_and_is_written(native: Any) -> None:
    begin(native, program("old"))
    native.write(program("new"))
    text = told(native, "-moved")
    assert text.count("looks like a move") + text.count("look like moves") == 1
    assert "4 resources look like moves" in text
    assert "from = opsconsole_agent.old_agent" in text
    assert "Wrote 4 moved blocks to moved.tf.json" in text
    written = json.loads((native.folder / "moved.tf.json").read_text())
    assert written == {"moved": MOVED}
    assert native.actions() == {}
    native.run("apply", "-auto-approve")
    assert "opsconsole_agent_plugin.new_disk" in native.addresses()
    assert "look like" not in told(native)


@pytest.mark.terraform
def test_terraform_takes_what_is_written(native: Any, terraform: Callable[..., Any]) -> None:
    begin(native, program("old"))
    native.write(program("new"))
    told(native, "-moved")
    engine = terraform({"resource": program("new")}, native.console)
    for name in ("moved.tf.json", "terraform.tfstate"):
        shutil.copy(native.folder / name, engine.folder)
    assert engine.plan().actions == {}


def test_the_way_to_say_it_in_python(native: Any) -> None:
    begin(native, {"opsconsole_host": {"old": {"name": "web"}}})
    notes = {"metadata": {"path": "fleet/north/web", "uniqueId": "new"}}
    native.write({"opsconsole_host": {"new": {"name": "web", "//": notes}}})
    text = told(native)
    assert "opsconsole_host.old to opsconsole_host.new looks like a move" in text
    assert "in Python, of fleet/north/web: move_from_id('opsconsole_host.old')" in text
    assert not (native.folder / "moved.tf.json").exists()


@pytest.mark.parametrize(
    "other",
    [{"name": "web-2"}, {"knowledge": "other"}, {"tags": []}, {"deletion_policy": "abandon"}],
    ids=str,
)
def test_what_differs_is_no_move(native: Any, other: dict[str, Any]) -> None:
    first = {"name": "web", "knowledge": "one", "tags": ["a:1"]}
    begin(native, {"opsconsole_host": {"old": first}})
    native.write({"opsconsole_host": {"new": {**first, **other}}})
    text = told(native, "-moved")
    assert "like a move" not in text
    assert "No undeclared move was found" in text


def test_equal_candidates_are_named_and_not_guessed(native: Any) -> None:
    def agents(*names: str) -> dict[str, Any]:
        body = {"host_id": "${opsconsole_host.web.id}", "specialty_id": "spc_linux"}
        return {
            "opsconsole_host": {"web": {"name": "web"}},
            "opsconsole_agent": dict.fromkeys(names, body),
        }

    begin(native, agents("a", "b"))
    native.write(agents("c", "d"))
    text = told(native, "-moved")
    assert "It is unclear which resource moved where" in text
    for name in "abcd":
        assert f"  opsconsole_agent.{name}\n" in text
    assert "looks like a move" not in text
    assert not (native.folder / "moved.tf.json").exists()


def test_instances_move_by_their_keys(native: Any) -> None:
    def hosts(name: str) -> dict[str, Any]:
        keyed = {"for_each": '${toset(["a", "b"])}', "name": "${each.key}"}
        agent = {
            "for_each": '${toset(["a", "b"])}',
            "host_id": f"${{opsconsole_host.{name}[each.key].id}}",
            "specialty_id": "spc_linux",
        }
        return {"opsconsole_host": {name: keyed}, "opsconsole_agent": {f"{name}_agent": agent}}

    begin(native, hosts("old"))
    native.write(hosts("new"))
    assert "4 resources look like moves" in told(native, "-moved")
    written = json.loads((native.folder / "moved.tf.json").read_text())["moved"]
    assert {
        "from": 'opsconsole_agent.old_agent["b"]',
        "to": 'opsconsole_agent.new_agent["b"]',
    } in written
    assert native.actions() == {}


def test_an_adopted_object_is_known_by_its_id(native: Any) -> None:
    key = native.console.rows("specialties")[0]["key"]
    begin(native, {"opsconsole_specialty": {"old": {"key": key}}})
    native.write({"opsconsole_specialty": {"new": {"key": key}}})
    assert "opsconsole_specialty.old to opsconsole_specialty.new looks" in told(native, "-moved")
    assert native.actions() == {}


def test_an_import_of_what_another_address_holds_is_a_move(native: Any) -> None:
    host = native.console.create("hosts", name="web")["id"]
    for name in ("old", "new"):
        native.write(
            {"opsconsole_host": {name: {"name": "web"}}},
            **{"import": [{"to": f"opsconsole_host.{name}", "id": host}]},
        )
        if name == "old":
            native.run("apply", "-auto-approve")
    refused = native.run("plan", "-moved", expect=1)
    assert "are the same host" in refused.text
    assert "opsconsole_host.old to opsconsole_host.new looks like a move" in refused.text
    assert native.actions() == {}


def test_blocks_are_added_to_those_that_are_there(native: Any) -> None:
    begin(native, {"opsconsole_host": {"a": {"name": "web"}}})
    for name in ("b", "c"):
        native.write({"opsconsole_host": {name: {"name": "web"}}})
        told(native, "-moved")
    written = json.loads((native.folder / "moved.tf.json").read_text())["moved"]
    assert [item["to"] for item in written] == ["opsconsole_host.b", "opsconsole_host.c"]
    assert native.actions() == {}


@pytest.mark.parametrize("text", ["[]", "{", '{"moved": 3}'])
def test_a_file_that_is_none_of_moves_is_kept(native: Any, text: str) -> None:
    begin(native, {"opsconsole_host": {"old": {"name": "web"}}})
    native.write({"opsconsole_host": {"new": {"name": "web"}}})
    folder = native.folder / "program"
    folder.mkdir()
    (native.folder / "cdk.tf.json").rename(folder / "cdk.tf.json")
    (folder / "moved.tf.json").write_text(text)
    refused = native.run("plan", "-dir", "program", "-moved", "-force", expect=1)
    assert "moved.tf.json" in refused.text
    assert (folder / "moved.tf.json").read_text() == text
