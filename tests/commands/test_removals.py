"""What a run refuses, forces or orders, so that nothing is removed unasked."""

from typing import Any

import pytest

from declarations import host_with_agent, hosts


def writes(native: Any) -> list[str]:
    """Return the operations that were sent, but those that only read."""
    return [item["operation"] for item in native.console.requests() if item["method"] != "GET"]


def test_prevent_destroy_refuses_a_replacement_and_a_removal(native):
    kept = {"name": "web", "lifecycle": {"prevent_destroy": True}}
    resources = host_with_agent(specialty_id="${opsconsole_specialty.database.id}")
    resources["opsconsole_host"]["web"] = {**kept, "external_id": "one"}
    specialty = {"key": "database", "deletion_policy": "delete"}
    native.apply({**resources, "opsconsole_specialty": {"database": specialty}})
    resources["opsconsole_host"]["web"] = {**kept, "external_id": "two"}
    resources["opsconsole_agent"]["a"]["specialty_id"] = "spc_linux"
    replaced = native.run_plan(resources, expect=1)
    destroyed = native.run("destroy", "-auto-approve", "-force", expect=1)
    for run, verb in ((replaced, "replaced"), (destroyed, "destroyed")):
        assert (
            f"opsconsole_host.web would be {verb}, which its lifecycle.prevent_destroy" in run.text
        )
        assert "cannot be deleted" not in run.text, "the agent would follow the host"
    assert len(native.console.rows("hosts")) == 1


@pytest.mark.parametrize("policy", ["archive_with_host", "prevent"])
def test_a_requested_replacement_of_an_agent_is_reported_at_plan_time(native, policy):
    native.apply(host_with_agent(deletion_policy=policy))

    prevented = policy == "prevent"
    words = ("plan", "-replace=opsconsole_agent.a")
    result = native.run(*words, expect=1 if prevented else 0)
    both = native.run(*words, "-replace=opsconsole_host.web")

    assert ("must not be removed" if prevented else "it is not archived") in result.text
    assert "Terraform cannot tell" not in result.text
    assert "must not be removed" not in both.text
    assert "it is not archived" not in both.text


@pytest.mark.parametrize("first", ["destroyed", "created"])
def test_an_agent_moves_away_from_its_replaced_host(native_on, first):
    """It can only if the new host is created first."""
    native = native_on("extended")
    resources = host_with_agent()
    web = resources["opsconsole_host"]["web"]
    web |= {"external_id": "one", "lifecycle": {"create_before_destroy": first == "created"}}
    native.apply(resources)
    web |= {"external_id": "two", "name": "web-2"}
    native.write(resources)

    planned = native.actions()["opsconsole_agent.a"]
    native.console.reset_log()
    native.console.fault(operation="agent_update", delay=0.3)
    native.run("apply", "-auto-approve", "-force")

    if first == "destroyed":
        assert planned == ["delete", "create"]
        assert writes(native)[-1] == "agent_create"
    else:
        assert planned == ["update"]
        assert writes(native)[-2:] == ["agent_update", "host_delete"]
    assert native.actions() == {}


def test_an_agent_moves_away_before_its_host_of_the_same_block_is_deleted(native_on):
    native = native_on("extended")
    resources = host_with_agent(host_id='${opsconsole_host.web["b"].id}')
    web = {"for_each": '${toset(["a", "b"])}', "name": "${each.key}"}
    resources["opsconsole_host"]["web"] = web
    plugin = {"agent_id": "${opsconsole_agent.a.id}", "plugin_id": "plg_disk"}
    resources["opsconsole_agent_plugin"] = {"p": plugin}
    native.apply(resources)
    web["for_each"] = '${toset(["a"])}'
    resources["opsconsole_agent"]["a"]["host_id"] = '${opsconsole_host.web["a"].id}'
    native.write(resources)
    native.console.reset_log()
    native.console.fault(operation="agent_update", delay=0.3)

    native.run("apply", "-auto-approve", "-force")
    assert writes(native) == ["agent_update", "host_delete"]


@pytest.mark.parametrize("literal", [False, True])
def test_a_reference_ends_before_what_it_referred_to_is_deleted(native, literal):
    old = {"external_id": "one"}
    native.apply(hosts(old=old))
    jumps = {"jump_host_ids": [native.id_of("opsconsole_host.old")]}
    native.apply(
        hosts(old=old, web=jumps if literal else {"knowledge": "${opsconsole_host.old.id}"})
    )
    native.console.reset_log()
    native.console.fault(operation="host_update", holds="none", delay=0.3)
    left = {"old": {"external_id": "two"}} if literal else {}
    native.apply(hosts(web={"knowledge": "none", "jump_host_ids": []}, **left), "-force")
    written = ("host_update", "host_delete")
    sent = [
        it for it in native.console.requests() if it["operation"] in written and it["body"] != {}
    ]
    assert [item["operation"] for item in sent] == ["host_update", "host_delete"]
    assert sent[0]["ended"] <= sent[1]["started"]


def test_host_stays_while_its_dependent_could_not_be_deleted(native):
    native.apply(hosts(a={}, b={"knowledge": "${opsconsole_host.a.id}"}))
    native.console.fault(
        operation="host_delete", path=native.id_of("opsconsole_host.b"), status=400
    )
    told = native.apply({}, expect=1).out
    assert "opsconsole_host.a (waited for opsconsole_host.b)" in told
    assert native.addresses() == ["opsconsole_host.a", "opsconsole_host.b"]


def test_a_destruction_follows_the_dependencies_in_state(native):
    """Step by step: here state notes b for c, and a for b."""
    a, b = ({"knowledge": f"${{opsconsole_host.{name}.id}}"} for name in "ab")
    native.apply(hosts(a={}, b={}, c=b), "-target=opsconsole_host.c")
    assert native.addresses() == ["opsconsole_host.b", "opsconsole_host.c"]
    native.apply(hosts(a={}, b=a, c=b), "-target=opsconsole_host.b")
    native.run("destroy", "-auto-approve", "-target=opsconsole_host.a")
    assert native.addresses() == []


def test_an_agent_follows_its_replaced_host_whatever_it_ignores(native):
    native.apply(host_with_agent(lifecycle={"ignore_changes": ["host_id"]}))

    planned = native.actions("-replace=opsconsole_host.web")

    assert set(map(tuple, planned.values())) == {("delete", "create")}
    assert set(planned) == {"opsconsole_host.web", "opsconsole_agent.a"}


@pytest.mark.parametrize("policy", ["delete", "abandon"])
def test_forgotten_host_archives_nothing(native, policy):
    resources = host_with_agent()
    resources["opsconsole_host"]["web"]["deletion_policy"] = policy
    native.apply(resources)
    block = {"from": "opsconsole_host.web", "lifecycle": {"destroy": False}}
    native.write(removed=[block] if policy == "delete" else [])

    result = native.run("plan")

    assert 'The agent "keeper"' in result.text and "it is not archived" in result.text
    assert "archived by" not in result.text


def test_a_new_agent_survives_the_deletion_of_its_old_host(native):
    resources = host_with_agent(lifecycle={"create_before_destroy": True})
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
    resources = host_with_agent(host_id='${opsconsole_host.web["b"].id}')
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
    resources = host_with_agent(host_id="${opsconsole_host.old.id}")
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
    resources = host_with_agent(specialty_id="spc_linux")
    linux = {"key": "linux-server", "deletion_policy": "delete"}
    native.apply(resources | {"opsconsole_specialty": {"linux": linux}})
    refused = native.run_plan(resources, expect=1).out
    assert "opsconsole_agent.a would still carry the specialty spc_linux, and the" in refused
    assert "Delete their hosts in the same run, give them another specialty, or set" in refused
    left = native.run_plan(resources, "-target=opsconsole_specialty.linux", expect=1).out
    assert "opsconsole_agent.a would still carry the specialty spc_linux" in left
    whole = native.settings["extra_endpoints"]
    native.settings["extra_endpoints"] = {it: whole[it] for it in whole if it != "agent_delete"}
    kept = {"opsconsole_host": resources["opsconsole_host"]}
    assert "opsconsole_agent.a would still carry" in native.run_plan(kept, expect=1).out
    native.settings["extra_endpoints"] = whole
    native.run_plan(host_with_agent(specialty_id="spc_windows"))
    native.apply(resources | {"opsconsole_specialty": {"linux": {"key": "linux-server"}}})
    assert "stays on the console" in native.run_plan(resources).out
    native.apply(resources | {"opsconsole_specialty": {"linux": linux}})
    native.console.reset_log()
    native.console.fault(operation="agent_delete", delay=0.3)

    native.apply(kept, "-force")

    assert writes(native) == ["agent_delete", "specialty_delete"]


def test_cycle_of_steps_is_refused_with_a_way_out(native):
    def write(key: str, jumps: list[str], **y: Any) -> None:
        x = {"for_each": {key: 1}, "jump_host_ids": jumps}
        native.write(hosts(x=x, y=y))

    write("old", ["${opsconsole_host.y.id}"], external_id="one")
    native.run("apply", "-auto-approve")
    write("new", [], external_id="two", jump_host_ids=['${opsconsole_host.x["new"].id}'])
    assert "form a cycle: each waits for another." in native.run("plan", expect=1).err
    native.run("apply", "-auto-approve", "-target=opsconsole_host.x")
    native.run("apply", "-auto-approve", "-force")
    assert native.actions() == {}


def test_a_specialty_that_refers_to_a_host_is_deleted_before_it(native_on):
    native = native_on("extended")
    it = {"key": "made", "name": "${opsconsole_host.web.name}", "deletion_policy": "delete"}
    native.apply({"opsconsole_host": {"web": {"name": "web"}}, "opsconsole_specialty": {"it": it}})
    native.apply({}, "-force")
    assert native.addresses() == []


@pytest.mark.parametrize(("count", "forced"), [(9, False), (10, True)])
def test_a_plan_that_takes_much_away_is_forced(native, fleet, count, forced):
    native.apply(fleet(count, agents=False))
    warned = native.run_plan(fleet(count - 5, agents=False)).out
    lost = "The plan removes 5 of 10 resources (50 %)\n│\n│ 5 would be deleted or replaced; a plan"
    assert (lost in warned) is forced
    result = native.run("apply", "-auto-approve", expect=1 if forced else 0)
    assert ("must be forced" in result.out) is forced
    if forced:
        assert len(native.console.rows("hosts")) == count
        native.run("apply", "-auto-approve", "--max-destroy", "50")
    assert len(native.console.rows("hosts")) == count - 5


def test_gone_hosts_need_force_and_a_destruction_none(native, fleet):
    native.apply(fleet(10, agents=False))
    for row in native.console.rows("hosts")[:4]:
        native.console.delete("hosts", row["id"])
    for command in ("apply", "destroy"):
        assert "4 are gone from the console" in native.run(command, "-auto-approve", expect=1).out
    native.run("apply", "-auto-approve", "--force")
    assert len(native.console.rows("hosts")) == 10
    native.run("destroy", "-auto-approve")
    assert native.console.rows("hosts") == []
