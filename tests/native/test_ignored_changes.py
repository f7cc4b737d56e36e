"""`ignore_changes`: what is left as it is, path by path, as Terraform takes it."""

from typing import Any

import pytest


def program(jumps: list[str], ignored: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {name: {"name": name} for name in ("one", "two")}
    references = [f"${{opsconsole_host.{name}.id}}" for name in jumps]
    found["web"] = {
        "name": "web",
        "jump_host_ids": references,
        "lifecycle": {"ignore_changes": ignored},
    }
    return {"opsconsole_host": found}


@pytest.mark.parametrize(
    ("declared", "kept"),
    [(["two"], ["one"]), (["two", "two"], ["one", "two"]), ([], [])],
    ids=["the element stays", "others follow", "what is not declared is not there"],
)
def test_one_element_of_a_list(native, declared, kept):
    native.apply(program(["one"], ["jump_host_ids[0]"]))
    native.apply(program(declared, ["jump_host_ids[0]"]))
    ids = {row["id"]: row["name"] for row in native.console.rows("hosts")}
    found = native.attributes("opsconsole_host.web")["jump_host_ids"]
    assert [ids[item] for item in found] == kept
    assert native.actions() == {}


@pytest.mark.parametrize(
    ("path", "said"),
    [("nonsense", 'there is no attribute "nonsense"'), ("tags[0]", "tags is a set")],
)
def test_a_path_that_names_nothing_is_refused(native, path, said):
    assert said in native.run_plan(program([], [path]), expect=1).err
