"""A host's name at two addresses of one plan: the old host goes first, and the plan says so."""

import json
from typing import Any

import pytest


def program(name: str, **more: Any) -> dict[str, Any]:
    """A jump host at an address with this name, its agent, and a host that goes through it."""
    jump = f"${{opsconsole_host.{name}.id}}"
    return {
        "opsconsole_host": {
            name: {"name": "jump", "is_jump_host": True, **more},
            "web": {"name": "web", "jump_host_ids": [jump]},
        },
        "opsconsole_agent": {
            f"{name}_agent": {"name": "ops", "host_id": jump, "specialty_id": "spc_linux"}
        },
    }


NOTES = {"//": {"metadata": {"path": "fleet/north/gate", "uniqueId": "new"}}}


@pytest.mark.parametrize("more", [NOTES, {"knowledge": "other"}], ids=["equal", "changed"])
def test_the_old_host_goes_before_the_new_one_is_judged(native, more):
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


def test_many_are_told_once(native):
    keys = json.dumps([f"web-{number}" for number in range(12)])
    web = {"for_each": f"${{toset({keys})}}", "name": "${each.key}"}
    native.apply({"opsconsole_host": {"old": web}})
    said = native.run_plan({"opsconsole_host": {"new": web}}, "-force").text
    assert "12 hosts look as if they had moved" in said
    assert "and 2 more." in said


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
    orgs = {name: {"name": "web", "org_id": f"org_{name}"} for name in "cd"}
    assert "are named" not in native.run_plan({"opsconsole_host": orgs}, "-force").text


@pytest.mark.parametrize("profile", ["extended"])
def test_an_agent_moves_before_its_old_host_is_deleted(native_on, profile):
    """The deletion would archive it, so the new host is refused: nothing is lost."""
    native = native_on(profile)

    def moved(name: str) -> dict[str, Any]:
        agent = {"name": "ops", "host_id": f"${{opsconsole_host.{name}.id}}"}
        return {
            "opsconsole_host": {name: {"name": "jump"}},
            "opsconsole_agent": {"ops": agent | {"specialty_id": "spc_linux"}},
        }

    native.apply(moved("old"))
    native.apply(moved("new"), "-force", expect=1)
    assert [row["status"] for row in native.console.rows("agents")] == ["idle"]
    assert len(native.console.rows("hosts")) == 1
