"""Data sources that are read during apply: what they name is about to change."""

from typing import Any

import pytest

from declarations import hosts

HOST = {"web": {"name": "web"}}
AGENT = {"host_id": "${opsconsole_host.web.id}", "specialty_id": "spc_linux", "name": "a"}
PLUGINS = "data.opsconsole_agent_plugins.now"
OUTPUT = {"now": {"value": f"${{[for item in {PLUGINS}.plugins: item.id]}}"}}


def declare(native: Any, plugins: list[str], **reading: Any) -> None:
    agent = {"opsconsole_agent": {"a": {**AGENT, "plugin_ids": plugins}}}
    data = {"opsconsole_agent_plugins": {"now": reading}}
    native.write({"opsconsole_host": HOST, **agent}, data=data, output=OUTPUT)


def test_data_source_of_a_changing_resource_is_read_after_it(native):
    reading = {"agent_id": "${opsconsole_agent.a.id}"}
    declare(native, ["plg_disk"], **reading)
    native.run("apply", "-auto-approve")
    declare(native, ["plg_disk", "plg_logs"], **reading)
    [read] = [item for item in native.plan()["resource_changes"] if item["address"] == PLUGINS]
    assert read["action_reason"] == "read_because_dependency_pending"
    native.run("apply", "-auto-approve")
    assert len(native.state["outputs"]["now"]["value"]) == 2
    native.run("plan", "-detailed-exitcode")
    assert native.plan("-refresh-only")["output_changes"]["now"]["actions"] == ["no-op"]


@pytest.mark.parametrize("depends_on", [[], ["opsconsole_host.web"]], ids=["at once", "late"])
def test_a_sensitive_argument_stays_sensitive(native, depends_on):
    data = {"opsconsole_specialty": {"s": {"key": "${var.key}", "depends_on": depends_on}}}
    variable = {"key": {"default": "linux-server", "sensitive": True}}
    output = {"told": {"value": "${issensitive(data.opsconsole_specialty.s.key)}"}}
    native.apply({"opsconsole_host": HOST}, data=data, variable=variable, output=output)
    assert native.state["outputs"]["told"]["value"] is True
    assert "linux-server" not in native.run("show").out
    native.run("plan", "-detailed-exitcode")


@pytest.mark.parametrize("count", [1, 0])
def test_data_source_waits_for_removed_instances(native, count):
    def write(many: int) -> None:
        waiting = {"s": {"depends_on": ["opsconsole_host.many"]}}
        counted = {"count": many, "name": "h${count.index}"}
        native.write(hosts(many=counted), data={"opsconsole_specialties": waiting})

    write(2)
    native.run("apply", "-auto-approve")
    write(count)
    assert native.actions()["data.opsconsole_specialties.s"] == ["read"]


def test_a_move_changes_nothing(native):
    waiting = {"opsconsole_specialties": {"s": {"depends_on": ["opsconsole_host.b"]}}}
    native.apply(hosts(a={}))
    moved = [{"from": "opsconsole_host.a", "to": "opsconsole_host.b"}]
    native.write(hosts(b={"name": "a"}), data=waiting, moved=moved)
    assert native.actions() == {}


@pytest.mark.parametrize("found", [True, False])
def test_resource_waits_for_a_late_read_or_is_skipped(native, found):
    key = {"x": {"key": "${opsconsole_host.a.knowledge}"}}
    hosts = {
        "a": {"name": "a", "knowledge": "linux-server" if found else "no such key"},
        "b": {"name": "b", "knowledge": "${data.opsconsole_specialty.x.id}"},
    }
    data = {"opsconsole_specialty": key}
    shown = {"key": {"value": "${data.opsconsole_specialty.x.key}"}}
    native.write({"opsconsole_host": hosts}, data=data, output=shown)
    plan = native.plan()
    assert plan["output_changes"]["key"]["after"] == hosts["a"]["knowledge"]
    [read] = [it["change"] for it in plan["resource_changes"] if it["mode"] == "data"]
    assert (read["after"], read["after_unknown"]["id"]) == ({"key": hosts["a"]["knowledge"]}, True)
    said = native.run("apply", "-auto-approve", expect=0 if found else 1).text
    if not found:
        assert "opsconsole_host.b: Skipped, because data.opsconsole_specialty.x failed" in said
        assert native.addresses() == ["opsconsole_host.a"]
        return
    assert native.attributes("opsconsole_host.b")["knowledge"] == "spc_linux"
    [b] = [item for item in native.state["resources"] if item["name"] == "b"]
    needs = ["data.opsconsole_specialty.x", "opsconsole_host.a"]
    assert b["instances"][0]["dependencies"] == needs
    native.run("plan", "-detailed-exitcode")


def test_dependents_of_a_failed_read_are_not_planned(native):
    agent = {**AGENT, "specialty_id": "${data.opsconsole_specialty.x.id}"}
    attached = {"agent_id": "${opsconsole_agent.a.id}", "plugin_id": "plg_disk"}
    program = {
        "opsconsole_host": {"web": {"name": "web"}},
        "opsconsole_agent": {"a": {**agent, "deletion_policy": "abandon"}},
        "opsconsole_agent_plugin": {"p": attached},
    }
    shown = {"carried": {"value": "${data.opsconsole_specialty.x.id}"}}
    for key in ("linux-server", "linux-sever"):
        native.write(program, data={"opsconsole_specialty": {"x": {"key": key}}}, output=shown)
        if key == "linux-server":
            native.run("apply", "-auto-approve")
    failed = native.run("plan", expect=1).text
    assert "linux-sever" in failed and failed.count("Error:") == 1
    assert "opsconsole_agent" not in failed and "carried" not in failed


def test_data_sources_are_in_the_prior_state_of_a_plan(native):
    read_now = {"x": {"key": "linux-server"}}
    native.write({"opsconsole_host": HOST}, data={"opsconsole_specialty": read_now})
    [found] = native.plan()["prior_state"]["values"]["root_module"]["resources"]
    assert (found["address"], found["mode"]) == ("data.opsconsole_specialty.x", "data")
    assert found["values"]["id"] == "spc_linux"


def test_data_sources_that_are_gone_leave_state(native):
    host = {"opsconsole_host": {"a": {"name": "a"}}}
    native.apply(host, data={"opsconsole_specialties": {"all": {}}})
    native.apply(host, "-target=opsconsole_host.a")
    assert "data.opsconsole_specialties.all" in native.addresses()
    native.apply(host)
    assert native.addresses() == ["opsconsole_host.a"]
