"""Terraform's machine-readable messages, judged by Terraform's own."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from engines import Terraform
from opsconsole.diagnostics import warning
from opsconsole.reconcile.plan import Action, Change, ChangeCounts, Drift, OutputChange
from opsconsole.reports import messages
from opsconsole.state import StateOutput

AT = datetime(2026, 3, 1, 2, 0, 0, 5, tzinfo=UTC)
HOST = 'opsconsole_host.web["a"]'


def test_every_message_is_one_line_with_level_module_time_and_type():
    line = messages.line(messages.log("hello\nworld"), AT)
    assert line.count("\n") == 1
    found = json.loads(line)
    assert found["@timestamp"] == "2026-03-01T02:00:00.000005Z"
    assert (found["@level"], found["@module"], found["type"]) == ("info", "terraform.ui", "log")
    assert found["@message"] == r"hello\nworld"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.4, "59s"), (70, "1m10s"), (7203, "2h0m3s")]
)
def test_durations(seconds, text):
    assert messages.duration(seconds) == text


def test_diagnostics_carry_address_and_path(failure):
    told = messages.diagnostic(failure.about(HOST))
    assert told["@level"] == "error"
    assert told["@message"] == f"Error: {failure.summary}"
    assert told["diagnostic"]["address"] == HOST
    told = messages.diagnostic(warning("w", path=("tags", 0)))
    assert told["diagnostic"]["path"] == ["tags", 0]


def test_every_planned_change_has_terraforms_words(plan):
    words = {messages.planned_change(change)["change"]["action"] for change in plan.changes}
    assert words == {"noop", "create", "read", "update", "replace", "delete", "remove", "move"}


def test_import_and_drift():
    change = Change(HOST, "opsconsole_host", Action.NO_OP, {}, {}, import_id="hst_1")
    told = messages.planned_change(change)["change"]
    assert (told["action"], told["importing"]) == ("import", {"id": "hst_1"})
    moved = Drift(HOST, "opsconsole_host", {}, None, previous_address="opsconsole_host.old")
    drift = messages.resource_drift(moved)
    assert drift["change"]["action"] == "delete"
    assert drift["change"]["previous_resource"]["addr"] == "opsconsole_host.old"
    assert drift["@message"] == f"{HOST}: Drift detected (delete)"


def test_progress_and_failure():
    told = messages.apply_progress(HOST, Action.CREATE, 10.2).message()
    assert told["@message"] == f"{HOST}: Still creating... [10s elapsed]"
    assert told["hook"]["elapsed_seconds"] == 10
    told = messages.apply_errored(HOST, Action.UPDATE, 1).message()
    assert told["@message"] == f"{HOST}: Modifications errored after 1s"
    assert told["hook"]["resource"]["resource_key"] == "a"


def test_outputs_show_no_sensitive_value():
    numbers, secret = StateOutput([1], ["set", "number"]), StateOutput("hush", "string", True)
    told = messages.outputs({"a": numbers, "b": secret})
    assert told["outputs"]["a"] == {"sensitive": False, "type": ["set", "number"], "value": [1]}
    planned = messages.planned_outputs([OutputChange("b", Action.CREATE, None, "hush", True)])
    assert planned["outputs"] == {"b": {"sensitive": True, "action": "create"}}
    assert "hush" not in messages.line(told, AT) + messages.line(planned, AT)


PROGRAM = """
resource "terraform_data" "a" {
  for_each         = { x = "%(step)s" }
  triggers_replace = [each.value]
}
resource "terraform_data" "b" { input = "%(step)s" }
output "o" { value = terraform_data.b.output }
output "s" {
  value     = "hush%(step)s"
  sensitive = true
}
"""


@pytest.mark.terraform
def test_the_shapes_are_terraforms(tmp_path, terraform_binary):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CHECKPOINT_DISABLE": "1"}
    engine = Terraform(terraform_binary, tmp_path, environment)
    (tmp_path / "main.tf").write_text(PROGRAM % {"step": "1"})
    engine.init()
    engine.apply()
    (tmp_path / "main.tf").write_text(PROGRAM % {"step": "2"})
    theirs = engine.apply().messages
    seen = {message["type"] for message in theirs}
    assert seen >= {"version", "planned_change"}
    assert seen >= {"apply_start", "apply_complete", "change_summary", "outputs"}
    for message in theirs:
        if message["type"] in ("refresh_start", "refresh_complete"):
            continue  # Resources are read many at a time, and nothing is said of each.
        ours = _ours(message)
        assert ours.keys() >= message.keys()
        if message["type"] != "version":
            assert {**ours, "@timestamp": ""} == {**message, "@timestamp": ""}


def _ours(message: dict[str, Any]) -> dict[str, Any]:
    """Return our message for the same event as one of Terraform's."""
    kind, hook = message["type"], message.get("hook", {})
    address = hook.get("resource", {}).get("addr", "")
    own = hook.get("id_value", "")
    if kind == "version":
        return messages.version()
    if kind == "planned_change":
        return _planned(message["change"])
    if kind == "change_summary":
        counts = message["changes"]
        found = ChangeCounts(counts["add"], counts["change"], counts["remove"], counts["import"])
        return messages.change_summary(found, counts["operation"])
    if kind == "outputs":
        return _outputs(message["outputs"])
    action = _ACTIONS[hook["action"]]
    if kind == "apply_start":
        return messages.apply_start(address, action, own).message()
    return messages.apply_complete(address, action, hook["elapsed_seconds"], own).message()


_ACTIONS = {
    "create": Action.CREATE,
    "update": Action.UPDATE,
    "delete": Action.DELETE,
    "replace": Action.REPLACE,
    "noop": Action.NO_OP,
}


def _planned(change: dict[str, Any]) -> dict[str, Any]:
    reason = {"cannot_update": "replace_because_cannot_update"}.get(change.get("reason", ""), "")
    address, type_name = change["resource"]["addr"], change["resource"]["resource_type"]
    action = _ACTIONS[change["action"]]
    return messages.planned_change(Change(address, type_name, action, None, None, reason=reason))


def _outputs(outputs: dict[str, Any]) -> dict[str, Any]:
    if any("action" in output for output in outputs.values()):
        return messages.planned_outputs(
            OutputChange(name, _ACTIONS[item["action"]], None, None, item["sensitive"])
            for name, item in outputs.items()
        )
    return messages.outputs(
        {
            name: StateOutput(item.get("value"), item["type"], item["sensitive"])
            for name, item in outputs.items()
        }
    )
