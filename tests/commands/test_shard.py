"""`plan --shard K/N`: each stack of an app is planned by one of N calls, whatever the others do."""

from pathlib import Path
from typing import Any

import pytest

from commands import run_command, write_stacks

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon")


def run(*words: str) -> tuple[int, str]:
    """Run `opsconsole plan`; return its exit code and all that it wrote."""
    ended = run_command("plan", *words)
    return ended.code, ended.text


@pytest.fixture
def console(console_of, tmp_path, monkeypatch):
    """An app of five stacks with a host each, in the working directory."""
    console = console_of("default")
    for name, value in console.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    write_stacks(tmp_path, {name: {"resource": host(name)} for name in NAMES})
    return console


def host(name: str) -> dict[str, Any]:
    return {"opsconsole_host": {"h": {"name": name}}}


def test_each_stack_is_planned_by_one_of_the_shards(console):
    seen: list[str] = []
    for number in (1, 2, 3):
        code, said = run("--shard", f"{number}/3", "--html=plan-{stack}.html")
        assert code == 0, said
        own = [name for name in NAMES if f"Stack {name}:" in said]
        noun = "stack" if len(own) == 1 else "stacks"
        assert f"Shard {number}/3: {len(own)} {noun}, {len(own)} with changes, 0 that" in said
        seen += own
    assert sorted(seen) == sorted(NAMES)
    assert all("opsconsole_host.h" in Path(f"plan-{name}.html").read_text() for name in NAMES)
    assert console.rows("hosts") == []


def test_the_exit_code_is_of_all_stacks(console, tmp_path):
    assert run("--shard=1/1", "-detailed-exitcode")[0] == 2
    missing = {"backend": "local", "config": {"path": str(tmp_path / "nowhere.tfstate")}}
    blocks = {
        "data": {"terraform_remote_state": {"other": missing}},
        "output": {"o": {"value": "${data.terraform_remote_state.other.outputs.x}"}},
    }
    write_stacks(tmp_path, {"alpha": {}, "beta": blocks, "gamma": {"resource": host("gamma")}})
    code, said = run("--shard=1/1", "-detailed-exitcode")
    assert code == 1
    assert "is not applied yet" in said
    assert "1 to add" in said[said.index("Stack gamma:") :]
    assert "Shard 1/1: 3 stacks, 1 with changes, 1 that could not be planned." in said
    write_stacks(tmp_path, {"alpha": {}})
    assert run("--shard=1/1", "-detailed-exitcode")[0] == 0


def test_a_saved_plan_of_each_stack_is_applied(console):
    assert run("--shard=1/1", "-out={stack}.plan")[0] == 0
    assert run_command("apply", "alpha.plan").code == 0
    assert [row["name"] for row in console.rows("hosts")] == ["alpha"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--stack=alpha"], "-stack is for one stack"),
        (["--json"], "-json is for one stack"),
        (["-out=all.plan"], "Write {stack} where the stack's name belongs"),
        (["--markdown=plan.md"], "Write {stack} where the stack's name belongs"),
        (["--shard=3/2"], "Write K/N with K from 1 to N"),
    ],
)
def test_what_is_of_one_stack_or_no_shard_is_refused(words, part, console):
    code, said = run("--shard=1/2", *words)
    assert code == 1
    assert part in said
