"""The cells of the fault matrix: each is run on a scene that is made once, and then put back."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rpc_core
from declarations import attributes_in
from engines import run_command
from fault_scenes import ADOPTED, KEY, SCENES, Declared, Scene, Target
from opsconsole.emulator import Emulator, serve
from opsconsole.emulator.faults import FAULT_KINDS
from opsconsole.lifecycle.private_state import is_sentinel
from patience import until

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


_ROWS = ("hosts", "agents", "attachments", "plugins", "specialties", "blacklists")
_PATIENT, _IMPATIENT = 10.0, 1.5
_LATE = {
    "late_answer": {"answer_delay": 0, "hold": "after"},
    "late_effect": {"delay": 0, "hold": "before"},
}
"""Faults of which the run hears nothing: the request is held until the run has ended."""
_BOMB = 256 << 20
"""Bytes: well over what an answer may hold, and quick to make."""

_COUNTED = {"host_list": "hosts", "agent_list": "agents", "blacklist_list": "blacklisted_commands"}
"""What drift counts, to the list that it asks for then."""

ALL_KINDS = ("refused", *FAULT_KINDS)


@dataclass
class Prepared:
    """A scene on a console of its own, as it is before the run under a fault."""

    scene: Scene
    engine: Engine
    kept: Any
    before: dict[str, Any]
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def console(self) -> Emulator:
        return self.engine.console

    def reset(self) -> None:
        self.console.accept()
        self.console.reset()
        self.engine.restore(self.kept)


class PreparedScenes:
    """The scenes that were asked for, by engine; `run` runs their consoles."""

    def __init__(self, folder: Path, stack: ExitStack, run: Callable[..., Any] = serve) -> None:
        self._folder, self._stack, self._run = folder, stack, run
        self._scenes: dict[tuple[str, str], Prepared] = {}

    def scene(self, engine: str, name: str) -> Prepared:
        if (engine, name) not in self._scenes:
            self._scenes[engine, name] = self._prepared(engine, name)
        found = self._scenes[engine, name]
        found.reset()
        return found

    def _prepared(self, engine_name: str, name: str) -> Prepared:
        scene = SCENES[name]
        folder = self._folder / f"{engine_name}-{name}"
        folder.mkdir()
        seed = self._folder / f"{engine_name}-{name}.json"
        with self._run(scene.profile, api_key=KEY) as starter:
            rows = {item: starter.rows(item) for item in _ROWS}
            settings = _settings(starter)
            before = ENGINES[engine_name](folder, starter, settings)
            if scene.before is not None:
                ran = before.run(scene.before)
                assert ran.code == 0, ran.text
                rows = {item: starter.rows(item) for item in _ROWS}
            kept = before.keep()
        seed.write_text(json.dumps(rows))
        console = self._stack.enter_context(self._run(scene.profile, seed=str(seed), api_key=KEY))
        engine = ENGINES[engine_name](folder, console, settings)
        found = Prepared(scene, engine, kept, rows)
        found.reset()
        # One request at a time, so that what precedes the first of an operation is known.
        engine.settings = {**engine.settings, "max_concurrency": 1}
        ran = engine.run(scene.program, destroy=scene.destroy)
        assert ran.code == 0, ran.text
        found.requests = console.requests()
        return found


def _settings(console: Emulator) -> dict[str, Any]:
    return {
        **console.profile.provider_settings,
        "max_retries": 1,
        "request_timeout": _PATIENT,
        "max_concurrency": 1,
    }


def arm(console: Emulator, target: Target, kind: str, requests: list[dict[str, Any]]) -> None:
    """Ask for the fault of a cell."""
    if kind == "refused":
        first = _first(target, requests)
        if first == 0:
            console.refuse()
        else:
            console.fault(refuse=True, skip=first - 1)
        return
    more: dict[str, Any] = {"inflates_to": _BOMB} if kind == "gzip_bomb" else _LATE.get(kind, {})
    if kind == "late_effect" and target.operation == "host_import":
        # The dry run that follows the lost import must find the hosts. The client sends it when the
        # late request has ended: this one is answered before the client cuts it, at twice the
        # timeout.
        more = {"delay": 1.5 * _IMPATIENT}
    console.fault(kind=kind, operation=target.operation, holds=target.holds, times=1, **more)


def _first(target: Target, requests: list[dict[str, Any]]) -> int:
    """Return the place of the first request that a target means."""
    for place, item in enumerate(requests):
        body = json.dumps(item["body"], separators=(",", ":"))
        if item["operation"] == target.operation and re.search(target.holds, body):
            return place
    raise LookupError(f"{target} is never sent")


@contextmanager
def under_fault(
    prepared: Prepared, target: Target, kind: str, requests: list[dict[str, Any]]
) -> Iterator[list[str]]:
    """Ask for the fault of a cell, and end it; what is wrong with it is in the list then."""
    engine, console, wrong = prepared.engine, prepared.console, list[str]()
    usual = engine.settings
    timeout = _IMPATIENT if kind in _LATE else _PATIENT
    engine.settings = {**usual, "request_timeout": timeout}
    console.reset_log()
    arm(console, target, kind, requests)
    yield wrong
    engine.settings = usual
    if kind != "refused" and not any(item["faulty"] for item in console.requests()):
        wrong.append("the fault met no request")
    console.clear_faults()
    # The console does what was asked of it, late as it may be.
    until(lambda: not console.traffic()["in_flight"])
    console.accept()


@dataclass(frozen=True)
class CellResult:
    """What one cell came to: the run under the fault, the clean run after it, and what is wrong.

    Attributes:
        adopted: Whether the run under the fault adopted the entry that is there already.
    """

    word: str
    after: str
    wrong: tuple[str, ...]
    first: CellRun
    second: CellRun
    adopted: bool = False


def play(prepared: Prepared, target: Target, kind: str) -> CellResult:
    """Run one cell: under the fault, then without it."""
    engine, scene = prepared.engine, prepared.scene
    with under_fault(prepared, target, kind, prepared.requests) as wrong:
        first = engine.run(scene.program, destroy=scene.destroy)
    word = _word(engine, first)
    adopted = ADOPTED in engine.state()
    wrong += [f"after the fault: {item}" for item in _found(prepared, first)]
    if word == "complete":
        wrong += [f"after the fault: {item}" for item in _incomplete(prepared, first)]
    second = engine.run(scene.program, destroy=scene.destroy)
    after = _word(engine, second)
    if after == "refused" and isinstance(engine, OverRpc) and "-refresh=false" in second.text:
        second = engine.run(scene.program, destroy=scene.destroy, refresh=False)
        after = f"refused, then {_word(engine, second)}"
    both = CellRun(second.code, first.text + second.text)
    wrong += [f"after the clean run: {item}" for item in _found(prepared, both)]
    if after.endswith(("complete", "warned")):
        wrong += [f"after the clean run: {item}" for item in _incomplete(prepared, second)]
    else:
        plan = engine.plans(scene.program, destroy=scene.destroy)
        if plan == 0:
            wrong.append("the run is not complete, and the next plan is empty")
    if kind == "not_found" and "not visible to this key" in first.text:
        # The console said so itself, and the user was told what follows from it.
        wrong = [item for item in wrong if "times" not in item]
    return CellResult(word, after, tuple(wrong), first, second, adopted)


def _found(prepared: Prepared, ran: CellRun) -> list[str]:
    return list(faults_of(prepared.engine, prepared.scene, ran, prepared.before))


def _word(engine: Engine, ran: CellRun) -> str:
    unknown = any(is_sentinel(item["id"]) for item in engine.state().values())
    if ran.code == 0:
        if unknown:
            return "claims to be complete"
        return "warned" if ran.warned else "complete"
    if unknown:
        return "unknown"
    return "alone" if ran.sent else "refused"


def _incomplete(prepared: Prepared, ran: CellRun) -> list[str]:
    """Return what is missing after a run that says it is complete."""
    engine, scene = prepared.engine, prepared.scene
    state, wrong = engine.state(), []
    wanted = set() if scene.destroy else set(scene.program)
    if set(state) != wanted:
        wrong.append(f"state holds {sorted(set(state) ^ wanted)} too much or too little")
    rows = live(engine.console)
    if scene.destroy:
        left = {row["name"] for row in rows["hosts"]} & {"a", "b"}
        if left:
            wrong.append(f"the hosts {left} are still there")
        return wrong
    code = engine.plans(scene.program)
    if code:
        wrong.append(f"the next plan exits with {code}")
    return wrong


def play_drift(prepared: Prepared, target: Target, kind: str) -> CellResult:
    """Run `opsconsole drift` under a fault on what was applied before a scene, then without it."""
    engine, console, before = prepared.engine, prepared.console, prepared.scene.before
    assert isinstance(engine, OverCommands) and before is not None
    words = ["drift", "--format", "json"]
    if target.operation in _COUNTED:
        words += ["--count-unmanaged", _COUNTED[target.operation]]
    engine.write(before)
    rows, state = live(console), engine.keep()
    requests = _sent(engine, words) if kind == "refused" else []
    with under_fault(prepared, target, kind, requests) as wrong:
        engine.write(before)
        ran = engine.command(*words)
    engine.write(before)
    again = engine.command(*words)
    if _drift_word(again) == "trouble":
        wrong.append(f"the clean check exits with {again.code}")
    if live(console) != rows:
        wrong.append("the console was changed")
    if engine.keep() != state:
        wrong.append("the state was changed")
    wrong += said_wrong(console, ran)
    return CellResult(_drift_word(ran), _drift_word(again), tuple(wrong), ran, again)


def _sent(engine: OverCommands, words: list[str]) -> list[dict[str, Any]]:
    engine.console.reset_log()
    engine.command(*words)
    return engine.console.requests()


def _drift_word(ran: CellRun) -> str:
    if ran.code == 1:
        return "trouble"
    if ran.code == 2:
        return "drift"
    found = json.loads(ran.text[ran.text.index("{") :])["findings"]
    unchecked = any(item["bucket"] == "unchecked" for item in found)
    return "unchecked" if unchecked else "clean"


def play_import(prepared: Prepared, target: Target, kind: str) -> CellResult:
    """Run `opsconsole hosts import` under a fault, and then as the user is told to."""
    engine, console = prepared.engine, prepared.console
    rows = [{"name": "row-a"}, {"name": "row-b"}]
    (engine.folder / "rows.json").write_text(json.dumps(rows))
    sent = [{"operation": "host_import", "body": {"dry_run": dry}} for dry in (True, False)]
    with under_fault(prepared, target, kind, sent) as wrong:
        engine.write({})
        ran = engine.command("hosts", "import", "rows.json")
    names = [row["name"] for row in console.rows("hosts")]
    wrong += said_wrong(console, ran)
    for name in ("row-a", "row-b"):
        if names.count(name) > 1:
            wrong.append(f"{name} is there {names.count(name)} times")
    made = "row-a" in names
    if ran.code == 0 and not made:
        wrong.append("it says that it imported what is not there")
    word = "complete" if ran.code == 0 else "unknown" if "It is not known" in ran.text else "failed"
    if word == "failed" and made:
        wrong.append("what was imported is called failed")
    return CellResult(word, "made" if made else "not made", tuple(wrong), ran, ran)
