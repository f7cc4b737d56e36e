"""A folder with a program, applied to an emulated console, and `opsconsole drift` on it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from commands import run_command
from consoles import call_api
from declarations import agent_on, attributes_in, program
from drift_checks import Checked, check_drift
from opsconsole.emulator import Emulator

LINUX = "${opsconsole_specialty.linux.id}"


@dataclass
class Ground:
    """One program in one folder, and its console."""

    folder: Path
    console: Emulator
    settings: dict[str, Any] = field(default_factory=dict)

    def write(self, program: Mapping[str, Any], folder: str = "") -> Path:
        """Write a program, with the provider settings that its console asks for."""
        where = self.folder / folder
        where.mkdir(parents=True, exist_ok=True)
        settings = {**self.console.profile.provider_settings, **self.settings}
        document = {"provider": {"opsconsole": [settings]}, **program}
        (where / "main.tf.json").write_text(json.dumps(document))
        return where

    def run(self, *words: str, folder: str = "", expect: int | None = None) -> tuple[int, str, str]:
        """Run `opsconsole` in a folder; return exit code, stdout and stderr."""
        environment = self.console.environment
        ended = run_command(*words, folder=self.folder / folder, environment=environment)
        assert expect in (None, ended.code), ended.text
        return ended.code, ended.out, ended.err

    def apply(self, program: Mapping[str, Any] | None = None, folder: str = "") -> None:
        """Apply natively; a console that imports on a dry run takes several runs."""
        if program is not None:
            self.write(program, folder)
        for _ in range(1 if self.console.profile.honours_dry_run else 3):
            code, out, err = self.run("apply", "-auto-approve", "-no-color", folder=folder)
        assert code == 0, out + err

    def drift(self, *words: str, folder: str = "", expect: int | None = None) -> Checked:
        """Check, and return the exit code and what the JSON says."""
        return check_drift(self.folder / folder, self.console, *words, expect=expect)

    def state(self, folder: str = "") -> dict[str, dict[str, Any]]:
        """Return the attributes of every managed instance in state, by address."""
        text = (self.folder / folder / "terraform.tfstate").read_text()
        return attributes_in(json.loads(text))

    def id_of(self, address: str, folder: str = "") -> str:
        found: str = self.state(folder)[address]["id"]
        return found

    def call(self, method: str, path: str, body: Any = None) -> None:
        """Call the console's API as somebody else."""
        call_api(self.console, method, path, body)


@pytest.fixture
def ground_on(
    console_of: Callable[[str], Emulator], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Ground]:
    """Make a ground on the console of a profile, which holds the starter rows."""

    def make(profile: str = "default", **settings: Any) -> Ground:
        console = console_of(profile)
        return Ground(tmp_path_factory.mktemp("ground"), console, settings)

    return make


@pytest.fixture
def ground(ground_on: Callable[..., Ground]) -> Ground:
    """A ground on a sensible console."""
    return ground_on()


@pytest.fixture(scope="session")
def world() -> Callable[..., dict[str, Any]]:
    """Make a program with every resource: `(hosts=2)`."""

    def make(hosts: int = 2) -> dict[str, Any]:
        web = {
            "count": hosts,
            "name": "web-${count.index}",
            "tags": ["role:web", "env:prod", "site:ams"],
            "additional_names": ["b", "a"],
            "jump_host_ids": ["${opsconsole_host.jump.id}"],
            "depends_on": ["opsconsole_specialty.linux"],
        }
        on_each = {"name": "ops-${count.index}", "count": hosts, "specialty_id": LINUX}
        plugins = ["plg_metrics", "plg_disk"]
        attached = {"agent_id": "${opsconsole_agent.ops[count.index].id}", "plugin_id": "plg_disk"}
        return program(
            specialty={"linux": {"key": "linux-server"}},
            host={
                "jump": {"name": "jump", "is_jump_host": True, "tags": ["role:jump"]},
                "web": web,
            },
            agent={
                "ops": agent_on("web[count.index]", **on_each),
                "whole": agent_on("jump", "whole", specialty_id=LINUX, plugin_ids=plugins),
            },
            agent_plugin={"disk": {"count": hosts, **attached}},
            blacklisted_command={
                "format": {"id": "blk_format", "pattern": "mkfs.*"},
                "wipe": {"id": "blk_wipe", "tenant_wide": True},
            },
        )

    return make
