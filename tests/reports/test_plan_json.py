"""A plan in Terraform's JSON plan format, judged by Terraform's own."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engines import Terraform
from opsconsole import resources
from opsconsole.address import FULL_ADDRESS
from opsconsole.language import load_directory
from opsconsole.reconcile.plan import Action, Change, Drift, OutputChange, Plan
from opsconsole.reports import plan_json
from opsconsole.values import UNKNOWN

BUILTIN = "terraform.io/builtin/terraform"
PROGRAM = Path(__file__).with_suffix(".tf").read_text()
MOVED = """
moved {
  from = terraform_data.older
  to   = terraform_data.newer
}
"""


def change_of(plan: Plan, action: Action, type_name: str = "opsconsole_host") -> Change:
    return next(
        change
        for change in plan.changes
        if change.action is action and change.type_name == type_name
    )


def test_head(plan):
    found = plan_json.document(plan, timestamp="2026-03-01T02:00:00Z")
    assert found["format_version"] == "1.2"
    assert found["timestamp"] == "2026-03-01T02:00:00Z"
    assert (found["applyable"], found["complete"], found["errored"]) == (True, True, False)
    assert len(found["resource_changes"]) == len(plan.changes)
    assert len(found["resource_drift"]) == 2


def test_replacement(plan):
    found = plan_json.resource_change(change_of(plan, Action.REPLACE))
    assert found["change"]["actions"] == ["delete", "create"]
    assert found["change"]["replace_paths"] == [["mac"]]
    assert found["action_reason"] == "replace_because_cannot_update"
    assert found["change"]["after_unknown"] == {
        "id": True,
        "created_at": True,
        "updated_at": True,
        "jump_host_ids": [False],
        "tags": [False, False, False],
    }
    assert "id" not in found["change"]["after"]
    first = plan_json.resource_change(replace(change_of(plan, Action.REPLACE), create_first=True))
    assert first["change"]["actions"] == ["create", "delete"]


def test_import_move_cascade_and_index(plan):
    document = plan_json.document(plan)
    changes = {item["address"]: item for item in document["resource_changes"]}
    imported = changes["opsconsole_blacklisted_command.row[0]"]
    assert imported["change"]["importing"] == {"id": "blk_0"}
    assert imported["index"] == 0
    refreshed = document["prior_state"]["values"]["root_module"]["resources"]
    assert imported["address"] in [item["address"] for item in refreshed]
    moved = changes["opsconsole_blacklisted_command.row[1]"]
    assert moved["previous_address"] == "opsconsole_blacklisted_command.old"
    assert moved["change"]["actions"] == ["no-op"]
    gone = changes['opsconsole_agent.ops["5"]']
    assert gone["change"]["actions"] == ["delete"]
    assert gone["opsconsole"]["cascade"] == 'opsconsole_host.web["5"]'
    data = changes["data.opsconsole_specialties.all"]
    assert (data["mode"], data["change"]["actions"]) == ("data", ["read"])


def test_sensitive_attributes_are_marked():
    values = {"id": "h", "name": "n", "tags": ["a:b"], "knowledge": "hush", "mac": UNKNOWN}
    kind, hidden = "opsconsole_host", frozenset({"knowledge"})
    change = Change(f"{kind}.a", kind, Action.CREATE, None, values, sensitive=hidden)
    found = plan_json.resource_change(change)["change"]
    assert found["before_sensitive"] is False
    assert found["after_sensitive"] == {"knowledge": True, "tags": [False]}
    assert found["after"]["knowledge"] == "hush"


def test_modules_make_a_tree():
    changes = tuple(
        Change(address, "opsconsole_host", Action.NO_OP, {"id": "x"}, {"id": "x"})
        for address in (
            "opsconsole_host.a",
            'module.m["k.x"].opsconsole_host.b',
            'module.m["k.x"].module.n.opsconsole_host.c[1]',
        )
    )
    root = plan_json.document(Plan(changes))["planned_values"]["root_module"]
    assert [item["address"] for item in root["resources"]] == ["opsconsole_host.a"]
    (child,) = root["child_modules"]
    assert child["address"] == 'module.m["k.x"]'
    (grandchild,) = child["child_modules"]
    assert grandchild["address"] == 'module.m["k.x"].module.n'
    assert grandchild["resources"][0]["index"] == 1


def test_an_errored_plan_is_not_applyable_and_a_part_is_not_complete(plan, failure):
    found = plan_json.document(replace(plan, diagnostics=(failure,)))
    assert (found["errored"], found["applyable"], found["complete"]) == (True, False, False)
    assert plan_json.document(replace(plan, targeted=True))["complete"] is False
    assert plan_json.document(Plan(()))["applyable"] is False


def test_the_provider_is_named_as_the_program_names_it_and_values_stay(plan, tmp_path):
    source = "example.com/own/opsconsole"
    terraform = {"required_providers": {"opsconsole": {"source": source}}}
    (tmp_path / "main.tf.json").write_text(json.dumps({"terraform": terraform}))
    program = load_directory(tmp_path, resources)
    value = {"provider_name": FULL_ADDRESS}
    output = OutputChange("one", Action.CREATE, None, value)
    found = plan_json.document(replace(plan, outputs=(output,)), program=program)
    assert {item["provider_name"] for item in found["resource_changes"]} == {source}
    assert found["output_changes"]["one"]["after"] == value


@pytest.mark.terraform
def test_a_remote_state_is_in_the_configuration(terraform_folder):
    state = {"version": 4, "serial": 1, "lineage": "l", "resources": []}
    output = {"x": {"value": "1", "type": "string"}}
    (terraform_folder.folder / "first.tfstate").write_text(json.dumps(state | {"outputs": output}))
    data = {"backend": "local", "config": {"path": "first.tfstate"}}
    program = {
        "data": {"terraform_remote_state": {"first": data}},
        "output": {"o": {"value": "${data.terraform_remote_state.first.outputs.x}"}},
    }
    (terraform_folder.folder / "main.tf.json").write_text(json.dumps(program))
    terraform_folder.init()
    theirs = terraform_folder.plan().json
    plan = Plan((), outputs=(OutputChange("o", Action.CREATE, None, "1"),))
    loaded = load_directory(terraform_folder.folder, resources)
    ours = plan_json.document(plan, program=loaded)
    for name in ("configuration", "relevant_attributes"):
        assert ours[name] == theirs[name], name


def with_unknown(after: Any, unknown: Any) -> Any:
    """Put back together what Terraform takes apart: values and what is unknown in them."""
    if unknown is True:
        return UNKNOWN
    if isinstance(unknown, dict):
        after = dict(after or {})
        return {
            name: with_unknown(after.get(name), unknown.get(name))
            for name in after.keys() | unknown.keys()
        }
    if isinstance(unknown, list):
        return [with_unknown(*pair) for pair in zip(after, unknown, strict=True)]
    return after


ACTIONS = {
    ("no-op",): Action.NO_OP,
    ("create",): Action.CREATE,
    ("update",): Action.UPDATE,
    ("delete",): Action.DELETE,
    ("delete", "create"): Action.REPLACE,
    ("create", "delete"): Action.REPLACE,
}


def plan_from(found: Mapping[str, Any]) -> Plan:
    """Make the plan that Terraform's JSON tells of."""
    changes = []
    for item in found["resource_changes"]:
        change = item["change"]
        actions = tuple(change["actions"])
        after = change["after"]
        after = None if after is None else with_unknown(after, change["after_unknown"])
        facts = {
            "replace_paths": tuple(path[0] for path in change.get("replace_paths", ())),
            "reason": item.get("action_reason", ""),
            "create_first": actions == ("create", "delete"),
            "previous_address": item.get("previous_address", ""),
        }
        what = (item["address"], item["type"], ACTIONS[actions])
        changes.append(Change(*what, change["before"], after, **facts))
    shown = (found.get(part, {}) for part in ("prior_state", "planned_values"))
    types = {
        name: item["type"]
        for values in shown
        for name, item in values.get("values", values).get("outputs", {}).items()
        if "type" in item
    }
    outputs = []
    for name, item in found.get("output_changes", {}).items():
        after = with_unknown(item.get("after"), item["after_unknown"])
        values = (item["before"], after, item["after_sensitive"])
        action = ACTIONS[tuple(item["actions"])]
        outputs.append(OutputChange(name, action, *values, types.get(name)))
    drift = tuple(
        Drift(item["address"], item["type"], item["change"]["before"], item["change"]["after"])
        for item in found.get("resource_drift", ())
    )
    return Plan(tuple(changes), drift=drift, outputs=tuple(outputs))


def without_schema(found: Any) -> Any:
    """Leave out what only a schema tells: the sensitivity of unknown values of any type."""
    if isinstance(found, dict):
        kept = {name: value for name, value in found.items() if name != "depends_on"}
        for name in kept.keys() & {"after_sensitive", "sensitive_values"}:
            if isinstance(kept[name], dict):
                kept[name] = {key: part for key, part in kept[name].items() if part != {}}
        return {name: without_schema(value) for name, value in kept.items()}
    return [without_schema(item) for item in found] if isinstance(found, list) else found


@pytest.fixture
def terraform_folder(tmp_path: Path, terraform_binary: Path) -> Terraform:
    """Make a folder for Terraform, which needs no provider there."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CHECKPOINT_DISABLE": "1"}
    return Terraform(terraform_binary, tmp_path, environment)


@pytest.fixture
def shows(tmp_path: Path, terraform_folder: Terraform) -> Callable[..., dict[str, Any]]:
    """Apply step 1 where asked, plan, and return what `terraform show -json` says of the plan."""
    engine = terraform_folder

    def shown(step: int, destroy: bool = False) -> dict[str, Any]:
        (tmp_path / "main.tf").write_text(PROGRAM.replace('"newer"', '"older"'))
        engine.init()
        if step > 1:
            engine.apply()
            (tmp_path / "main.tf").write_text(PROGRAM + MOVED)
        return engine.plan(f"-var=step={step}", *(["-destroy"] if destroy else [])).json

    return shown


@pytest.mark.terraform
@pytest.mark.parametrize(("step", "destroy"), [(1, False), (2, False), (2, True)])
def test_the_shapes_are_terraforms(shows, step, destroy):
    theirs = shows(step, destroy)
    ours = plan_json.document(plan_from(theirs), timestamp=theirs["timestamp"])
    ours = json.loads(json.dumps(ours).replace(FULL_ADDRESS, BUILTIN))
    for name in ("format_version", "timestamp", "applyable", "complete", "errored"):
        assert ours[name] == theirs[name], name
    for name in ("resource_changes", "output_changes", "planned_values"):
        assert without_schema(ours.get(name)) == without_schema(theirs.get(name)), name
    before = [found.get("prior_state", {}).get("values", {}) for found in (ours, theirs)]
    assert without_schema(before[0]) == without_schema(before[1])
    assert set(ours) <= set(theirs)
