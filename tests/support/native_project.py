"""The native commands in a folder of their own, against an emulated console.

Commands run in this process, by the function behind the console script; what needs a process of
its own (signals, terminals, locks) starts one.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pytest

from declarations import agent_on, attributes_in, program
from engines import DriftCheck, Run, check_drift, planned_actions, run_command, start_process
from opsconsole.emulator import Emulator
from opsconsole.local_terraform import journal_of
from opsconsole.state import Intent, State
from opsconsole.state.journal import StartingState, decode_lines, encode_records, open_intents
from terminals import Session

LINUX = "${opsconsole_specialty.linux.id}"


@dataclass
class Native:
    """A folder with a program, and the native commands in it."""

    folder: Path
    console: Emulator
    monkeypatch: pytest.MonkeyPatch
    settings: dict[str, Any] = field(default_factory=dict)

    def write(self, resource: Mapping[str, Any] | None = None, **blocks: Any) -> None:
        """Write the program: its resources, and other blocks by name."""
        program = {"provider": {"opsconsole": [self.settings]}, "resource": dict(resource or {})}
        whole = {name: body for name, body in {**program, **blocks}.items() if body}
        (self.folder / "cdk.tf.json").write_text(json.dumps(whole))

    def at(self, name: str) -> Self:
        """Return a folder below this one, with the same console and settings."""
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        return replace(self, folder=self.folder / name)

    def run(self, *words: str, answer: str = "", expect: int | None = 0) -> Run:
        """Run a command; its exit code must be `expect`, unless that is None."""
        ended = run_command(*words, folder=self.folder, answer=answer)
        assert expect in (None, ended.code), ended.text
        return ended

    def apply(
        self, resource: Mapping[str, Any] | None = None, *words: str, expect: int = 0, **blocks: Any
    ) -> Run:
        """Write the program and apply it without a question."""
        self.write(resource, **blocks)
        return self.run("apply", "-auto-approve", *words, expect=expect)

    def run_plan(
        self, resource: Mapping[str, Any] | None = None, *words: str, expect: int = 0, **blocks: Any
    ) -> Run:
        """Write the program and plan it."""
        self.write(resource, **blocks)
        return self.run("plan", *words, expect=expect)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """Start a command as a process of its own."""
        options = {"env": {**os.environ, **self.console.environment}} | options
        command = (sys.executable, "-m", "opsconsole.cli.main")
        return start_process(*command, *words, cwd=self.folder, **options)

    def run_on_terminal(self, *words: str, expect: int = 0) -> str:
        """Run a command on a terminal of its own; return what it wrote there, with its colours."""
        command = [sys.executable, "-m", "opsconsole.cli.main", *words]
        names = os.environ.keys() - {"NO_COLOR", "FORCE_COLOR"}
        environment = {name: os.environ[name] for name in names} | self.console.environment
        session = Session(command, self.folder, environment)
        assert session.finish() == expect, session.text
        return session.raw.decode()

    def plan(self, *words: str) -> dict[str, Any]:
        """Plan, and return the plan in Terraform's JSON."""
        return json.loads(self.run("plan", "-json", *words, expect=None).out)

    def actions(self, *words: str) -> dict[str, list[str]]:
        """Plan, and return the actions by address; what needs none is left out."""
        return planned_actions(self.plan(*words).get("resource_changes", []))

    def drift(self, *words: str, expect: int | None = None) -> DriftCheck:
        """Check with `opsconsole drift`; return the exit code and what the JSON says."""
        return check_drift(self.folder, None, *words, expect=expect)

    @property
    def state_file(self) -> Path:
        """Where the state is."""
        return self.folder / "terraform.tfstate"

    @property
    def state(self) -> dict[str, Any]:
        """The state as it is in the file."""
        return json.loads(self.state_file.read_text())

    def addresses(self) -> list[str]:
        """The addresses in state."""
        return self.run("state", "list").out.split()

    def attributes(self, address: str) -> dict[str, Any]:
        """What state holds of one instance."""
        return attributes_in(self.state)[address]

    def id_of(self, address: str) -> str:
        """The id that state holds of one instance."""
        return str(self.attributes(address)["id"])


@pytest.fixture
def native_on(
    console_of: Callable[[str], Emulator], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Native]:
    """A folder of the native engine on a console of a profile, with the starter rows."""

    def make(profile: str) -> Native:
        console = console_of(profile)
        for name in [name for name in os.environ if name.startswith(("TF_", "OPSCONSOLE_"))]:
            monkeypatch.delenv(name)
        for name, value in console.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("NO_COLOR", "1")
        settings = dict(console.profile.provider_settings)
        return Native(tmp_path, console, monkeypatch, settings)

    return make


@pytest.fixture
def native(native_on: Callable[[str], Native]) -> Native:
    """A folder of the native engine on a sensible console."""
    return native_on("default")


@pytest.fixture
def fleet() -> Callable[..., dict[str, Any]]:
    """Resources: `hosts` hosts, each with an agent and a plugin where `agents`."""

    def make(hosts: int = 3, *, agents: bool = True, **fields: Any) -> dict[str, Any]:
        host = {"count": hosts, "name": "web-${count.index}", "tags": ["role:web"], **fields}
        found: dict[str, Any] = {"opsconsole_host": {"web": host}}
        if agents:
            agent = agent_on("web[count.index]", "agent-${count.index}", specialty_id=LINUX)
            plugin = {"agent_id": "${opsconsole_agent.a[count.index].id}", "plugin_id": "plg_disk"}
            found["opsconsole_specialty"] = {"linux": {"key": "linux-server"}}
            found["opsconsole_agent"] = {"a": {"count": hosts, **agent}}
            found["opsconsole_agent_plugin"] = {"p": {"count": hosts, **plugin}}
        return found

    return make


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
        jump = {"name": "jump", "is_jump_host": True, "tags": ["role:jump"]}
        whole = agent_on("jump", "whole", specialty_id=LINUX, plugin_ids=plugins)
        rows = {"format": {"id": "blk_format", "pattern": "mkfs.*"}}
        return program(
            specialty={"linux": {"key": "linux-server"}},
            host={"jump": jump, "web": web},
            agent={"ops": agent_on("web[count.index]", **on_each), "whole": whole},
            agent_plugin={"disk": {"count": hosts, **attached}},
            blacklisted_command=rows | {"wipe": {"id": "blk_wipe", "tenant_wide": True}},
        )

    return make


PROVIDER = 'provider["registry.terraform.io/opsconsole/opsconsole"]'


def intents_left(state_file: Path) -> list[Intent]:
    """Return the open intents in the journal beside a state."""
    journal = journal_of(state_file)
    if not journal.exists():
        return []
    return open_intents(decode_lines(journal.read_bytes().rstrip(b"\0"), "journal")[0])


def leave_intents(state_file: Path, intents: Sequence[Intent]) -> None:
    """Add open intents to the journal beside a state."""
    held = State.parse(state_file.read_bytes() if state_file.exists() else b"")
    base = StartingState("left", held.lineage, held.serial, held.digest(), held.empty)
    records = encode_records([base, *intents_left(state_file), *intents])
    journal_of(state_file).write_bytes(records)
