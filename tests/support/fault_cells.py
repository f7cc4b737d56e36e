"""The cells of the fault matrix: each is run on a scene that is made once, and then put back."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fault_engines import (
    ENGINES,
    CellRun,
    Engine,
    OverCommands,
    OverRpc,
    faults_of,
    live,
    said_wrong,
)
from fault_scenes import ADOPTED, KEY, SCENES, Scene, Target
from opsconsole.emulator import Emulator, serve
from opsconsole.emulator.faults import KINDS
from opsconsole.lifecycle.answers import is_sentinel
from patience import until

_ROWS = ("hosts", "agents", "attachments", "plugins", "specialties", "blacklists")
_PATIENT, _IMPATIENT = 10.0, 1.0
_LATE = ("late_answer", "late_effect")
_BOMB = 256 << 20
"""Bytes: well over what an answer may hold, and quick to make."""

_COUNTED = {"host_list": "hosts", "agent_list": "agents", "blacklist_list": "blacklisted_commands"}
"""What drift counts, to the list that it asks for then."""

ALL_KINDS = ("refused", *KINDS)


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
    more: dict[str, Any] = {"inflates_to": _BOMB} if kind == "gzip_bomb" else {}
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
    # The console does what was asked of it, late as it may be.
    until(lambda: not console.traffic()["in_flight"])
    console.clear_faults()
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
