"""Whatever way an object came into state: `drift` and Terraform's refresh see the same change.

Random consoles are filled, taken into state by one way, and then changed by a stranger: each
attribute of each object gets another value, or none, and each object goes away.
"""

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import rpc_core
from consoles import in_process
from declarations import attributes_in, value_of_kind
from opsconsole.definition import Attribute
from opsconsole.emulator import ControlError, Emulator, profiles, serve
from opsconsole.resources import RESOURCES
from opsconsole.resources.agent_plugin.definition import PLUGIN_FIELDS
from opsconsole.state import State
from sampling import EVERYTHING, sample

PROVIDERS = {"opsconsole": {"source": "opsconsole/opsconsole"}}
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
    """A console, what it holds, and the way by which that comes into a state."""

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
        specialty = {"id": "spc_x", "key": "x", **self._some("opsconsole_specialty", "key")}
        console.create("specialties", **specialty)
        entry = {"id": "blk_x", "pattern": "x"}
        fields = self._some("opsconsole_blacklisted_command", "pattern", "org_id")
        console.create("blacklists", **entry, **fields)
        host = {"name": "x"} | self._some("opsconsole_host", "name")
        needs = {"host_id": "hst_gate", "specialty_id": "spc_linux"}
        agent = needs | self._some("opsconsole_agent", *needs)
        attachment = {"agent_id": "${opsconsole_agent.x.id}", "plugin_id": "plg_disk"}
        if self.way != "apply":
            console.create("hosts", id="hst_x", **host)
            console.create("agents", id="agt_x", status="idle", **agent)
            attachment = {"agent_id": "agt_x", "plugin_id": "plg_disk"}
            console.create("attachments", **attachment)
            host, agent = {"name": "x"}, needs
        return [
            Object("opsconsole_specialty.x", "specialties", "spc_x", "spc_x", {"key": "x"}),
            Object("opsconsole_blacklisted_command.x", "blacklists", "blk_x", "blk_x", entry),
            Object("opsconsole_host.x", "hosts", "hst_x", "hst_x", host),
            Object("opsconsole_agent.x", "agents", "agt_x", "agt_x", agent),
            Object(
                "opsconsole_agent_plugin.x", "plugins", "plg_disk", "agt_x/plg_disk", attachment
            ),
        ]

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

    def take_in(self, native: Any, objects: list[Object]) -> None:
        """Bring all objects into state."""
        if self.way == "adopt":
            native.run("adopt", "--environment", *(item.import_id for item in objects))
            environment = {**os.environ, "CDKTF_OUTDIR": str(native.folder / "cdktf.out")}
            words = [sys.executable, "adopted.py"]
            subprocess.run(words, cwd=native.folder, env=environment, check=True)
            [file] = native.folder.glob("cdktf.out/stacks/*/cdk.tf.json")
            file.rename(native.folder / "main.tf.json")
            (native.folder / "cdktf.json").unlink()
            (native.folder / "adopted.py").unlink()
        else:
            blocks: dict[str, Any] = {"terraform": {"required_providers": PROVIDERS}}
            if self.way == "import block":
                blocks["import"] = [{"to": it.address, "id": it.import_id} for it in objects]
            native.write({it.type_name: {"x": dict(it.declared)} for it in objects}, **blocks)
        if self.way == "import":
            for item in objects:
                native.run("import", item.address, item.import_id)
        else:
            native.run("apply", "-auto-approve", "-force")


def state_file(native: Any) -> Path:
    [file] = native.folder.glob("*.tfstate")
    return file


async def refresh(native: Any) -> int:
    """Read as the provider does under `terraform plan -refresh-only -detailed-exitcode`."""
    run = rpc_core.RpcRun({})
    settings = native.console.provider_settings | {"max_retries": 0}
    state = State.parse(state_file(native).read_bytes())
    code = 0
    async with rpc_core.phase(settings, run) as work:
        for address in map(str, state.addresses()):
            if address.startswith("data."):
                continue
            held = state.get(address)
            codec = work._codec(address)
            whole = RESOURCES[rpc_core.type_of(address)].empty() | held.attributes
            before = codec.decode(codec.encode(whole))
            found = await work.read(address, held._replace(attributes=dict(before)))
            if found is None or found.attributes != before:
                code = 2
    return 1 if run.errors else code


def cells(objects: list[Object]) -> Iterator[tuple[Object, str, int | None]]:
    """Yield each change: an attribute and a variant of its value, None for none; "": it is gone."""
    for item in objects:
        yield item, "", None
        for attribute in item.attributes():
            yield from ((item, attribute.name, variant) for variant in (0, 1, None))


@contextlib.contextmanager
def changed(console: Emulator, item: Object, name: str, variant: int | None) -> Iterator[None]:
    """Change one attribute as a stranger, or delete the row; undo it in the end."""
    row = console.row(item.collection, item.row_id)
    if not name:
        console.delete(item.collection, item.row_id)
    else:
        [attribute] = [a for a in item.attributes() if a.name == name]
        wanted = None if variant is None else value(attribute, variant)
        with contextlib.suppress(ControlError):  # a row that needs it
            console.change(item.collection, item.row_id, **{name: wanted})
    yield
    if name:
        console.delete(item.collection, item.row_id)
    console.create(item.collection, **row)


def found_in_state(objects: list[Object], native: Any, way: str) -> list[Object]:
    """Return the objects with the ids that an apply gave them; `adopt` leaves some out."""
    attributes = attributes_in(json.loads(state_file(native).read_text()))
    ids = {address.partition(".")[0]: held["id"] for address, held in attributes.items()}
    found = [item for item in objects if item.type_name in ids]
    assert found == objects or way == "adopt"
    return [
        item if item.collection == "plugins" else replace(item, row_id=ids[item.type_name])
        for item in found
    ]


def on_console(native: Any, meeting: Meeting, console: Emulator) -> Any:
    """Return the folder of the native engine, on the console of a meeting."""
    native = replace(native, console=console, settings=dict(meeting.profile.provider_settings))
    extra = json.dumps(native.settings.get("extra_endpoints", {}))
    environment = {"OPSCONSOLE_MAX_RETRIES": "0", "OPSCONSOLE_EXTRA_ENDPOINTS": extra}
    for name, text in (environment | console.environment).items():
        native.monkeypatch.setenv(name, text)
    return native


def judge(meeting: Meeting, native: Any, refresh: Callable[[], int], share: int | None) -> None:
    """Play so many of the changes, or all of them."""
    test = f"{test_drift_sees_what_the_provider_sees.__name__}[{meeting.seed}-{meeting.way}]"
    what = (
        f"OPSCONSOLE_TEST_EVERYTHING=1 pytest '{__file__}::{test}'\n"
        f"{meeting.profile.name} {meeting.switches}"
    )
    objects = meeting.fill(native.console)
    meeting.take_in(native, objects)
    objects = found_in_state(objects, native, meeting.way)
    changes = list(cells(objects))
    if share is not None:
        changes = meeting.choose.sample(changes, share)
    for cell in [None, *changes]:
        with changed(native.console, *cell) if cell else contextlib.nullcontext():
            drift = native.drift(str(state_file(native)))
            terraform = refresh()
            where = f"{what}: {cell and (cell[0].address, *cell[1:])}"
            assert (terraform == 2) <= (drift.code != 0), f"{where}: only Terraform sees it"
            assert (drift.code == 2) <= (terraform != 0), f"{where}: only drift sees it"
            differences = [one for item in drift.findings for one in item.get("differences", ())]
            assert {one["attribute"] for one in differences} <= {cell and cell[1]}, where


pytestmark = [pytest.mark.meetings, pytest.mark.timeout(900)]
SEEDS = [(seed, way) for seed in range(60) for way in WAYS]


@pytest.mark.parametrize(("seed", "way"), sample(SEEDS, 8))
def test_drift_sees_what_the_provider_sees(seed, way, native):
    meeting = Meeting(seed, way)
    with in_process(meeting.profile) as console:
        native = on_console(native, meeting, console)
        share = None if EVERYTHING else 30
        judge(meeting, native, lambda: asyncio.run(refresh(native)), share)


@pytest.mark.terraform
@pytest.mark.parametrize(("seed", "way"), sample(SEEDS[:40], 1))
def test_drift_sees_what_terraform_sees(seed, way, native, terraform):
    meeting = Meeting(seed, way)
    with serve(meeting.profile) as console:
        native = on_console(native, meeting, console)
        engine = terraform({}, console)
        engine.folder = native.folder
        share = 12 if EVERYTHING else 2
        judge(meeting, native, lambda: engine.plan_run("-refresh-only").code, share)
