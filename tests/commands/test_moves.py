"""Instances whose address changes: `moved` blocks, `count` that comes and goes, equal names."""

import json
from typing import Any

import pytest

from declarations import agent_on, host_with_agent, hosts
from text_groups import read_rows

ROWS = read_rows(__file__)

A, B, C, D = (f"opsconsole_host.{name}" for name in "abcd")


def moved(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"from": source, "to": target} for source, target in pairs]


def begin(native: Any, **declared: dict[str, Any]) -> None:
    native.apply(hosts(**declared))
    native.console.reset_log()


@pytest.mark.parametrize(
    ("before", "after", "address"),
    [({}, {"count": 1}, f"{A}[0]"), ({"count": 1}, {}, A)],
    ids=["a count comes", "a count goes"],
)
def test_a_count_moves_the_first_instance(native, before, after, address):
    begin(native, a=before)
    native.write(hosts(a=after))
    assert native.actions() == {}
    assert f"# {address} has moved from" in native.run("plan").out
    native.run("apply", "-auto-approve")
    assert native.addresses() == [address]
    assert len(native.console.rows("hosts")) == 1


def test_drift_of_what_moves_names_its_former_address(native):
    begin(native, a={})
    [row] = native.console.rows("hosts")
    native.console.change("hosts", row["id"], knowledge="k")
    native.write(hosts(b={"name": "a"}), moved=moved((A, B)))
    [drift] = native.plan()["resource_drift"]
    assert (drift["previous_address"], drift["address"]) == (A, B)


def test_a_block_that_names_the_resource_keeps_the_first_instance(native):
    begin(native, a={})
    # Its author wants the host to become the second one.
    many = {"count": 2, "name": '${["x", "a"][count.index]}'}
    native.write(hosts(a=many), moved=moved((A, f"{A}[1]")))
    assert native.actions() == {f"{A}[0]": ["create"]}
    native.run("apply", "-auto-approve")


@pytest.mark.parametrize("words", [(), ("-refresh-only",)])
@pytest.mark.parametrize("pairs", [((A, B), (B, C)), ((B, C), (A, B))])
def test_a_chain_is_followed_whatever_its_order(native, pairs, words):
    begin(native, a={})
    native.write(hosts(c={"name": "a"}), moved=moved(*pairs))
    assert native.actions() == {}
    native.run("apply", "-auto-approve", *words)
    assert native.addresses() == [C]


@pytest.mark.parametrize("turned", [False, True], ids=["as written", "turned"])
@pytest.mark.parametrize(*ROWS["moves of instances and resources"])
def test_moves_of_instances_and_resources_meet_in_any_order(native, before, pairs, after, turned):
    """As in Terraform, where an instance without a key and its resource are two addresses."""
    begin(native, **before)
    native.write(hosts(**after), moved=moved(*(reversed(pairs) if turned else pairs)))
    assert native.actions() == {}
    native.run("apply", "-auto-approve")
    assert native.console.request_counts().keys() == {"host_update"}


def test_moved_block_needs_a_free_address(native):
    begin(native, a={"count": 2, "name": "a${count.index}"}, b={"count": 1, "name": "b"})
    native.write(hosts(b={"count": 2, "name": "b${count.index}"}), moved=moved((A, B)))
    plan = native.run("plan", "-detailed-exitcode", expect=2)
    assert f"{A}[1] could not move to {B}[1]" in plan.text
    # As in Terraform a resource moves as a whole or not at all.
    removed = {f"{A}[0]": ["delete"], f"{A}[1]": ["delete"]}
    assert native.actions() == {**removed, f"{B}[0]": ["update"], f"{B}[1]": ["create"]}
    # Nobody has asked for the move to the first instance.
    native.run("state", "mv", f"{A}[1]", B)
    native.write(hosts(b={"count": 1, "name": "b"}))
    assert "could not move" not in native.run("plan").text


@pytest.mark.parametrize(*ROWS["refused moves"])
def test_blocks_that_make_no_sense_are_refused(native, declared, pairs, said):
    begin(native, a={})
    removed = [] if pairs else [{"from": A, "lifecycle": {"destroy": False}}]
    several = {name: {"count": 2} for name in declared}
    native.write(hosts(**several), moved=moved(*pairs), removed=removed)
    # Nothing is removed by a refresh, and every mode moves.
    for mode in ("-destroy", *(["-refresh-only"] if pairs else []), "-refresh"):
        assert said in native.run("apply", "-auto-approve", mode, expect=1).text
    assert not {"host_import", "host_delete"} & native.console.request_counts().keys()


def test_an_instance_makes_room_for_a_resource(native):
    begin(native, a={"count": 1}, b={"count": 1})
    pairs = ((f"{B}[0]", C), (A, B), (C, D), (f"{A}[0]", "opsconsole_host.e"))
    native.write(hosts(b={"count": 0}, d={"name": "b"}), moved=moved(*pairs))
    assert native.actions() == {"opsconsole_host.e": ["delete"]}
    native.run("apply", "-auto-approve")
    assert (native.addresses(), native.attributes(D)["name"]) == ([D], "b")


def test_a_target_must_not_leave_out_what_moves(native):
    begin(native, a={}, c={})
    native.write(hosts(b={"name": "a"}, c={"knowledge": "k"}), moved=moved((A, B)))
    assert f"--target='{A}' --target='{B}'" in native.run("plan", f"-target={C}", expect=1).text
    native.run("apply", "-auto-approve", f"-target={A}", f"-target={B}")
    assert native.addresses() == [B, C]


def test_moved_resource_can_be_forgotten(native):
    begin(native, a={})
    letting_go = [{"from": B, "lifecycle": {"destroy": False}}]
    native.write(moved=moved((A, B)), removed=letting_go)
    assert native.actions() == {B: ["forget"]}
    native.run("apply", "-auto-approve")
    assert native.addresses() == []
    assert len(native.console.rows("hosts")) == 1


@pytest.mark.parametrize("verb", ["apply", "destroy"])
def test_skip_destroy_of_opentofu_is_kept(native, verb):
    begin(native, a={}, c={})
    state = native.state
    for item in state["resources"]:
        item["instances"][0]["skip_destroy"] = True
    native.state_file.write_text(json.dumps(state))
    native.write(hosts(c={}))
    told = native.run(verb, "-auto-approve").text
    assert f"{A} leaves management and is not deleted" in told
    assert "skip_destroy" in told
    left = ["a"] if verb == "destroy" else ["a", "c"]
    assert sorted(row["name"] for row in native.console.rows("hosts")) == left
    assert native.addresses() == ([] if verb == "destroy" else [C])


def test_moved_agent_keeps_attributes_that_it_leaves_out(native):
    program = host_with_agent()
    native.apply(program)
    program["opsconsole_agent"] = {"b": {"name": "keeper"}}
    native.write(program, moved=moved(("opsconsole_agent.a", "opsconsole_agent.b")))
    assert native.actions() == {}
    refused = native.run("plan", "-replace=opsconsole_agent.b", expect=1).out
    assert "host_id is needed to create an agent" in refused


def test_resource_moved_beside_its_dependency_is_destroyed(native):
    begin(native, a={"for_each": {"x": 1}}, b={"jump_host_ids": [f'${{{A}["x"].id}}']})
    native.write(hosts(a={"for_each": {"x": 1, "y": 1}}), moved=moved((B, f'{A}["y"]')))
    native.run("destroy", "-auto-approve")
    assert native.addresses() == []


def test_a_refresh_that_moves_keeps_the_order_of_deletions(native_on):
    native = native_on("strict")
    through = {"name": "through", "jump_host_ids": [f"${{{A}.id}}"]}
    native.apply(hosts(a={"name": "jump"}, x=through))
    through["jump_host_ids"] = [f"${{{B}.id}}"]
    native.write(hosts(b={"name": "jump"}, x=through), moved=moved((A, B)))
    native.run("apply", "-auto-approve", "-refresh-only")
    native.apply({}, "-force")
    assert native.addresses() == []


def program(name: str, **more: Any) -> dict[str, Any]:
    """A jump host at an address with this name, its agent, and a host that goes through it."""
    jump = f"${{opsconsole_host.{name}.id}}"
    jump_host = {"name": "jump", "is_jump_host": True, **more}
    machines = hosts(**{name: jump_host}, web={"jump_host_ids": [jump]})
    return {**machines, "opsconsole_agent": {f"{name}_agent": agent_on(name, "ops")}}


NOTES = {"//": {"metadata": {"path": "fleet/north/gate", "uniqueId": "new"}}}


@pytest.mark.parametrize("more", [NOTES, {"knowledge": "other"}], ids=["equal", "changed"])
def test_old_host_is_deleted_before_the_new_one_is_judged(native, more):
    native.apply(program("old"))
    said = native.run_plan(program("new", **more), "-force").text
    assert "opsconsole_host.old and opsconsole_host.new look like one host that moved" in said
    assert "from = opsconsole_host.old" in said
    written = "in Python, of fleet/north/gate: move_from_id('opsconsole_host.old')"
    assert (written in said) == (more is NOTES)
    native.console.reset_log()
    native.run("apply", "-auto-approve", "-force")
    native.run("plan", "-detailed-exitcode")
    assert sorted(row["name"] for row in native.console.rows("hosts")) == ["jump", "web"]
    sent = [entry["operation"] for entry in native.console.requests()]
    assert sent.index("host_delete") < sent.index("host_import")
    native.write({"opsconsole_host": {"web": {"name": "web"}}})
    assert "look like" not in native.run("plan", "-force").text


@pytest.mark.parametrize(("count", "more"), [(10, ""), (12, "  and 2 more\n")])
def test_many_moved_hosts_are_one_warning(native, count, more):
    keys = json.dumps([f"web-{number}" for number in range(count)])
    web = {"for_each": f"${{toset({keys})}}", "name": "${each.key}", **NOTES}
    native.apply({"opsconsole_host": {"old": web}})
    said = native.run_plan({"opsconsole_host": {"new": web}}, "-force").text
    assert f"{count} hosts look as if they had moved" in said
    assert (" more\n" in said, more in said, "in Python" in said) == (bool(more), True, False)


def test_a_name_that_is_declared_twice_and_a_plan_without_a_request_are_told(native):
    said = native.run_plan({"opsconsole_host": {"a": {"name": "web"}}}, "-markdown=plan.md").text
    for shown in (said, (native.folder / "plan.md").read_text()):
        assert "No request was sent to the console for this plan" in shown
    native.run("apply", "-auto-approve")
    said = native.run_plan({"opsconsole_host": {name: {"name": "web"} for name in "ab"}}).text
    assert '2 hosts are named "web"' in said
    assert "opsconsole_host.a, opsconsole_host.b: a console may" in said
    assert "No request was sent" not in said
    native.write({"opsconsole_host": {name: {"name": "new"} for name in "cd"}})
    assert '2 hosts are named "new"' in native.run("plan", "-force").text
    for count, more in ((10, ""), (11, " and 1 more")):
        said = native.run_plan(hosts(many={"count": count, "name": "m"}), "-force").text
        assert f"opsconsole_host.many[9]{more}: a console may" in said
    orgs = {name: {"name": "web", "org_id": f"org_{name}"} for name in "cd"}
    assert "are named" not in native.run_plan({"opsconsole_host": orgs}, "-force").text


def test_an_agent_moves_before_its_old_host_is_deleted(native_on):
    """The deletion would archive it, so the new host is refused: nothing is lost."""
    native = native_on("extended")
    resources = host_with_agent()
    native.apply(resources)
    resources["opsconsole_host"] = {"new": resources["opsconsole_host"]["web"]}
    resources["opsconsole_agent"]["a"]["host_id"] = "${opsconsole_host.new.id}"
    native.apply(resources, "-force", expect=1)
    assert [row["status"] for row in native.console.rows("agents")] == ["idle"]
    assert len(native.console.rows("hosts")) == 1
