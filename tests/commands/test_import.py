"""`import`, and `import` blocks: what they take into state, and what they refuse."""

from typing import Any

import pytest

from declarations import host_with_agent, hosts
from text_groups import read_rows

ROWS = read_rows(__file__)


def write(native: Any, type_name: str, wanted: str, **config: Any) -> None:
    block = {"to": f"{type_name}.x", "id": wanted}
    native.write({type_name: {"x": config}}, **{"import": [block]})


def test_import_is_no_change_by_others(native):
    native.console.create("hosts", id="hst_there", name="a", tags=["site:north"])
    write(native, "opsconsole_host", "hst_there", name="a")
    shown = native.run("plan").out
    assert "opsconsole_host.x will be imported" in shown
    assert "Plan: 1 to import, 0 to add, 0 to change, 0 to destroy." in shown
    assert "Objects have changed" not in shown
    assert native.plan().get("resource_drift", []) == []


def test_an_import_that_is_replaced_counts_once(native):
    native.console.create("hosts", id="hst_there", name="a", external_id="e1")
    write(native, "opsconsole_host", "hst_there", name="a", external_id="e2")
    counts = "1 imported, 1 added, 0 changed, 1 destroyed."
    assert counts in native.run("apply", "-auto-approve").out


@pytest.mark.parametrize(*ROWS["test_an_id_may_come_from_a_data_source"])
def test_an_id_may_come_from_a_data_source(native, block):
    """It is read first, and once; so it works in Terraform too."""
    native.write(
        {"opsconsole_specialty": {"x": {"key": "linux-server"}}},
        data={"opsconsole_specialty": {"s": {"key": "linux-server"}}},
        locals={"found": "${data.opsconsole_specialty.s.id}"},
        **{"import": [{"to": "opsconsole_specialty.x", **block}]},
    )
    assert native.run("validate").code == 0
    native.console.reset_log()
    native.run("apply", "-auto-approve")
    assert native.console.request_counts() == {"specialty_search": 1}
    assert native.addresses() == ["data.opsconsole_specialty.s", "opsconsole_specialty.x"]
    assert native.run("plan", "-detailed-exitcode").code == 0


def test_an_id_may_come_from_what_state_holds(native):
    native.console.create("hosts", id="hst_there", name="web")
    attached = {"agent_id": "${opsconsole_agent.a.id}", "plugin_id": "plg_disk"}
    whole = host_with_agent() | {"opsconsole_agent_plugin": {"p": attached}}
    host = {"opsconsole_host": whole["opsconsole_host"]}
    native.apply(host, **{"import": [{"to": "opsconsole_host.web", "id": "hst_there"}]})
    native.apply(whole)
    native.run("state", "rm", "opsconsole_agent_plugin.p")
    block = {"to": "opsconsole_agent_plugin.p", "id": "${opsconsole_agent.a.id}/plg_disk"}
    planned = native.run_plan(whole, **{"import": [block]}).out
    assert "1 to import, 0 to add, 0 to change" in planned


def test_import_id_of_a_failed_data_source_is_no_further_error(native):
    by_key = {name: {"opsconsole_specialty": {name: {"key": "no"}}} for name in "xs"}
    block = {"to": "opsconsole_specialty.x", "id": "${data.opsconsole_specialty.s.id}"}
    blocks = {"data": by_key["s"], "import": [block]}
    refused = native.run_plan(by_key["x"], expect=1, **blocks)
    # That of the data source, and that of the specialty, which is not there to adopt.
    assert refused.text.count("Error:") == 2
    assert "must be a known text" not in refused.text


@pytest.mark.parametrize(*ROWS["refused blocks"])
def test_an_import_is_refused_rather_than_destroyed(native, blocks, more, said):
    imports = []
    for number, name in enumerate(blocks, 1):
        native.console.create("hosts", id=f"hst_{number}", name=f"h{number}", org_id="org_main")
        imports.append({"to": f"opsconsole_host.{name}", "id": f"hst_{number}"})
    imports[-1] |= more
    assert said in native.apply(hosts(a={"count": 1}), expect=1, **{"import": imports}).text
    assert len(native.console.rows("hosts")) == len(blocks)


def test_import_keeps_dependencies(native, fleet):
    native.console.create("hosts", id="hst_0", name="web-0")
    native.console.create("agents", id="agt_0", name="x", host_id="hst_0", specialty_id="spc_linux")
    native.write(fleet(1))
    native.run("import", "opsconsole_host.web[0]", "hst_0")
    native.run("import", "opsconsole_agent.a[0]", "agt_0")
    [agent] = [item for item in native.state["resources"] if item["type"] == "opsconsole_agent"]
    assert agent["instances"][0]["dependencies"] == [
        "opsconsole_host.web",
        "opsconsole_specialty.linux",
    ]


@pytest.mark.parametrize(*ROWS["test_imports_that_are_refused"])
def test_imports_that_are_refused(native, address, wanted, said):
    native.apply(
        hosts(a={}, kept={}, many={"for_each": "${toset([opsconsole_host.kept.name])}"}),
        "-target=opsconsole_host.kept",
    )
    native.console.create("hosts", id="hst_1", name="one")
    native.console.fault(path="hst_odd", status=409)
    before = native.state
    refused = native.run("import", address, wanted, expect=1)
    assert said in refused.err
    assert refused.err.count("Error:") == 1
    assert native.state == before
