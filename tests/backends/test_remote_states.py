"""A stack that refers to another: `terraform_remote_state`, as cdktf writes it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backend_places import Place, http_places, on
from declarations import hosts

REFERENCE = "cross-stack-reference-input-first"
OUTPUT = "cross-stack-output-opsconsole_hosthid"
VALUE = f"${{data.terraform_remote_state.{REFERENCE}.outputs.{OUTPUT}}}"


def first(app: Any, place: Place | Path) -> None:
    """Write a stack with a host whose id the second one refers to."""
    output = {OUTPUT: {"sensitive": True, "value": "${opsconsole_host.h.id}"}}
    output["sizes"] = {"value": "${[toset([2, 1.5]), true]}"}
    app.write("first", place, resource=hosts(h={"name": "jump"}), output=output)


def second(app: Any, place: Place | Path, own: Place | Path, **blocks: Any) -> None:
    """Write the stack that refers to it, with a state of its own beside."""
    data: dict[str, Any] = {"backend": "local", "config": {"path": str(place)}}
    if isinstance(place, Place):
        data = {"backend": place.kind, "config": dict(place.block)}
    if not isinstance(place, Place) or place.has_workspaces:
        data["workspace"] = "${terraform.workspace}"
    blocks.setdefault("resource", hosts(h={"name": "behind", "jump_host_ids": [VALUE]}))
    app.write("second", own, data={"terraform_remote_state": {REFERENCE: data}}, **blocks)


@pytest.fixture
def another_place(kind: str, make_place: Callable[[str], Place]) -> Iterator[Place]:
    """A second place of the kind; a server of the tests keeps one state for http."""
    if kind != "http":
        yield make_place(kind)
        return
    with http_places() as make:
        yield make()


@on("http", "gcs")
def test_every_backend_is_read_by_a_stack_with_a_state_of_the_same_kind(place, another_place, app):
    first(app, place)
    second(app, place, another_place)
    assert 'the stack "first" is not applied yet' in app.run("plan", "--stack=second", expect=1)
    app.run("apply", "-auto-approve", "--stack=first")
    app.run("apply", "-auto-approve", "--stack=second")
    jump, behind = sorted(app.console.rows("hosts"), key=lambda row: row["name"], reverse=True)
    assert behind["jump_host_ids"] == [jump["id"]]
    assert "No changes." in app.run("plan", "--stack=second")
    changed = {"name": "behind", "jump_host_ids": [VALUE], "target_port": 2222}
    second(app, place, another_place, resource=hosts(h=changed))
    app.run("apply", "-auto-approve", "--stack=second")
    assert app.run("drift", "--program")
    for stack in ("second", "first"):
        app.run("destroy", "-auto-approve", f"--stack={stack}")
    assert app.console.rows("hosts") == []


def test_all_commands_go_on_with_a_local_state(app, tmp_path):
    place, own = tmp_path / "first.tfstate", tmp_path / "second.tfstate"
    first(app, place)
    read = f"data.terraform_remote_state.{REFERENCE}"
    behind = {"name": "behind", "jump_host_ids": ["${local.jump}"], "depends_on": [read]}
    shown = {"sizes": f"${{{read}.outputs.sizes}}", "all": f"${{keys({read}.outputs)}}"}
    output = {name: {"value": value} for name, value in shown.items()}
    second(app, place, own, locals={"jump": VALUE}, resource=hosts(h=behind), output=output)
    app.run("apply", "-auto-approve", "--stack=first")
    saved = tmp_path / "saved.plan"
    app.run("plan", "--stack=second", f"-out={saved}", "-preflight")
    app.run("apply", str(saved))
    outputs = json.loads(app.run("output", "-json", "--stack=second"))
    assert outputs["sizes"]["value"] == [[1.5, 2], True]
    assert outputs["sizes"]["type"] == ["tuple", [["set", "number"], "bool"]]
    assert outputs["all"]["value"] == [OUTPUT, "sizes"]
    [held] = json.loads(own.read_text())["resources"]
    dependencies = [f"data.terraform_remote_state.{REFERENCE}"]
    assert (held["type"], held["instances"][0]["dependencies"]) == ("opsconsole_host", dependencies)
    app.run("graph", "--stack=second")
    app.run("destroy", "-auto-approve", "--stack=second")


def test_an_output_that_is_not_there_names_the_stack_or_has_a_default(app, tmp_path):
    place = tmp_path / "first.tfstate"
    app.write("first", place, output={"other": {"value": "x"}})
    second(app, place, tmp_path / "second.tfstate")
    app.run("apply", "-auto-approve", "--stack=first")
    told = app.run("plan", "--stack=second", expect=1)
    assert f'the state of the stack "first" has no output "{OUTPUT}"' in told
    assert "apply first first" in told
    data = {"backend": "local", "config": {"path": str(place)}, "defaults": {"a": 1, "other": "y"}}
    where = "data.terraform_remote_state.f.outputs"
    read = {"terraform_remote_state": {"f": data}}
    output = {"o": {"value": f"${{{where}.other}}-${{{where}.a}}"}}
    app.write("second", tmp_path / "second.tfstate", data=read, output=output)
    app.run("apply", "-auto-approve", "--stack=second")
    assert json.loads(app.run("output", "-json", "--stack=second"))["o"]["value"] == "x-1"


def test_several_states_are_read_by_count_and_for_each(app, tmp_path):
    for name in ("a", "b"):
        app.write(name, tmp_path / f"{name}.tfstate", output={"own": {"value": f"of {name}"}})
        app.run("apply", "-auto-approve", f"--stack={name}")
    where = "data.terraform_remote_state"
    app.write("second", tmp_path / "second.tfstate", **several(tmp_path, "a"))
    app.run("apply", "-auto-approve", "--stack=second")
    found = json.loads(app.run("output", "-json", "--stack=second"))
    assert found["each"]["value"] == "of a"
    assert found["all"]["value"] == {"a": "of a", "b": "of b"}
    assert found["counted"]["value"] == ["of a", "of b"]
    assert found["computed"]["value"] == "of b"
    app.write("second", tmp_path / "second.tfstate", **several(tmp_path, "c"))
    told = app.run("plan", "--stack=second", expect=1)
    assert f"{where}.each has for_each, and no instance 'c'" in told
    broken = {"count": 1, "for_each": ["a"], "backend": "local"}
    app.write("second", Path("x.tfstate"), data={"terraform_remote_state": {"f": broken}})
    assert "count and for_each exclude each other" in app.run("plan", "--stack=second", expect=1)


def several(folder: Path, key: str) -> dict[str, Any]:
    """Return a program that reads the states of two stacks by each of the two ways."""
    where, local = "data.terraform_remote_state", {"backend": "local"}
    by_key = {"path": f"{folder}/${{each.key}}.tfstate"}
    by_index = {"path": "${values(local.files)[count.index]}"}
    blocks = {
        "each": {"for_each": "${toset(keys(local.files))}", "config": by_key, **local},
        "counted": {"count": 2, "config": by_index, **local},
    }
    outputs = {
        "each": f'${{{where}.each["{key}"].outputs.own}}',
        "all": f"${{{{ for key, item in {where}.each : key => item.outputs.own }}}}",
        "counted": f"${{{where}.counted[*].outputs.own}}",
        "computed": f"${{{where}.counted[length(local.files) - 1].outputs.own}}",
    }
    return {
        "locals": {"files": {name: f"{folder}/{name}.tfstate" for name in ("a", "b")}},
        "data": {"terraform_remote_state": blocks},
        "output": {name: {"value": value} for name, value in outputs.items()},
    }


def test_drift_goes_on_where_one_state_cannot_be_read(app, tmp_path):
    place = tmp_path / "first.tfstate"
    first(app, place)
    second(app, place, tmp_path / "second.tfstate")
    app.run("apply", "-auto-approve", "--stack=first")
    app.run("apply", "-auto-approve", "--stack=second")
    (tmp_path / "first.tfstate").write_text("{broken")
    [jump] = [row for row in app.console.rows("hosts") if row["name"] == "behind"]
    app.console.change("hosts", jump["id"], knowledge="changed")
    report = app.folder / "drift.json"
    app.run("drift", "--program", "--format", f"json={report}", expect=None)
    found = json.loads(report.read_text())
    changed = [item["stack"] for item in found["findings"] if item["bucket"] == "changed"]
    assert changed == ["second"]
    assert any("first: its state was not read" in item["summary"] for item in found["diagnostics"])


@pytest.mark.terraform
def test_terraform_reads_several_states_alike(app, tmp_path, terraform):
    for name in ("a", "b"):
        app.write(name, tmp_path / f"{name}.tfstate", output={"own": {"value": f"of {name}"}})
        app.run("apply", "-auto-approve", f"--stack={name}")
    engine = terraform(several(tmp_path, "a"), app.console)
    engine.apply()
    app.write("second", tmp_path / "second.tfstate", **several(tmp_path, "a"))
    app.run("apply", "-auto-approve", "--stack=second")
    native = json.loads(app.run("output", "-json", "--stack=second"))
    assert engine.outputs() == {name: item["value"] for name, item in native.items()}
    # Terraform keeps what it read in its state, where the native engine finds it and leaves it.
    app.write("second", engine.folder / "terraform.tfstate", **several(tmp_path, "a"))
    before = json.loads((engine.folder / "terraform.tfstate").read_text())["resources"]
    assert len(before) == 2
    app.run("apply", "-auto-approve", "--stack=second")
    assert json.loads((engine.folder / "terraform.tfstate").read_text())["resources"] == before


@pytest.mark.terraform
def test_terraform_plans_nothing_after_a_native_apply(app, tmp_path, terraform):
    place = tmp_path / "first.tfstate"
    first(app, place)
    second(app, place, tmp_path / "second.tfstate")
    app.run("apply", "-auto-approve", "--stack=first")
    app.run("apply", "-auto-approve", "--stack=second")
    engine = terraform({}, app.console)
    engine.write(json.loads((app.folder / "cdktf.out/stacks/second/cdk.tf.json").read_text()))
    engine.init("-reconfigure")
    assert engine.plan_run().code == 0
    engine.apply()
    assert "No changes." in app.run("plan", "--stack=second")
