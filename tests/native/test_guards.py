"""What a native run refuses or fails over, and leaves in state untainted."""

from typing import Any

import pytest


def _agent(**fields: Any) -> dict[str, Any]:
    ids = {"host_id": "${opsconsole_host.web.id}", "specialty_id": "spc_linux"}
    return {
        "opsconsole_host": {"web": {"name": "web"}},
        "opsconsole_agent": {"a": {"name": "keeper", **ids, **fields}},
    }


def test_a_console_that_ignores_dry_runs_fails_the_run_once(native_on, fleet):
    native = native_on("heedless")
    result = native.apply(fleet(3, agents=False), "-json", expect=1)

    told = [item["diagnostic"] for item in result.of_type("diagnostic")]
    assert [item["severity"] for item in told].count("error") == 1
    [ended] = [item["@message"] for item in result.messages if "Resources:" in item["@message"]]
    assert ended.startswith("Apply incomplete. Resources: 3 added")
    hosts = {row["id"] for row in native.console.rows("hosts")}
    instances = [item for entry in native.state["resources"] for item in entry["instances"]]
    assert {item["attributes"]["id"] for item in instances} == hosts
    assert not any(item.get("status") for item in instances)
    assert native.actions() == {}


def test_no_more_is_deleted_than_max_deletions_allows(native, fleet):
    native.settings["max_deletions"] = 1
    native.apply(fleet(3))
    for words in (("plan", "-destroy"), ("destroy", "-auto-approve", "-force")):
        refused = native.run(*words, expect=1).text
        assert "than max_deletions allows: 1" in refused
        for number in range(3):
            assert f"opsconsole_host.web[{number}]" in refused
    assert len(native.console.rows("hosts")) == 3
    native.apply(fleet(2), "-force")
    assert len(native.console.rows("hosts")) == 2


def test_prevent_destroy_refuses_a_replacement_and_a_removal(native):
    kept = {"name": "web", "lifecycle": {"prevent_destroy": True}}
    native.apply({"opsconsole_host": {"web": {**kept, "external_id": "one"}}})
    replaced = native.run_plan(
        {"opsconsole_host": {"web": {**kept, "external_id": "two"}}}, expect=1
    )
    destroyed = native.run("destroy", "-auto-approve", "-force", expect=1)
    for run, verb in ((replaced, "replaced"), (destroyed, "destroyed")):
        assert (
            f"opsconsole_host.web would be {verb}, which its lifecycle.prevent_destroy" in run.text
        )
    assert len(native.console.rows("hosts")) == 1


def test_what_is_refused_stands_below_the_plan_not_in_it(native):
    native.apply(_agent())
    native.write(_agent(main_engine="other") | {"opsconsole_host": {"web": {"name": "web-1"}}})

    result = native.run("plan", expect=1)

    assert "opsconsole_host.web will be updated in-place" in result.out
    assert "# opsconsole_agent.a" not in result.out
    assert "Plan: 0 to add, 1 to change, 0 to destroy." in result.out
    assert "cannot be replaced while its host stays" in result.text


@pytest.mark.parametrize("policy", ["archive_with_host", "prevent"])
def test_a_requested_replacement_of_an_agent_is_reported_at_plan_time(native_on, policy):
    native = native_on("default")
    native.apply(_agent(deletion_policy=policy))

    prevented = policy == "prevent"
    words = ("plan", "-replace=opsconsole_agent.a")
    result = native.run(*words, expect=1 if prevented else 0)
    both = native.run(*words, "-replace=opsconsole_host.web")

    assert ("must not be removed" if prevented else "it is not archived") in result.text
    assert "must not be removed" not in both.text
    assert "it is not archived" not in both.text


@pytest.mark.parametrize("first", ["destroyed", "created"])
def test_an_agent_that_can_move_outlives_its_host_only_where_that_is_possible(native_on, first):
    native = native_on("extended")
    resources = _agent()
    web = resources["opsconsole_host"]["web"]
    web |= {"external_id": "one", "lifecycle": {"create_before_destroy": first == "created"}}
    native.apply(resources)
    web |= {"external_id": "two", "name": "web-2"}
    native.write(resources)

    planned = native.actions()["opsconsole_agent.a"]
    native.console.reset_log()
    native.console.fault(operation="agent_update", delay=0.3)
    native.run("apply", "-auto-approve", "-force")

    writes = [item["operation"] for item in native.console.requests() if item["method"] != "GET"]
    if first == "destroyed":
        assert planned == ["delete", "create"]
        assert writes[-1] == "agent_create"
    else:
        assert planned == ["update"]
        assert writes[-2:] == ["agent_update", "host_delete"]
    assert native.actions() == {}


def test_an_agent_moves_away_before_its_host_of_the_same_block_is_deleted(native_on):
    native = native_on("extended")
    resources = _agent(host_id='${opsconsole_host.web["b"].id}')
    web = {"for_each": '${toset(["a", "b"])}', "name": "${each.key}"}
    resources["opsconsole_host"]["web"] = web
    native.apply(resources)
    web["for_each"] = '${toset(["a"])}'
    resources["opsconsole_agent"]["a"]["host_id"] = '${opsconsole_host.web["a"].id}'
    native.write(resources)
    native.console.reset_log()
    native.console.fault(operation="agent_update", delay=0.3)

    native.run("apply", "-auto-approve", "-force")

    writes = [item["operation"] for item in native.console.requests() if item["method"] != "GET"]
    assert writes == ["agent_update", "host_delete"]


def test_an_agent_follows_its_replaced_host_whatever_it_ignores(native):
    native.apply(_agent(lifecycle={"ignore_changes": ["host_id"]}))

    planned = native.actions("-replace=opsconsole_host.web")

    assert set(map(tuple, planned.values())) == {("delete", "create")}
    assert set(planned) == {"opsconsole_host.web", "opsconsole_agent.a"}


def test_nothing_is_archived_with_a_host_that_is_only_forgotten(native):
    native.apply(_agent())
    native.write(removed=[{"from": "opsconsole_host.web", "lifecycle": {"destroy": False}}])

    result = native.run("plan")

    assert 'The agent "keeper"' in result.text and "it is not archived" in result.text
    assert "archived by" not in result.text


def test_a_replacement_that_fails_is_reported_once(native):
    resources = _agent()
    web = resources["opsconsole_host"]["web"]
    web |= {"external_id": "one", "lifecycle": {"create_before_destroy": True}}
    native.apply(resources)
    web["external_id"] = "two"
    result = native.apply(resources, expect=1)

    assert "which is opsconsole_host.web in state" in result.text
    assert "leave create_before_destroy out" in result.text
    skipped = [line for line in result.out.splitlines() if ": Skipped" in line]
    assert skipped == ["opsconsole_agent.a: Skipped, because opsconsole_host.web failed"]
    assert "1 change failed:\n  ✗ opsconsole_host.web\n1 change skipped:\n" in result.out


def test_outputs_that_are_known_are_kept_where_something_failed(native):
    resources = {
        "opsconsole_host": {
            "a": {"name": "a"},
            "b": {"name": "b", "target_port": "${opsconsole_host.a.target_port + 70000}"},
        }
    }
    outputs = {
        "literal": "x",
        "of_what_was_done": "${opsconsole_host.a.id}",
        "of_what_failed": "${opsconsole_host.b.id}",
    }
    output = {name: {"value": value} for name, value in outputs.items()}
    native.apply(resources, expect=1, output=output)
    assert set(native.state["outputs"]) == {"literal", "of_what_was_done"}

    resources["opsconsole_host"]["b"]["target_port"] = 22
    native.apply(resources, output=output)
    assert set(native.state["outputs"]) == set(outputs)


def test_a_plugin_that_its_agent_declares_outlives_its_attachment(native):
    attachment = {"agent_id": "${opsconsole_agent.a.id}", "plugin_id": "plg_disk"}
    native.apply(_agent() | {"opsconsole_agent_plugin": {"p": attachment}})
    result = native.apply(_agent(plugin_ids=["plg_disk", "plg_logs"]), "-force")

    assert "The plugin plg_disk stays attached" in result.text
    assert {row["plugin_id"] for row in native.console.rows("attachments")} == {
        "plg_disk",
        "plg_logs",
    }
    assert native.actions() == {}
    assert native.console.request_counts().get("plugin_detach", 0) == 0


def test_an_agent_that_is_created_first_survives_the_deletion_of_its_old_host(native):
    resources = _agent(lifecycle={"create_before_destroy": True})
    native.apply(resources)
    [old] = [row["id"] for row in native.console.rows("agents")]
    resources["opsconsole_host"] = {"new": {"name": "new"}}
    resources["opsconsole_agent"]["a"]["host_id"] = "${opsconsole_host.new.id}"
    native.write(resources)
    native.console.fault(operation="host_import", skip=1, delay=0.3)

    native.run("apply", "-auto-approve", "-force")

    assert native.actions() == {}
    [agent] = [row for row in native.console.rows("agents") if row["status"] != "archived"]
    [instance] = [i for r in native.state["resources"] if r["name"] == "a" for i in r["instances"]]
    assert instance["attributes"]["id"] == agent["id"] != old


def test_an_agent_moves_in_time_though_other_updates_wait_in_a_cycle(native_on):
    """`other` leaves `inner` for `web["a"]`, and the agent `web["b"]` for `inner`."""
    native = native_on("extended")
    resources = _agent(host_id='${opsconsole_host.web["b"].id}')
    web = {"for_each": '${toset(["a", "b"])}', "name": "${each.key}", "external_id": "one"}
    inner = {"name": "inner", "external_id": "one"}
    other = {"name": "other", "jump_host_ids": ["${opsconsole_host.inner.id}"]}
    resources["opsconsole_host"] = {"web": web, "inner": inner, "other": other}
    native.apply(resources)
    web |= {"for_each": '${toset(["a"])}', "external_id": "two"}
    inner["external_id"] = "two"
    other["jump_host_ids"] = ['${opsconsole_host.web["a"].id}']
    resources["opsconsole_agent"]["a"]["host_id"] = "${opsconsole_host.inner.id}"
    native.write(resources)
    native.console.reset_log()
    native.console.fault(operation="agent_update", delay=0.3)
    [old] = [row["id"] for row in native.console.rows("hosts") if row["name"] == "b"]

    native.run("apply", "-auto-approve", "-force")

    requests = native.console.requests()
    [move] = [item for item in requests if item["operation"] == "agent_update"]
    [deletion] = [i for i in requests if i["method"] == "DELETE" and i["path"].endswith(old)]
    assert move["ended"] <= deletion["started"]
    assert native.actions() == {}


@pytest.mark.parametrize("first", ["destroyed", "created"])
def test_a_host_stays_while_its_agent_could_not_move(native_on, first):
    native = native_on("extended")
    resources = _agent(host_id="${opsconsole_host.old.id}")
    old = {"name": "old", "lifecycle": {"create_before_destroy": first == "created"}}
    resources["opsconsole_host"] = {"old": old, "new": {"name": "new"}}
    native.apply(resources)
    if first == "created":
        old |= {"external_id": "two", "name": "old-2"}
    else:
        del resources["opsconsole_host"]["old"]
        resources["opsconsole_agent"]["a"]["host_id"] = "${opsconsole_host.new.id}"
    native.write(resources)
    native.console.fault(operation="agent_update", status=422, times=None)

    native.run("apply", "-auto-approve", "-force", expect=1)

    assert [row["status"] for row in native.console.rows("agents")] != ["archived"]
    assert native.console.request_counts().get("host_delete", 0) == 0
    native.console.clear_faults()
    native.run("apply", "-auto-approve", "-force")
    assert native.actions() == {}
    assert [row["status"] for row in native.console.rows("agents")] != ["archived"]


def test_a_specialty_goes_after_an_agent_that_carries_it_by_a_literal_id(native_on):
    native = native_on("extended")
    resources = _agent(specialty_id="spc_linux")
    linux = {"key": "linux-server", "deletion_policy": "delete"}
    native.apply(resources | {"opsconsole_specialty": {"linux": linux}})
    native.console.reset_log()
    native.console.fault(operation="agent_delete", delay=0.3)

    native.apply({"opsconsole_host": resources["opsconsole_host"]}, "-force")

    writes = [item["operation"] for item in native.console.requests() if item["method"] != "GET"]
    assert writes == ["agent_delete", "specialty_delete"]


def test_a_specialty_that_refers_to_a_host_is_deleted_before_it(native_on):
    native = native_on("extended")
    it = {"key": "made", "name": "${opsconsole_host.web.name}", "deletion_policy": "delete"}
    native.apply({"opsconsole_host": {"web": {"name": "web"}}, "opsconsole_specialty": {"it": it}})
    native.apply({}, "-force")
    assert native.addresses() == []
