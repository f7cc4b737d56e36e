"""`capabilities` and `graph`: what a program can do, and what it depends on."""

import json

import pytest

from opsconsole.definition import LIFECYCLE_STEPS
from opsconsole.resources import RESOURCES
from opsconsole.resources.capabilities import Reach, capabilities
from opsconsole.v1.operations import missing_operation
from opsconsole.v1.settings import Settings


def test_graph_as_mermaid_and_dot(native, fleet):
    native.write(fleet(2), data={"opsconsole_specialties": {"all": {}}})
    mermaid = native.run("graph").out
    assert mermaid.startswith("flowchart LR\n")
    assert mermaid.count(" --> ") == 3
    dot = native.run("graph", "--format", "dot").out
    assert dot.startswith("digraph program {") and dot.rstrip().endswith("}")
    assert dot.count(" -> ") == 3


def test_capabilities_of_the_program(native):
    native.settings["extra_endpoints"] = {"agent_delete": "DELETE /api/v1/agents/{id}"}
    native.write()
    result = native.run("capabilities")
    assert "DELETE /api/v1/agents/{id} (named by you)" in result.out
    assert "lifted by extra_endpoints.blacklist_create" in result.out
    own = native.run("capabilities", "-environment", "-json")
    steps = json.loads(own.out)["capabilities"]
    reached = {item["reach"] for item in steps if item["type_name"] == "opsconsole_agent"}
    assert reached == {"full", "partial", "none"}
    assert native.console.request_counts() == {}


@pytest.mark.parametrize(
    ("options", "is_written", "said"),
    [
        ([], True, "The program has no provider configuration opsconsole.nope."),
        (["--environment"], True, "and --environment is given."),
        ([], False, "has no program."),
    ],
)
@pytest.mark.parametrize("command", [("capabilities",), ("hosts", "import", "hosts.json")])
def test_a_provider_that_is_not_declared_is_refused(native, command, options, is_written, said):
    if is_written:
        native.write()
    (native.folder / "hosts.json").write_text('[{"name": "a"}]')
    assert said in native.run(*command, "--provider", "nope", *options, expect=1).err
    assert native.console.requests() == []


def test_capabilities_follow_the_definitions():
    plain = {"base_url": "https://c.example", "api_key": "svc_ak_x"}
    items = capabilities(Settings.from_values(plain, {}))
    assert [item.documented for item in items] == [True] * len(RESOURCES) * len(LIFECYCLE_STEPS)
    for item in items:
        lift = missing_operation(RESOURCES[item.type_name], item.step)
        if not lift:
            continue
        assert f"extra_endpoints.{lift}" in item.lifted_by
        endpoint = "GET /x/{id}" if lift.endswith("get") else "POST /x/{id}"
        if lift.endswith(("create", "list")):
            endpoint = "POST /x"
        if lift.endswith("delete"):
            endpoint = "DELETE /x/{id}"
        lifted = capabilities(
            Settings.from_values({**plain, "extra_endpoints": {lift: endpoint}}, {})
        )
        [same] = [x for x in lifted if (x.type_name, x.step) == (item.type_name, item.step)]
        assert (same.reach, same.lifted_by, same.documented) == (Reach.FULL, (), False)


@pytest.mark.parametrize(
    ("settings", "step", "reach", "note", "lifted_by"),
    [
        ({}, "host read", "full", "whose answer is the host", ["extra_endpoints.host_get"]),
        (
            *({"host_read": "none"}, "host read", "none", 'host_read is "none"'),
            ["extra_endpoints.host_get", 'host_read = "empty_update"'],
        ),
        ({}, "agent read", "partial", "as last answered", ["extra_endpoints.agent_get"]),
        ({}, "specialty list", "partial", "the first", ["cursor_parameter and cursor_field"]),
        ({"cursor_parameter": "c", "cursor_field": "n"}, "specialty list", "full", "serves", []),
        ({"extra_endpoints": {"host_get": "GET /h/{id}"}}, "host read", "full", ".host_get", []),
    ],
)
def test_capabilities_follow_the_settings(settings, step, reach, note, lifted_by):
    plain = {"base_url": "https://c.example", "api_key": "svc_ak_x"}
    items = capabilities(Settings.from_values({**plain, **settings}, {}))
    [item] = [item for item in items if f"{item.type_name} {item.step}" == f"opsconsole_{step}"]
    assert (item.reach.value, [*item.lifted_by], note in item.note) == (reach, lifted_by, True)
    assert item.documented is ("extra_endpoints" not in settings)
