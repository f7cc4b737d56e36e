"""`opsconsole validate`: program, settings and bounds, without a console, state or variables."""

import json
from pathlib import Path
from typing import Any

import pytest

from text_groups import read_rows

ROWS = read_rows(__file__)

HOST = {"opsconsole_host": {"a": {"name": "a"}}}


def report(native: Any, expect: int) -> dict[str, Any]:
    return json.loads(native.run("validate", "--json", expect=expect).out)


def test_a_valid_program_needs_no_setting_and_sends_nothing(native, monkeypatch):
    monkeypatch.delenv("OPSCONSOLE_BASE_URL")
    monkeypatch.delenv("OPSCONSOLE_API_KEY")
    native.console.reset_log()
    native.write(HOST, variable={"open": {"type": "string"}})
    assert native.run("validate").out == "Success! The configuration is valid.\n"
    none = {"error_count": 0, "warning_count": 0, "diagnostics": []}
    assert report(native, 0) == {"format_version": "1.0", "valid": True} | none
    assert native.console.traffic()["total"] == 0


@pytest.mark.parametrize(*ROWS["test_wrong_settings_are_reported"])
def test_wrong_settings_are_reported(settings, text, native):
    native.settings.update(settings)
    native.write(HOST, variable={"key": {"type": "string"}})
    found = report(native, 1)["diagnostics"]
    assert found[0]["summary"].startswith("provider opsconsole: ")
    assert text in found[0]["summary"]


def test_output_of_a_failed_app_is_the_detail(native):
    (native.folder / "cdktf.json").write_text('{"language": "python", "app": "echo oh; exit 3"}')
    (found,) = report(native, 1)["diagnostics"]
    assert found["summary"] == "The app failed: `echo oh; exit 3` ended with status 3"
    assert found["detail"].startswith("    oh\n\nFix the app")


def test_a_mistake_is_shown_where_the_program_declares_the_resource(native):
    """Synthesis leaves a stack trace in the metadata, where the app asks for it."""
    trace = [f"new Host ({native.folder / 'main.py'}:42:7)"]
    note = {"metadata": {"path": "stack/web", "stackTrace": trace}}
    native.write({"opsconsole_host": {"a": {"name": "a", "target_port": 70000, "//": note}}})
    [found] = report(native, 1)["diagnostics"]
    start = {"line": 42, "column": 1, "byte": 0}
    assert found["address"] == "opsconsole_host.a"
    assert found["range"]["start"] == found["range"]["end"] == start
    assert found["range"]["filename"].endswith("main.py")
    assert "main.py:42" in native.run("validate", expect=1).err


def test_a_mistake_in_a_file_that_no_app_wrote_has_its_line(native):
    (native.folder / "main.tf.json").write_text(
        '{"locals": {"a": 1},\n "resource": [{"opsconsole_host": {\n  "a": {"name": "${"},\n'
        '  "b": {"name": "b", "target_port": "abc"},\n  "c": {"name": "${var.gone}"}}}]}'
    )
    found = {
        item["range"]["start"]["line"]: item["summary"].partition(": ")[2]
        for item in report(native, 1)["diagnostics"]
    }
    assert found == {
        3: "name: ${ cannot be evaluated: this is not an expression: it ends too early",
        4: 'target_port cannot be "abc": a number is required',
        5: "name: there is no variable gone",
    }
    assert "declared at main.tf.json:4" in native.run("validate", expect=1).err


def test_mistake_beside_a_variable_without_a_value_is_found(native):
    host = {"name": "a", "count": '${tonumber("abc")}'}
    native.write({"opsconsole_host": {"a": host}}, variable={"open": {"type": "string"}})
    assert "tonumber" in native.run("validate", expect=1).err
    native.write(
        {"opsconsole_host": {"a": {"name": "a", "count": "${var.open}"}}},
        variable={"open": {"type": "number"}},
    )
    assert native.run("validate").code == 0


@pytest.mark.parametrize(
    ("variable", "told"),
    [
        ({"type": "bool", "default": "x"}, "(its default) does not fit its type"),
        ({"type": "string", "default": None, "nullable": False}, "must not be null"),
        ({"validation": {"condition": "${lenght(var.a) > 0}"}}, "uses the function lenght"),
        ({"validation": {"condition": '${var.a > tonumber("q")}'}}, "a number is required"),
        ({"validation": {"condition": "${var.b > 0}"}}, "does not refer to var.a"),
        ({"default": "x", "validation": {"condition": "${length(var.a) > 3}"}}, ""),
    ],
)
def test_variables_are_checked_without_their_values(variable, told, native):
    if "validation" in variable:
        variable["validation"]["error_message"] = "Too short."
    native.write(HOST, variable={"a": {"type": "string", **variable}, "b": {"type": "number"}})
    found = report(native, 1 if told else 0)["diagnostics"]
    assert [told in item["summary"] for item in found] == [True] * bool(told)


def test_each_instance_is_checked(native):
    host = {"for_each": {"a": 22, "b": 99999}, "name": "n", "target_port": "${each.value}"}
    native.write({"opsconsole_host": {"a": host}})
    [said] = report(native, 1)["diagnostics"]
    assert "target_port cannot be 99999" in said["summary"]


WRONG = Path(__file__).with_name("all_mistakes.tf.json").read_text()
SAID = (
    'there is no argument "nmae"',
    "target_port cannot be 99999",
    "tags cannot be 'x'",
    "ip_connect_mode cannot be 'sideways'",
    "there is no opsconsole_host.gone",
    'tobool("x")} cannot be evaluated',
    "lifecycle: prevent_destroy: true or false is required",
    "there is no variable none",
    "var.v: validation: there is no local value lost",
    "specialty_id is needed to create an agent",
    'no resource type "opsconsole_hots"',
    "output.o: value",
    "output.p: it has no value",
    *("in a cycle: local.l → local.l", "there is no data.terraform_remote_state"),
    *("var alone has no value", "path alone has no value"),
    "local.alone: ${-true} cannot be evaluated",
    *("the id must be a known text", 'max_retries cannot be "many": a number is required'),
)


def test_all_mistakes_are_told_at_once(native):
    native.write({})
    (native.folder / "cdk.tf.json").write_text(WRONG)
    found = [item["summary"] for item in report(native, 1)["diagnostics"]]
    assert [text for text in SAID if not any(text in item for item in found)] == []
    assert len(found) == len(SAID), found
    native.console.reset_log()
    for words in (["plan"], ["apply", "-auto-approve"]):
        told = " ".join(native.run(*words, expect=1).err.replace("│", "").split())
        assert [text for text in SAID if text not in told] == []
    assert native.console.traffic()["total"] == 0
    assert not native.state_file.exists()


def test_an_imported_agent_needs_no_host(native):
    agent = {"opsconsole_agent": {"a": {"main_engine": "x"}}}
    native.write(agent)
    assert "host_id is needed" in native.run("validate", expect=1).err
    native.write(agent, **{"import": [{"to": "opsconsole_agent.a", "id": "agt_1"}]})
    assert native.run("validate").code == 0
    # Null says that it was never shown; with the state at hand it is known what would be created.
    native.write({"opsconsole_agent": {"a": {"host_id": None, "specialty_id": None}}})
    assert native.run("validate").code == 0
    assert "host_id is needed" in native.run("plan", expect=1).err


def test_a_state_that_refers_to_itself_is_reported_once(native):
    path = "${data.terraform_remote_state.other.outputs.name}"
    native.write(
        {"opsconsole_host": {"a": {"name": path}}},
        data={"terraform_remote_state": {"other": {"backend": "local", "config": {"path": path}}}},
    )
    (mistake,) = report(native, 1)["diagnostics"]
    assert "data.terraform_remote_state.other refers to itself" in mistake["summary"]


def test_validate_reads_no_state_of_another_stack(native):
    reference = "${data.terraform_remote_state.other.outputs.name}"
    native.write(
        {"opsconsole_host": {f"h{number}": {"name": reference} for number in range(9)}},
        data={"terraform_remote_state": {"other": {"backend": "local", "config": {"path": "no"}}}},
    )
    assert native.run("validate").code == 0
    refused = native.run("plan", expect=1).err
    assert refused.count("Error:") == refused.count("is not applied yet") == 1


@pytest.mark.parametrize(*ROWS["test_an_address_that_is_none_is_a_warning"])
def test_an_address_that_is_none_is_a_warning(fields, text, native):
    good = {
        "public_ip": "203.0.113.7",
        "private_ip": "2001:db8::1",
        "eligible_subnets": ["10.0.0.0/8", "2001:db8::/32", "10.1.2.3/24"],
    }
    native.write({"opsconsole_host": {"a": {"name": "a", **good}}})
    assert native.run("validate").err == ""
    native.write({"opsconsole_host": {"a": {"name": "a", **good, **fields}}})
    said = native.run("validate").err
    assert said.count("Warning:") == 1
    assert f"Warning: opsconsole_host.a: {text}" in said
    assert "so the console decides" in said
    assert "Plan: 1 to add" in native.run("plan").out
