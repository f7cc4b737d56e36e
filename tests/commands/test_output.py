"""`output`: values, types and what is sensitive."""

import json
from typing import Any

import pytest

from declarations import hosts

HOST = {"opsconsole_host": {"a": {"name": "a"}}}
OUTPUTS = {
    "name": {"value": "${opsconsole_host.a.name}"},
    "list": {"value": ["x", 1, True]},
    "many": {"value": 3},
    "yes": {"value": True},
    "secret": {"value": "hidden", "sensitive": True},
}


def test_outputs(native):
    native.apply(HOST, output=OUTPUTS)
    for words, said in (
        (["name"], '"a"\n'),
        (["name", "-raw"], "a"),
        (["many", "--raw"], "3"),
        (["yes", "-raw"], "true"),
        (["secret"], '"hidden"\n'),
        (["list", "--json"], '["x", 1, true]\n'),
    ):
        assert native.run("output", *words).out == said
    for words, said in (
        (["none"], 'There is no output "none"'),
        (["list", "-raw"], "neither text, a number nor a boolean"),
        (["-raw"], "takes the name"),
    ):
        assert said in native.run("output", *words, expect=1).err
    found = native.run("output", "-no-color").out
    assert 'name = "a"' in found
    assert "secret = (sensitive value)" in found
    assert "hidden" not in found
    as_json = json.loads(native.run("output", "-json").out)
    assert as_json["secret"] == {"sensitive": True, "type": "string", "value": "hidden"}


def test_an_output_that_becomes_sensitive_is_changed(native):
    def declare(sensitive: bool) -> None:
        output = {"secret": {"value": "x", "sensitive": sensitive}}
        native.write(hosts(a={}), output=output)

    declare(False)
    native.run("apply", "-auto-approve")
    declare(True)
    native.run("plan", "-detailed-exitcode", expect=2)
    native.run("apply", "-auto-approve")
    assert native.state["outputs"]["secret"]["sensitive"] is True

    declare(False)
    change = native.plan()["output_changes"]["secret"]
    assert (change["actions"], change["before_sensitive"]) == (["update"], True)


def test_an_output_of_another_type_is_changed(native):
    native.apply(HOST, output={"none": {"value": "${tolist([])}"}})
    native.write(HOST, output={"none": {"value": []}})
    native.run("plan", "-detailed-exitcode", "-refresh-only", expect=2)
    native.run("plan", "-detailed-exitcode", expect=2)
    native.run("apply", "-auto-approve")
    assert native.state["outputs"]["none"]["type"] == ["tuple", []]
    native.run("plan", "-detailed-exitcode")


SECRET = {"secret": {"type": "string", "default": "hidden-words", "sensitive": True}}
HOSTS = {"opsconsole_host": {"h": {"name": "web", "knowledge": "${var.secret}"}}}
SHOWN = {"shown": {"value": "${opsconsole_host.h.knowledge}"}}


def test_an_output_of_a_sensitive_value_says_so_whatever_is_planned(native):
    native.apply(HOSTS, variable=SECRET)
    native.write(HOSTS, variable=SECRET, output=SHOWN)
    for words in (["-refresh-only"], []):
        told = native.run("plan", *words, expect=1)
        assert "its value is sensitive" in told.text
        assert "hidden-words" not in told.text
    declared = {"shown": {**SHOWN["shown"], "sensitive": True}}
    told = native.apply(HOSTS, "-refresh-only", variable=SECRET, output=declared)
    assert "hidden-words" not in told.text


NULLS = {
    "one": "${opsconsole_host.web[0].public_ip}",
    "each": "${opsconsole_host.web[*].public_ip}",
    "some": "${[for host in opsconsole_host.web : {ip = host.private_ip, port = host.knowledge}]}",
    "whole": "${opsconsole_host.web[1]}",
    "all": "${opsconsole_host.web}",
    "either": "${[opsconsole_host.web[0].public_ip == null ? null : true]}",
    "variable": "${[var.nothing, var.shape.size]}",
    "by_name": "${{for host in opsconsole_host.web : host.name => host.jump_host_ids}}",
    "never": "${[null]}",
}
VARIABLES = {
    "nothing": {"type": "string", "default": None},
    "shape": {"type": "object({size = optional(number)})", "default": {}},
}


@pytest.mark.terraform
def test_terraform_has_nothing_to_change_in_them(native_on, terraform):
    native = native_on("sparse")
    engine = terraform({}, native.console)
    for name, value in engine.environment.items():
        native.monkeypatch.setenv(name, value)
    native.folder = engine.folder
    resource = {"opsconsole_host": {"web": {"count": 2, "name": "web-${count.index}"}}}
    output = {name: {"value": value} for name, value in NULLS.items()}
    engine.write({"resource": resource, "variable": VARIABLES, "output": output})

    native.run("apply", "-auto-approve")
    written = engine.state()["outputs"]
    judged = engine.plan_run()
    engine.run("apply", "-auto-approve", "-refresh-only", "-no-color")

    assert judged.code == 0, judged.text
    assert {name: item.get("type") for name, item in written.items()} == {
        name: item.get("type") for name, item in engine.state()["outputs"].items()
    }
    native.run("plan", "-detailed-exitcode")


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        (["-refresh-only"], {}),
        (["-refresh-only", "-target=opsconsole_host.e"], {}),
        (['-target=opsconsole_host.e["z"]'], {"each": {"x": "x", "y": "y", "z": "z"}}),
        (["-target=opsconsole_host.c[1]"], {"counted": ["c0"], "number": 1}),
        (["-target=opsconsole_host.c[0]"], {}),
        ([], {"each": {"y": "y", "z": "z"}, "counted": ["c0"], "number": 1}),
    ],
    ids=["refresh", "refresh-some", "create", "remove", "neither", "all"],
)
def test_an_output_shows_the_instances_that_a_run_leaves(native, words, changes):
    """As in Terraform, where state holds others than are declared."""

    def declare(keys: str, count: int) -> dict[str, Any]:
        each = {"name": "${each.key}", "for_each": {key: key for key in keys}}
        return {"opsconsole_host": {"e": each, "c": {"name": "c${count.index}", "count": count}}}

    output = {
        "each": {"value": "${{for key, host in opsconsole_host.e : key => host.name}}"},
        "counted": {"value": "${opsconsole_host.c[*].name}"},
        "number": {"value": "${length(opsconsole_host.c)}"},
    }
    native.apply(declare("xy", 2), output=output)
    before = {"each": {"x": "x", "y": "y"}, "counted": ["c0", "c1"], "number": 2}
    native.write(declare("yz", 1), output=output)
    native.run("plan", "-out=saved.plan", *words)
    native.run("apply", "saved.plan")
    shown = {name: item["value"] for name, item in native.state["outputs"].items()}
    assert shown == before | changes
    native.run("plan", "-detailed-exitcode", *words)


@pytest.mark.parametrize("words", ["-refresh-only", '-target=opsconsole_host.e["y"]'])
def test_an_index_finds_the_instances_that_a_run_leaves(native, words):
    """As in Terraform: an index that no instance has is an error, which `try` catches."""

    def declare(keys: str) -> dict[str, Any]:
        return {"opsconsole_host": {"e": {"name": "${each.key}", "for_each": dict.fromkeys(keys)}}}

    native.apply(declare("xy"))
    output = {
        name: {"value": f'${{try(opsconsole_host.e["{name}"].name, "none")}}'} for name in "xyz"
    }
    native.write(declare("yz"), output=output)
    native.run("apply", "-auto-approve", words)
    shown = {name: item["value"] for name, item in native.state["outputs"].items()}
    assert shown == {"x": "x", "y": "y", "z": "none"}
    native.write(declare("yz"), output={"z": {"value": '${opsconsole_host.e["z"].name}'}})
    told = native.run("plan", words, expect=1).text
    assert "opsconsole_host.e has for_each, and no instance 'z': name one, such as" in told


@pytest.mark.parametrize("words", [[], ["-destroy"]])
def test_a_target_leaves_alone_the_outputs_of_what_else_there_is(native, words):
    declared = hosts("a", "b")
    a = declared["opsconsole_host"]["a"]
    output = {
        "of_both": {"value": ["${opsconsole_host.a.id}", "${opsconsole_host.b.id}"]},
        "of_a": {"value": "${opsconsole_host.a.knowledge}"},
        "of_data": {"value": "${length(data.opsconsole_specialties.all.specialties)}"},
        "literal": {"value": "one"},
    }
    blocks: dict[str, Any] = {"data": {"opsconsole_specialties": {"all": {}}}, "output": output}
    a["knowledge"] = "one"
    native.apply(declared, **blocks)
    before = native.state["outputs"]

    a["knowledge"] = output["literal"]["value"] = "two"
    native.write(declared, **blocks)
    words = [*words, "-target=opsconsole_host.a"]
    changes = native.plan(*words).get("output_changes", {})
    changing = {name for name, item in changes.items() if item["actions"] != ["no-op"]}
    native.run("apply", "-auto-approve", *words)

    after = native.state["outputs"]
    if "-destroy" in words:
        assert (changing, after) == (set(), before)
    else:
        assert changing == {"of_a"}
        assert after == before | {"of_a": {"value": "two", "type": "string"}}


def test_an_output_shows_what_is_read_again_after_the_last_step(native_on):
    native = native_on("rerouting")
    jump = {"jump": {"name": "jump", "is_jump_host": True}}
    native.apply({"opsconsole_host": jump})
    web = {"name": "web", "jump_host_ids": [native.attributes("opsconsole_host.jump")["id"]]}
    native.apply({"opsconsole_host": {"web": web, **jump}})
    native.console.fault(operation="host_delete", delay=0.1)
    ways = {"ways": {"value": "${opsconsole_host.web.jump_host_ids}"}}
    changed = {"name": "web", "knowledge": "k"}
    native.apply({"opsconsole_host": {"web": changed}}, "-force", output=ways)
    assert native.state["outputs"]["ways"]["value"] == []
    assert native.attributes("opsconsole_host.web")["jump_host_ids"] == []


def test_outputs_leave_state_where_something_failed(native):
    output = {name: {"value": name} for name in ("kept", "gone")}
    native.apply(HOST, output=output)
    del output["gone"]
    native.console.fault(method="POST", path="/hosts/batch$", status=500, times=None)
    native.apply(hosts("a", "b"), expect=1, output=output)
    assert set(native.state["outputs"]) == {"kept"}

    native.console.fault(operation="host_delete", status=500, times=None)
    native.run("destroy", "-auto-approve", expect=1)
    assert native.state["outputs"] == {}
    assert "opsconsole_host.a" in native.addresses()


def test_an_output_leaves_state_with_its_declaration_or_its_value(native):
    native.apply(HOST, output={name: {"value": name} for name in ("kept", "gone", "emptied")})
    values = {"kept": "kept", "emptied": "${null}", "no": "${null}"}
    output = {name: {"value": value} for name, value in values.items()}
    native.write(HOST, output=output)
    changes = {name: it["actions"] for name, it in native.plan()["output_changes"].items()}
    kept = {"kept": ["no-op"], "no": ["no-op"]}
    assert changes == {**kept, "gone": ["delete"], "emptied": ["update"]}
    native.run("apply", "-auto-approve")
    assert native.state["outputs"].keys() == {"kept"}
