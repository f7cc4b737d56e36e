"""Where the native engine knowingly does other than Terraform: the rows of one table in the docs.

Plans and states are the same (`test_parity`). What differs is how a change is carried out and what
is refused; each row of the table has one scene here, which both engines live through.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from consoles import CONSOLES
from engines import ROOT
from opsconsole.emulator import serve
from patience import until
from shared_stack import SharedStack, actions

DOCUMENT = ROOT / "docs" / "guides" / "native.md"
HEADING = "### Where it does other than Terraform"

Scene = Callable[[SharedStack, SharedStack], None]
SCENES: dict[str, tuple[str, Scene]] = {}
"""First cell of a row to the profile and the scene that shows it."""


def scene(row: str, profile: str = "default") -> Callable[[Scene], Scene]:
    """Show a row of the table."""

    def register(shown: Scene) -> Scene:
        SCENES[row] = (profile, shown)
        return shown

    return register


def fleet(hosts: dict[str, dict[str, Any]], **others: dict[str, Any]) -> dict[str, Any]:
    """Return a program with these hosts, named as they are declared."""
    named = {name: {"name": name, **values} for name, values in hosts.items()}
    return {"resource": {"opsconsole_host": named, **others}}


AGENT = {"host_id": "${opsconsole_host.web.id}", "specialty_id": "spc_linux", "name": "agent"}


def attached(plugin: str) -> dict[str, str]:
    return {"agent_id": "${opsconsole_agent.agent.id}", "plugin_id": plugin}


def order(stack: SharedStack, *operations: str) -> list[str]:
    """Return which of these operations the console saw, in turn."""
    seen = [entry["operation"] for entry in stack.console.requests()]
    return [operation for operation in seen if operation in operations]


@scene("a host is deleted, with its agents and their attachments")
def cascade(ours: SharedStack, theirs: SharedStack) -> None:
    program = fleet(
        {"web": {}},
        opsconsole_agent={"agent": AGENT},
        opsconsole_agent_plugin={"disk": attached("plg_disk"), "logs": attached("plg_logs")},
    )
    for stack in (ours, theirs):
        stack.write(program)
        stack.native.apply()
        stack.write({})
        stack.console.reset_log()
    ours.native.apply()
    theirs.terraform.apply()

    writes = ("host_delete", "plugin_detach")
    assert order(ours, *writes) == ["host_delete"]
    assert order(theirs, *writes) == ["plugin_detach", "plugin_detach", "host_delete"]


@scene("a jump host goes, and hosts that stay no longer name it", "strict")
def jump_host(ours: SharedStack, theirs: SharedStack) -> None:
    jump = "${opsconsole_host.jump.id}"
    first = fleet({"jump": {"is_jump_host": True}, "web": {"jump_host_ids": [jump]}})
    for stack in (ours, theirs):
        stack.write(first)
        stack.native.apply()
        stack.write(fleet({"web": {"jump_host_ids": []}}))
        stack.console.reset_log()
    ours.native.apply()
    refused = theirs.terraform.apply(expect=None)

    assert order(ours, "host_delete") == ["host_delete"]
    assert ours.find("hosts", "jump") is None
    # This console refuses to delete a jump host that is in use.
    assert refused.code == 1
    assert theirs.find("hosts", "jump") is not None


@scene("a host goes, and one of the same name comes at another address")
def moved(ours: SharedStack, theirs: SharedStack) -> None:
    for stack in (ours, theirs):
        stack.write({"resource": {"opsconsole_host": {"old": {"name": "web"}}}})
        stack.native.apply()
        stack.write({"resource": {"opsconsole_host": {"new": {"name": "web"}}}})
        stack.console.reset_log()
    ours.native.apply()
    theirs.terraform.apply()
    deleted_first = ["host_delete", "host_import", "host_import"]
    assert order(ours, "host_import", "host_delete") == deleted_first
    assert order(theirs, "host_import", "host_delete")[-3:] == deleted_first


@scene("a host is replaced under an agent, on a console with `agent_update`", "extended")
def replaced(ours: SharedStack, theirs: SharedStack) -> None:
    for stack in (ours, theirs):
        for external in ("one", "two"):
            hosts = {"web": {"external_id": external}}
            stack.write(fleet(hosts, opsconsole_agent={"agent": AGENT}))
            if external == "one":
                stack.native.apply()

    address = "opsconsole_agent.agent"
    assert sorted(actions(ours.native.plan())[address]) == ["create", "delete"]
    assert theirs.terraform.plan().actions[address] == ["update"]
    ours.native.apply()
    assert ours.native.plan_run().code == 0
    assert theirs.terraform.apply(expect=None).code == 1
    assert theirs.terraform.plan().actions[address] == ["create"]


@scene("a host is deleted under an agent that stays declared with its literal id")
def deleted_under(ours: SharedStack, theirs: SharedStack) -> None:
    for stack in (ours, theirs):
        stack.write(fleet({"web": {}}))
        stack.native.apply()
        web = stack.find("hosts", "web")
        staying = {"opsconsole_agent": {"agent": AGENT | {"host_id": web["id"]}}}
        stack.write(fleet({"web": {}}, **staying))
        stack.native.apply()
        stack.write({"resource": staying})
    [refused] = ours.native.plan_run().errors
    assert refused["summary"].startswith("opsconsole_host.web cannot be deleted")
    theirs.terraform.apply()
    assert theirs.find("hosts", "web") is None
    assert [row["status"] for row in theirs.console.rows("agents")] == ["archived"]


@scene('an agent with `deletion_policy = "prevent"` goes with its host')
def prevented(ours: SharedStack, theirs: SharedStack) -> None:
    agent = AGENT | {"deletion_policy": "prevent"}
    for stack in (ours, theirs):
        stack.write(fleet({"web": {}}, opsconsole_agent={"agent": agent}))
        stack.native.apply()
        stack.write({})
    ours.native.apply()
    refused = theirs.terraform.apply(expect=None)

    assert ours.find("hosts", "web") is None
    assert refused.code == 1
    assert any("prevent" in error["detail"] for error in refused.errors)
    assert theirs.find("hosts", "web") is not None


@scene("a specialty is declared")
def adopted(ours: SharedStack, theirs: SharedStack) -> None:
    for stack in (ours, theirs):
        stack.write({"resource": {"opsconsole_specialty": {"linux": {"key": "linux-server"}}}})
    assert "1 to adopt" in ours.native.run("plan", "-input=false").text
    plan = theirs.terraform.plan()
    assert plan.actions == {"opsconsole_specialty.linux": ["create"]}
    assert "nothing is created" in plan.run.warnings[0]["summary"]


@scene(
    'a specialty with `deletion_policy = "delete"` goes, and so do the hosts whose agents carry it'
)
def carried(ours: SharedStack, theirs: SharedStack) -> None:
    carrying = AGENT | {"specialty_id": "${opsconsole_specialty.linux.id}"}
    program = fleet(
        {"web": {}},
        opsconsole_agent={"agent": carrying},
        opsconsole_specialty={"linux": {"key": "linux-server", "deletion_policy": "delete"}},
    )
    for stack in (ours, theirs):
        stack.write(program)
        stack.native.apply()
        stack.write({})
        stack.console.reset_log()
    # A slow deletion: who does not wait for it is refused with 409.
    ours.console.fault(operation="host_delete", delay=1.5)
    ours.native.apply()
    theirs.console.fault(operation="host_delete", hold="before")
    with ThreadPoolExecutor() as pool:
        applying = pool.submit(theirs.terraform.apply)
        until(lambda: applying.done() or "specialty_delete" in theirs.console.request_counts())
        theirs.console.clear_faults()
        applying.result()

    writes = ("host_delete", "specialty_delete")
    assert order(ours, *writes) == ["host_delete", "specialty_delete"]
    assert order(theirs, *writes).count("specialty_delete") > 1


@scene("the console reroutes hosts when their jump host is deleted", "rerouting")
def rerouted(ours: SharedStack, theirs: SharedStack) -> None:
    for stack in (ours, theirs):
        stack.write(fleet({"jump": {"is_jump_host": True}}))
        stack.native.apply()
        jump = stack.find("hosts", "jump")
        stack.write(fleet({"jump": {"is_jump_host": True}, "web": {"jump_host_ids": [jump["id"]]}}))
        stack.native.apply()
        # What the console drops by itself is to be left alone.
        web = fleet({"web": {"lifecycle": {"ignore_changes": ["jump_host_ids"]}}})
        stack.write(web)
    ours.native.apply()
    theirs.terraform.apply()

    def routes(stack: SharedStack) -> Any:
        return stack.normalised_state()["opsconsole_host.web[None]"]["attributes"]["jump_host_ids"]

    assert routes(ours) == []
    assert len(routes(theirs)) == 1


@scene("an attachment leaves the program after its host was deleted on the console", "fickle")
def orphaned(ours: SharedStack, theirs: SharedStack) -> None:
    agents = {"opsconsole_agent": {"agent": AGENT}}
    for stack in (ours, theirs):
        plugin = {"opsconsole_agent_plugin": {"disk": attached("plg_disk")}}
        stack.write(fleet({"web": {}}, **agents, **plugin))
        stack.native.apply()
        stack.write(fleet({"web": {}}, **agents))
        web = stack.find("hosts", "web")
        stack.call("DELETE", f"/api/v1/hosts/{web['id']}")
        # Nothing orders these two reads in Terraform; now the host's comes last.
        stack.console.fault(method="POST", path="^/api/v1/hosts/", delay=1.5)

    address = "opsconsole_agent_plugin.disk"
    assert address not in actions(ours.native.plan())
    assert theirs.terraform.plan().actions[address] == ["delete"]


@pytest.mark.terraform
@pytest.mark.real_client
@pytest.mark.parametrize("row", SCENES)
def test_the_engines_differ_as_the_document_says(row, terraform):
    profile, shown = SCENES[row]
    with serve(CONSOLES[profile]) as left, serve(CONSOLES[profile]) as right:
        shown(SharedStack(left, terraform({}, left)), SharedStack(right, terraform({}, right)))


def test_every_difference_is_in_the_one_table():
    section = DOCUMENT.read_text().partition(HEADING)[2].partition("\n#")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    assert [row.split("|")[1].strip() for row in rows[1:]] == list(SCENES)
