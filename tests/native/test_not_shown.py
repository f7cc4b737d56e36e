"""What is missing is warned of or refused; a list that may not be whole proves no absence."""

import json
from typing import Any

import pytest


def test_what_was_not_read_is_not_said_to_match(native):
    program = {"opsconsole_host": {"web": {"count": 2, "name": "web-${count.index}"}}}
    native.apply(program)
    assert "No changes. The console matches the program." in native.run("plan").out
    unread = "No changes. State matches the program. 2 resources in it were not read"
    assert unread in native.run("plan", "-refresh=false").out
    native.settings["host_read"] = "none"
    assert unread in native.run_plan(program).out


def test_what_was_shown_in_part_is_not_said_to_match(native):
    native.apply({"opsconsole_host": {"web": {"name": "web", "knowledge": "a"}}})
    part = json.dumps({"id": native.attributes("opsconsole_host.web")["id"]})
    native.console.fault(method="POST", path="/hosts/hst_", status=200, text=part)
    told = native.run("plan").out
    assert "State matches the program. 1 resource in it was shown only in part" in told


@pytest.mark.parametrize("profile", ["default", "extended"])
def test_plugins_that_a_key_may_not_list_stop_nothing_else(profile, native_on):
    """The agent of `full` declares its set of plugins, that of `open` has an attachment."""
    native = native_on(profile)
    host = {"name": "web"}
    ids = {"host_id": "${opsconsole_host.web.id}", "specialty_id": "spc_linux"}
    agents = {"full": {**ids, "plugin_ids": ["plg_disk"]}, "open": ids}
    attachment = {"agent_id": "${opsconsole_agent.open.id}", "plugin_id": "plg_logs"}
    program = {
        "opsconsole_host": {"web": host},
        "opsconsole_agent": {name: {**item, "name": name} for name, item in agents.items()},
        "opsconsole_agent_plugin": {"logs": attachment},
    }
    native.apply(program)
    held = native.attributes("opsconsole_agent.full")
    native.console.fault(operation="plugin_list", status=403, code="FORBIDDEN", times=None)
    host["knowledge"] = "new"
    applied = native.apply(program).text
    assert "Apply complete! Resources: 0 added, 1 changed, 0 destroyed." in applied
    assert "was not checked" in applied and "use a key that may read it" in applied
    assert native.attributes("opsconsole_agent.full") == held
    native.run("drift", expect=1)
    report = json.loads(native.run("drift", "--format", "json", expect=1).out)
    unchecked = {item["address"] for item in report["findings"] if item["bucket"] == "unchecked"}
    assert {"opsconsole_agent.full", "opsconsole_agent_plugin.logs"} <= unchecked

    del program["opsconsole_agent_plugin"]
    program["opsconsole_agent"]["open"]["plugin_ids"] = ["plg_logs"]
    host["knowledge"] = "newer"
    refused = native.apply(program, "-force", expect=1).text
    assert 'Cannot update the agent "open"' in refused
    assert native.console.rows("hosts")[0]["knowledge"] == "newer"


def test_the_agent_that_an_attach_is_answered_with_is_kept(native):
    agent = {"name": "a", "host_id": "${opsconsole_host.web.id}", "specialty_id": "spc_linux"}
    resources: dict[str, Any] = {
        "opsconsole_host": {"web": {"name": "web"}},
        "opsconsole_agent": {"a": agent},
    }
    native.apply(resources)
    [row] = native.console.rows("agents")
    native.console.change("agents", row["id"], secondary_engine="engine-z")
    attached = {"agent_id": "${opsconsole_agent.a.id}", "plugin_id": "plg_disk"}
    native.apply(resources | {"opsconsole_agent_plugin": {"disk": attached}})
    assert native.attributes("opsconsole_agent.a")["secondary_engine"] == "engine-z"
    assert native.actions() == {}

    answer = {**native.console.row("agents", row["id"]), "status": "archived"}
    native.console.fault(operation="plugin_detach", text=json.dumps(answer))
    native.write(resources)
    assert "is archived" in native.run("apply", "-auto-approve", "-force").text
    assert native.attributes("opsconsole_agent.a")["status"] == "archived"
    assert native.actions() == {"opsconsole_agent.a": ["create"]}


def test_what_the_console_keeps_otherwise_is_not_said_to_be_changed_by_others(native_on):
    native = native_on("tidying")
    host = {"name": "web", "knowledge": " kept trimmed "}
    native.apply({"opsconsole_host": {"web": host, "other": {"name": "other"}}})
    other = native.attributes("opsconsole_host.other")["id"]
    native.console.change("hosts", other, knowledge="new", updated_at="2100-01-01T00:00:00Z")

    told = native.run("plan").out
    keeps = "differs, with the same updated_at: the console keeps other values than were declared"
    assert f"# opsconsole_host.web {keeps}" in told
    assert "# opsconsole_host.other has changed" in told
