"""Whatever way an object came into state: `drift` and Terraform's refresh see the same change.

Random consoles are filled, taken into state by one way, and then changed by a stranger: each
attribute of each object gets another value, or none, and each object goes away.
"""

import asyncio
import base64
import contextlib
import json
import os
import random
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import rpc_core
from consoles import in_process
from declarations import value_of_kind
from engines import run_command
from opsconsole.definition import Attribute
from opsconsole.emulator import ControlError, Emulator, profiles, serve
from opsconsole.resources import RESOURCES
from opsconsole.resources.agent_plugin.definition import PLUGIN_FIELDS
from opsconsole.state import InstanceObject
from sampling import EVERYTHING, sample

WAYS = ("apply", "import", "import block", "adopt")
SWITCHES: dict[str, tuple[Any, ...]] = {
    "unset": ("absent", "alternating", "absent"),
    "unset_lists": ("unset",),
    "order": ("sorted", "reversed"),
    "trims": (True,),
    "lowercases": (["mac", "additional_names"],),
    "assigns": (["external_id", "unique_id"],),
    "drops": (["mac", "unique_id"],),
    "fills_defaults": (False,),
    "connect_fields": ("ignored",),
    "nulls": ("clear",),
    "idle_update_bumps": (True,),
    "hidden_status": (403,),
    "empty_update": ("refused",),
    "has_more": ("absent", "always_true"),
    "total_count": ("never",),
    "agent_delete": ("archives",),
    "archived_plugins_status": (200,),
    "unknown_plugins_status": (200,),
}
NAMED: dict[str, tuple[Any, Any]] = {
    "org_id": ("org_main", "org_lab"),
    "tags": (["env:b", "env:a"], ["env:c"]),
    "host_id": ("hst_gate", "hst_other"),
    "jump_host_ids": (["hst_gate"], ["hst_other"]),
    "specialty_id": ("spc_linux", "spc_windows"),
    "disabled_rule_ids": (["rul_a"], ["rul_b"]),
}
"""Values of attributes that mean more than their kind tells."""


@dataclass(frozen=True)
class Object:
    """One object of a console: where its row is, and how it is imported."""

    address: str
    collection: str
    row_id: str
    import_id: str
    declared: Mapping[str, Any] = field(default_factory=dict)

    @property
    def type_name(self) -> str:
        return self.address.partition(".")[0]

    def attributes(self) -> Iterator[Attribute]:
        """What a stranger may change, by the definition."""
        definition = RESOURCES[self.type_name]
        shown = PLUGIN_FIELDS if self.collection == "plugins" else definition.answer_fields
        return (a for a in shown if a.name not in ("id", "plugin_ids") and not a.volatile)


def value(attribute: Attribute, variant: int) -> Any:
    """Return one of two values of an attribute."""
    if attribute.name in NAMED:
        return NAMED[attribute.name][variant]
    found = value_of_kind(attribute, variant)
    # Not in order, so that it shows where a console sorts.
    return found[::-1] if isinstance(found, list) else found


class Meeting:
    """A console, what it holds, and the way by which that came into a state."""

    def __init__(self, seed: int, way: str) -> None:
        choose = self.choose = random.Random(seed)
        base = profiles()[choose.choice(("default", "extended"))]
        names = choose.sample(list(SWITCHES), choose.randrange(5))
        self.switches = {name: choose.choice(SWITCHES[name]) for name in names}
        self.profile = base.with_values(self.switches)
        self.seed, self.way = seed, way

    def fill(self, console: Emulator) -> list[Object]:
        """Create the rows, each with some of its fields; hosts and agents unless `apply` does."""
        for name in ("gate", "other"):
            console.create("hosts", id=f"hst_{name}", name=name, is_jump_host=True)
        row = console.create("specialties", key="x", **self._some("opsconsole_specialty", "key"))
        found = [
            Object("opsconsole_specialty.x", "specialties", row["id"], row["id"], {"key": "x"})
        ]
        row = console.create(
            "blacklists",
            pattern="x",
            **self._some("opsconsole_blacklisted_command", "pattern", "org_id"),
        )
        declared = {"id": row["id"], "pattern": "x"}
        kind = "opsconsole_blacklisted_command"
        found.append(Object(f"{kind}.x", "blacklists", row["id"], row["id"], declared))
        host = {"name": "x"} | self._some("opsconsole_host", "name")
        needs = {"host_id": "hst_gate", "specialty_id": "spc_linux"}
        agent = needs | self._some("opsconsole_agent", *needs)
        if self.way == "apply":
            ids = ["", ""]
        else:
            ids = [
                console.create("hosts", **host)["id"],
                console.create("agents", status="idle", **agent)["id"],
            ]
            console.create("attachments", agent_id=ids[1], plugin_id="plg_disk")
            host, agent = {"name": "x"}, needs
        found.append(Object("opsconsole_host.x", "hosts", ids[0], ids[0], host))
        found.append(Object("opsconsole_agent.x", "agents", ids[1], ids[1], agent))
        attached = {"agent_id": ids[1] or "${opsconsole_agent.x.id}", "plugin_id": "plg_disk"}
        import_id = f"{ids[1]}/plg_disk"
        found.append(
            Object("opsconsole_agent_plugin.x", "plugins", "plg_disk", import_id, attached)
        )
        return found

    def _some(self, type_name: str, *without: str) -> dict[str, Any]:
        """Return values of some attributes: of those that can be declared, where `apply` does."""
        by_apply = self.way == "apply" and type_name in ("opsconsole_host", "opsconsole_agent")
        return {
            a.name: value(a, 0)
            for a in RESOURCES[type_name].answer_fields
            if a.name not in ("id", "plugin_ids", "created_at", "updated_at", "status", *without)
            and (not by_apply or (a.creatable and (a.optional or a.required)))
            and self.choose.random() < 0.5
        }

    def program(self, objects: list[Object]) -> dict[str, Any]:
        """Return the program that declares the objects, with the import blocks of that way."""
        resource: dict[str, Any] = {}
        for item in objects:
            resource.setdefault(item.type_name, {})["x"] = dict(item.declared)
        settings = self.profile.provider_settings
        program = {
            "terraform": {
                "required_providers": {"opsconsole": {"source": "opsconsole/opsconsole"}}
            },
            "provider": {"opsconsole": [dict(settings)]},
            "resource": resource,
        }
        if self.way == "import block":
            program["import"] = [{"to": item.address, "id": item.import_id} for item in objects]
        return program


class Seen:
    """Runs the commands of a meeting in a folder, and notes them for a reproduction."""

    def __init__(self, meeting: Meeting, console: Emulator, folder: Path) -> None:
        self.meeting, self.console, self.folder = meeting, console, folder
        self.environment = console.environment | {"OPSCONSOLE_MAX_RETRIES": "0"}
        extra = self.meeting.profile.provider_settings.get("extra_endpoints")
        if extra:
            self.environment["OPSCONSOLE_EXTRA_ENDPOINTS"] = json.dumps(extra)

    def run(self, *words: str, expect: tuple[int, ...] = (0,)) -> int:
        ran = run_command(*words, folder=self.folder, environment=self.environment)
        assert ran.code in expect, f"{shlex.join(words)}: {ran.code}\n{ran.text}"
        return ran.code

    def take_in(self, objects: list[Object]) -> None:
        """Bring all objects into state."""
        if self.meeting.way == "adopt":
            self.run("adopt", "--environment", *(item.import_id for item in objects))
            environment = {**os.environ, "CDKTF_OUTDIR": str(self.folder / "cdktf.out")}
            words = [sys.executable, "adopted.py"]
            subprocess.run(words, cwd=self.folder, env=environment, check=True)
            [file] = self.folder.glob("cdktf.out/stacks/*/cdk.tf.json")
            file.rename(self.folder / "main.tf.json")
            (self.folder / "cdktf.json").unlink()
            (self.folder / "adopted.py").unlink()
        else:
            (self.folder / "main.tf.json").write_text(json.dumps(self.meeting.program(objects)))
        if self.meeting.way == "import":
            for item in objects:
                self.run("import", item.address, item.import_id)
        else:
            self.run("apply", "-auto-approve", "-force")

    def drift(self) -> int:
        """Check against state; return the exit code."""
        words = ("--format", f"json={self.folder / 'drift.json'}", str(self.state_file()))
        return self.run("drift", *words, expect=(0, 1, 2))

    def differences(self) -> set[str]:
        """Return the attributes that the last check found changed."""
        findings = json.loads((self.folder / "drift.json").read_text())["findings"]
        return {one["attribute"] for item in findings for one in item.get("differences", ())}

    def state(self) -> dict[str, tuple[dict[str, Any], bytes]]:
        """Return attributes and private of each managed object in state."""
        document = json.loads(self.state_file().read_text())
        return {
            f"{item['type']}.{item['name']}": (
                instance["attributes"],
                base64.b64decode(instance.get("private", "")),
            )
            for item in document["resources"]
            if item["mode"] == "managed"
            for instance in item["instances"]
        }

    def state_file(self) -> Path:
        [file] = self.folder.glob("*.tfstate")
        return file

    def refresh(self) -> int:
        """Read as the provider does under `terraform plan -refresh-only -detailed-exitcode`."""
        return asyncio.run(self._refresh())

    async def _refresh(self) -> int:
        run = rpc_core.RpcRun({})
        settings = dict(self.console.provider_settings) | {"max_retries": 0}
        code = 0
        async with rpc_core.phase(settings, run) as work:
            for address, (attributes, private) in self.state().items():
                whole = RESOURCES[rpc_core.type_of(address)].empty() | attributes
                codec = work._codec(address)
                before = codec.decode(codec.encode(whole))
                assert before is not None
                prior = InstanceObject(rpc_core.SOURCE, dict(before), private=private)
                found = await work.read(address, prior)
                if found is None or found.attributes != before:
                    code = 2
        return 1 if run.errors else code


def cells(objects: list[Object]) -> Iterator[tuple[Object, str, int | None]]:
    """Yield each change: an attribute and a variant of its value, None for none; "": it is gone."""
    for item in objects:
        yield item, "", None
        for attribute in item.attributes():
            yield from ((item, attribute.name, variant) for variant in (0, 1, None))


def change(console: Emulator, item: Object, name: str, variant: int | None) -> Callable[[], None]:
    """Change one attribute as a stranger, or delete the row; return what undoes it."""
    row = console.row(item.collection, item.row_id)
    assert row is not None
    if not name:
        console.delete(item.collection, item.row_id)
    else:
        [attribute] = [a for a in item.attributes() if a.name == name]
        wanted = None if variant is None else value(attribute, variant)
        with contextlib.suppress(ControlError):  # a row that needs it
            console.change(item.collection, item.row_id, **{name: wanted})

    def undo() -> None:
        if name:
            console.delete(item.collection, item.row_id)
        console.create(item.collection, **row)

    return undo


def found_in_state(objects: list[Object], seen: Seen) -> list[Object]:
    """Return the objects with the ids that an apply gave them, or a program of `adopt`."""
    held = {}
    for address, (attributes, _) in seen.state().items():
        held[rpc_core.type_of(address)] = attributes
    found = []
    for item in objects:
        attributes = held.get(item.type_name)
        if attributes is None:  # `adopt` leaves out what it cannot read
            assert seen.meeting.way == "adopt"
            continue
        row_id = item.row_id if item.collection == "plugins" else attributes["id"]
        found.append(Object(item.address, item.collection, row_id, attributes["id"]))
    return found


def judge(seen: Seen, refresh: Callable[[], int], share: int | None) -> None:
    """Play so many of the changes, or all of them."""
    console, meeting = seen.console, seen.meeting
    objects = meeting.fill(console)
    what = (
        f"OPSCONSOLE_TEST_EVERYTHING=1 pytest '{__file__}' -k '[{meeting.seed}-{meeting.way}]'\n"
        f"{meeting.profile.name} {meeting.switches}"
    )
    seen.take_in(objects)
    objects = found_in_state(objects, seen)
    changes = list(cells(objects))
    if share is not None:
        changes = meeting.choose.sample(changes, share)
    for cell in [None, *changes]:
        undo = change(console, *cell) if cell else lambda: None
        drift = seen.drift()
        terraform = refresh()
        where = f"{what}: {cell and (cell[0].address, *cell[1:])}"
        assert (terraform == 2) <= (drift != 0), f"{where}: only Terraform sees it"
        assert (drift == 2) <= (terraform != 0), f"{where}: only drift sees it"
        assert seen.differences() <= {cell and cell[1]}, where
        undo()


pytestmark = [pytest.mark.meetings, pytest.mark.timeout(900)]
SEEDS = [(seed, way) for seed in range(60) for way in WAYS]


@pytest.mark.parametrize(("seed", "way"), sample(SEEDS, 8))
def test_drift_sees_what_the_provider_sees(seed, way, tmp_path):
    meeting = Meeting(seed, way)
    with in_process(meeting.profile) as console:
        seen = Seen(meeting, console, tmp_path)
        judge(seen, seen.refresh, None if EVERYTHING else 30)


@pytest.mark.terraform
@pytest.mark.parametrize(("seed", "way"), sample(SEEDS[:40], 1))
def test_drift_sees_what_terraform_sees(seed, way, tmp_path, terraform):
    meeting = Meeting(seed, way)
    with serve(meeting.profile) as console:
        seen = Seen(meeting, console, tmp_path)
        engine = terraform({}, console)
        engine.folder = tmp_path
        judge(seen, lambda: engine.plan_run("-refresh-only").code, 12 if EVERYTHING else 2)
