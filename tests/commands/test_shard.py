"""`plan --shard K/N`: each stack of an app is planned by one of N calls, whatever the others do."""

from pathlib import Path
from typing import Any

import pytest

from declarations import write_stacks
from text_groups import read_rows

ROWS = read_rows(__file__)

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon")


@pytest.fixture
def app(native: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An app of five stacks with a host each, in the working directory."""
    monkeypatch.chdir(native.folder)
    write_stacks(native.folder, {name: {"resource": host(name)} for name in NAMES})
    return native


def host(name: str) -> dict[str, Any]:
    return {"opsconsole_host": {"h": {"name": name}}}


def test_each_stack_is_planned_by_one_of_the_shards(app):
    seen: list[str] = []
    for number in (1, 2, 3):
        said = app.run("plan", "--shard", f"{number}/3", "--html=plan-{stack}.html").text
        own = [name for name in NAMES if f"Stack {name}:" in said]
        noun = "stack" if len(own) == 1 else "stacks"
        assert f"Shard {number}/3: {len(own)} {noun}, {len(own)} with changes, 0 that" in said
        seen += own
    assert sorted(seen) == sorted(NAMES)
    assert all("opsconsole_host.h" in Path(f"plan-{name}.html").read_text() for name in NAMES)
    assert app.console.rows("hosts") == []


def test_exit_code_of_a_shard_is_of_all_its_stacks(app, tmp_path):
    words = ("plan", "--shard=1/1", "-detailed-exitcode")
    app.run(*words, expect=2)
    missing = {"backend": "local", "config": {"path": str(tmp_path / "nowhere.tfstate")}}
    blocks = {
        "data": {"terraform_remote_state": {"other": missing}},
        "output": {"o": {"value": "${data.terraform_remote_state.other.outputs.x}"}},
    }
    write_stacks(tmp_path, {"alpha": {}, "beta": blocks, "gamma": {"resource": host("gamma")}})
    said = app.run(*words, expect=1).text
    assert "is not applied yet" in said
    assert "1 to add" in said[said.index("Stack gamma:") :]
    assert "Shard 1/1: 3 stacks, 1 with changes, 1 that could not be planned." in said
    write_stacks(tmp_path, {"alpha": {}})
    app.run(*words)


def test_a_saved_plan_of_each_stack_is_applied(app):
    app.run("plan", "--shard=1/1", "-out={stack}.plan")
    app.run("apply", "alpha.plan")
    assert [row["name"] for row in app.console.rows("hosts")] == ["alpha"]


def test_a_program_of_files_has_no_shards(native, monkeypatch):
    monkeypatch.chdir(native.folder)
    native.write(host("a"))
    refused = native.run("plan", "--shard=1/1", expect=1)
    assert f"the program is the files of {native.folder}" in refused.err


@pytest.mark.parametrize(*ROWS["refused shards"])
def test_options_of_one_stack_and_wrong_shards_are_refused(words, part, app):
    assert part in app.run("plan", *words, expect=1).text
