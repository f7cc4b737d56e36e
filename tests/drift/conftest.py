"""A folder with a program, applied to an emulated console, and `opsconsole drift` on it."""

import json
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from commands import run_command
from opsconsole.emulator import Emulator

LINUX = "${opsconsole_specialty.linux.id}"


@dataclass
class Checked:
    """What one `opsconsole drift` came to: its exit code, and its JSON."""

    code: int
    document: dict[str, Any]
    printed: str = ""

    @property
    def findings(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.document["findings"]
        return found

    def of(self, address: str) -> dict[str, Any]:
        """Return the one finding of an address."""
        [found] = [item for item in self.findings if item["address"] == address]
        return found

    def bucket(self, address: str) -> str:
        bucket: str = self.of(address)["bucket"]
        return bucket

    def changed(self, address: str) -> dict[str, tuple[Any, Any]]:
        """Return attribute to the values of state and console."""
        return {
            item["attribute"]: (item["state"], item["console"])
            for item in self.of(address)["differences"]
        }

    def addresses(self, bucket: str) -> set[str]:
        return {item["address"] for item in self.findings if item["bucket"] == bucket}

    @property
    def drifted(self) -> set[str]:
        """Addresses in a bucket that is drift, accepted or not; what is shown only is left out."""
        return {
            item["address"]
            for item in self.findings
            if item["bucket"] in ("changed", "missing", "archived", "unmanaged") and item["counted"]
        }

    @property
    def told(self) -> str:
        """Every diagnostic as one text."""
        return "\n".join(
            "\n".join(
                (f"{item['severity']}: {item['summary']}", item["detail"], *item["addresses"])
            )
            for item in self.document["diagnostics"]
        )


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
        wanted = {
            name: value
            for name, value in self.console.provider_settings.items()
            if name not in ("base_url", "api_key")
        }
        document = {"provider": {"opsconsole": [wanted | self.settings]}, **program}
        (where / "main.tf.json").write_text(json.dumps(document))
        return where

    def run(self, *words: str, folder: str = "") -> tuple[int, str, str]:
        """Run `opsconsole` in a folder; return exit code, stdout and stderr."""
        environment = self.console.environment
        ended = run_command(*words, folder=self.folder / folder, environment=environment)
        return ended.code, ended.out, ended.err

    def apply(self, program: Mapping[str, Any] | None = None, folder: str = "") -> None:
        """Apply natively; a console that imports on a dry run takes several runs."""
        if program is not None:
            self.write(program, folder)
        for _ in range(1 if self.console.profile.honours_dry_run else 3):
            code, out, err = self.run("apply", "-auto-approve", "-no-color", folder=folder)
        assert code == 0, out + err

    def drift(self, *words: str, folder: str = "") -> Checked:
        """Check, and return the exit code and what the JSON says."""
        file = self.folder / "drift.json"
        file.unlink(missing_ok=True)
        code, out, err = self.run("drift", "--format", f"json={file}", *words, folder=folder)
        assert file.exists(), out + err
        document = json.loads(file.read_text())
        assert document["verdict"]["exit_code"] == code
        return Checked(code, document, out + err)

    def state(self, folder: str = "") -> dict[str, dict[str, Any]]:
        """Return the attributes of every managed instance in state, by address."""
        text = (self.folder / folder / "terraform.tfstate").read_text()
        found = {}
        for resource in json.loads(text)["resources"]:
            if resource["mode"] != "managed":
                continue
            for instance in resource["instances"]:
                key = instance.get("index_key")
                shown = "" if key is None else f"[{json.dumps(key)}]"
                address = f"{resource['type']}.{resource['name']}{shown}"
                found[address] = instance["attributes"]
        return found

    def id_of(self, address: str, folder: str = "") -> str:
        found: str = self.state(folder)[address]["id"]
        return found

    def call(self, method: str, path: str, body: Any = None) -> None:
        """Call the console's API as somebody else."""
        request = urllib.request.Request(
            self.console.base_url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.console.api_key}"},
        )
        with urllib.request.urlopen(request) as answer:
            answer.read()


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
        return {
            "resource": {
                "opsconsole_specialty": {"linux": {"key": "linux-server"}},
                "opsconsole_host": {
                    "jump": {"name": "jump", "is_jump_host": True, "tags": ["role:jump"]},
                    "web": {
                        "count": hosts,
                        "name": "web-${count.index}",
                        "tags": ["role:web", "env:prod", "site:ams"],
                        "additional_names": ["b", "a"],
                        "jump_host_ids": ["${opsconsole_host.jump.id}"],
                        "depends_on": ["opsconsole_specialty.linux"],
                    },
                },
                "opsconsole_agent": {
                    "ops": {
                        "count": hosts,
                        "name": "ops-${count.index}",
                        "host_id": "${opsconsole_host.web[count.index].id}",
                        "specialty_id": LINUX,
                        "main_engine": "engine-a",
                    },
                    "whole": {
                        "name": "whole",
                        "host_id": "${opsconsole_host.jump.id}",
                        "specialty_id": LINUX,
                        "main_engine": "engine-a",
                        "plugin_ids": ["plg_metrics", "plg_disk"],
                    },
                },
                "opsconsole_agent_plugin": {
                    "disk": {
                        "count": hosts,
                        "agent_id": "${opsconsole_agent.ops[count.index].id}",
                        "plugin_id": "plg_disk",
                    }
                },
                "opsconsole_blacklisted_command": {
                    "format": {"id": "blk_format", "pattern": "mkfs.*"},
                    "wipe": {"id": "blk_wipe", "tenant_wide": True},
                },
            }
        }

    return make
