"""Both engines as the fault matrix drives them: one run, what it said, what state holds then."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rpc_core
from declarations import attributes_in
from engines import run_command
from fault_scenes import Declared, Scene
from opsconsole.emulator import Emulator
from opsconsole.lifecycle.answers import is_sentinel

_STATE = "terraform.tfstate"


@dataclass(frozen=True)
class CellRun:
    """How one run ended.

    Attributes:
        code: As a command would exit: 0, or 1 after an error.
        text: Everything that was said.
        sent: Whether anything was to be changed, and not only planned.
    """

    code: int
    text: str
    sent: bool = True
    warned: bool = False


class OverCommands:
    """`opsconsole` in a folder."""

    def __init__(self, folder: Path, console: Emulator, settings: Mapping[str, Any]) -> None:
        self.folder, self.console, self.settings = folder, console, settings

    def write(self, program: Declared) -> None:
        resource: dict[str, Any] = {}
        for address, values in program.items():
            type_name, _, name = address.partition(".")
            resource.setdefault(type_name, {})[name] = values
        whole = {"provider": {"opsconsole": [dict(self.settings)]}, "resource": resource}
        (self.folder / "cdk.tf.json").write_text(json.dumps(whole))

    def run(self, program: Declared, *, destroy: bool = False) -> CellRun:
        self.write(program)
        verb = "destroy" if destroy else "apply"
        return self.command(verb, "-auto-approve", "-force")

    def plans(self, program: Declared, *, destroy: bool = False) -> int:
        self.write(program)
        words = ["-destroy"] if destroy else []
        return self.command("plan", "-detailed-exitcode", *words).code

    def command(self, *words: str) -> CellRun:
        environment = {**self.console.environment, "NO_COLOR": "1"}
        ended = run_command(*words, folder=self.folder, environment=environment, together=True)
        text = ended.out
        failed = "Planning failed" in text or ("Apply" not in text and "Destroy" not in text)
        return CellRun(ended.code, text, not failed, "Warning: " in text)

    def state(self) -> dict[str, dict[str, Any]]:
        return attributes_in(json.loads(self.keep() or '{"resources": []}'))

    def keep(self) -> Any:
        path = self.folder / _STATE
        return path.read_bytes() if path.exists() else None

    def restore(self, kept: Any) -> None:
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        if kept is not None:
            (self.folder / _STATE).write_bytes(kept)


class OverRpc:
    """The Terraform provider, its calls made in Terraform's order."""

    def __init__(self, folder: Path, console: Emulator, settings: Mapping[str, Any]) -> None:
        self.folder, self.console = folder, console
        self.settings = {**settings, "base_url": console.base_url, "api_key": console.api_key}
        self._state: rpc_core.State = {}

    def run(self, program: Declared, *, destroy: bool = False, refresh: bool = True) -> CellRun:
        options: dict[str, Any] = {"destroy": destroy, "refresh": refresh, "folder": self.folder}
        run = rpc_core.run(self.settings, program, self._state, **options)
        self._state = run.state
        return CellRun(1 if run.errors else 0, run.text, run.applied, bool(run.warnings))

    def plans(self, program: Declared, *, destroy: bool = False) -> int:
        run = rpc_core.run(self.settings, program, self._state, destroy=destroy, apply=False)
        return 1 if run.errors else 2 if run.planned else 0

    def state(self) -> dict[str, dict[str, Any]]:
        return {address: item.attributes for address, item in self._state.items()}

    def keep(self) -> Any:
        return dict(self._state)

    def restore(self, kept: Any) -> None:
        self._state = dict(kept)


Engine = OverCommands | OverRpc
ENGINES: dict[str, Callable[..., Engine]] = {"native": OverCommands, "terraform": OverRpc}

_TRACE = re.compile(r"Traceback|[Uu]nforeseen|defect of the provider")


def said_wrong(console: Emulator, ran: CellRun) -> list[str]:
    """Return what no run may say."""
    wrong = [f"the run said {match[0]}"] if (match := _TRACE.search(ran.text)) else []
    return [*wrong, "the run said the key"] if console.api_key in ran.text else wrong


def live(console: Emulator) -> dict[str, list[dict[str, Any]]]:
    """Return the rows that are there for a user: archived agents are not."""
    rows = {
        name: console.rows(name)
        for name in ("hosts", "agents", "attachments", "specialties", "blacklists")
    }
    rows["agents"] = [row for row in rows["agents"] if row.get("status") != "archived"]
    ids = {row["id"] for row in rows["agents"]}
    rows["attachments"] = [row for row in rows["attachments"] if row["agent_id"] in ids]
    return rows


_PLACES = {
    "opsconsole_host": ("hosts", "name"),
    "opsconsole_agent": ("agents", "name"),
    "opsconsole_specialty": ("specialties", "key"),
    "opsconsole_blacklisted_command": ("blacklists", "pattern"),
}


def faults_of(
    engine: Engine, scene: Scene, ran: CellRun, before: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what must never be after any run, whatever went wrong in it.

    Args:
        ran: The last run, whose words may name what is in no state.
        before: The rows that were there before the scene.
    """
    state, rows = engine.state(), live(engine.console)
    yield from said_wrong(engine.console, ran)
    for address, values in scene.program.items():
        type_name = address.partition(".")[0]
        if type_name not in _PLACES:
            continue
        collection, label = _PLACES[type_name]
        found = [row for row in rows[collection] if row.get(label) == values.get(label)]
        if len(found) > 1:
            yield f"{address} is there {len(found)} times"
        old = {row["id"] for row in before.get(collection, ())}
        held = state.get(address)
        for row in found:
            if row["id"] in old or (held is not None and held["id"] == row["id"]):
                continue
            named = held is not None and is_sentinel(held["id"])
            if not named and address not in ran.text and row["id"] not in ran.text:
                yield f"{address} is on the console as {row['id']}, in no state and unnamed"
    for address, held in state.items():
        if not is_sentinel(held["id"]):
            yield from _claims(address, held, rows)


def _claims(
    address: str, held: Mapping[str, Any], rows: Mapping[str, list[dict[str, Any]]]
) -> Iterator[str]:
    """Yield what state claims of an object and the console does not hold."""
    type_name = address.partition(".")[0]
    if type_name == "opsconsole_agent_plugin":
        if held["id"] not in [row["id"] for row in rows["attachments"]]:
            yield f"state claims the attachment {held['id']}"
        return
    collection, _ = _PLACES[type_name]
    row = next((row for row in rows[collection] if row["id"] == held["id"]), None)
    if row is None:
        yield f"state claims {address} as {held['id']}, which is not there"
        return
    names = {"opsconsole_host": ("name",), "opsconsole_agent": ("name", "host_id")}
    for name in names.get(type_name, ()):
        if row.get(name) != held.get(name):
            yield f"state claims {name} {held.get(name)} of {address}, it is {row.get(name)}"
