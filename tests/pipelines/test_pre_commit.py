"""The pre-commit hooks, run by pre-commit in a repository that takes them from this one."""

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engines import ROOT
from opsconsole.emulator import Emulator
from pipeline_jobs import Machine, Repository, git, plain_program, run_shell

HOOKS = ROOT / ".pre-commit-hooks.yaml"
CONFIG = ROOT / "examples" / "pipelines" / "pre-commit" / ".pre-commit-config.yaml"
ADDRESS = "https://git.example.com/operations/opsconsole"


@pytest.fixture
def hooked(tmp_path: Path) -> Repository:
    """A project whose hooks come from a repository with the hooks of this one."""
    hooks = Repository(tmp_path / "hooks", {HOOKS.name: HOOKS.read_text()})
    git(hooks.folder, "tag", "v0.1.0")
    backend = {"local": {"path": str(tmp_path / "fleet.tfstate")}}
    config = CONFIG.read_text()
    assert ADDRESS in config
    files = {
        CONFIG.name: config.replace(ADDRESS, str(hooks.folder)),
        "main.tf.json": plain_program(backend, "web-1"),
    }
    return Repository(tmp_path / "project", files)


@pytest.fixture
def environment(
    machine: Machine, project: Callable[[], Path], console: Emulator, tmp_path: Path
) -> dict[str, str]:
    """The environment of someone who pushes: opsconsole and pre-commit are installed."""
    environment = machine.environment(machine.installed(project()))
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "pre-commit").symlink_to(Path(sys.executable).with_name("pre-commit"))
    path = f"{environment['PATH']}{os.pathsep}{tools}"
    home = str(tmp_path / "pre-commit")
    return environment | console.environment | {"PATH": path, "PRE_COMMIT_HOME": home}


def test_a_push_shows_the_plan_and_stops_where_there_is_none(hooked, environment, console):
    command = "pre-commit run --all-files --color=never --hook-stage pre-push opsconsole-plan"
    said = run_shell(command, hooked.folder, environment).text
    assert "1 to add, 0 to change, 0 to destroy" in said
    assert not console.rows("hosts")

    program = json.loads((hooked.folder / "main.tf.json").read_text())
    program["resource"]["opsconsole_host"]["web-1"]["target_port"] = 70_000
    hooked.commit({"main.tf.json": json.dumps(program)}, "A port that cannot be")
    said = run_shell(command, hooked.folder, environment, expect={1}).text
    assert "target_port" in said


def test_a_key_is_not_committed(hooked, environment):
    lines = (
        "OPSCONSOLE_API_KEY=svc_ak_4f8d2c6b9e1a7035",
        'key = "svc_ak_emulator_0123456789"',
        "OPSCONSOLE_API_KEY=svc_ak_emulator",
        "A key has the form svc_ak_<secret>.",
    )
    for kept, code in ((lines, 1), (lines[2:], 0)):
        (hooked.folder / "notes.txt").write_text("\n".join(kept))
        git(hooked.folder, "add", "notes.txt")
        command = "pre-commit run --color=never"
        said = run_shell(command, hooked.folder, environment, expect={code}).text
        assert re.findall(r"notes.txt:\d", said) == ["notes.txt:1", "notes.txt:2"] * code
        assert "opsconsole plan" not in said, "a plan is made before a push only"
