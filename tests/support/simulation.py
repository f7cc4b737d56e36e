"""A world from a seed: the real commands, a console and a disk, in virtual time.

Users run commands one after the other, or one while another runs. Processes die at any request or
operation on a file, the power fails, requests meet faults, strangers change the console. Then the
trouble ends, and the world must come to rest: what the program declares, each thing once.
`world_rules` judges it, `simulated_machine` is what its commands run on.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import io
import itertools
import json
import math
import os
import random
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import simulated_terraform
from consoles import CONSOLES, call
from declarations import address_of
from declared_world import Declared
from engines import Run
from opsconsole.cli.main import main
from opsconsole.emulator import API_KEY
from opsconsole.emulator.application import Application
from opsconsole.emulator.console import EmulatedConsole
from opsconsole.emulator.faults import FAULT_KINDS, Fault
from opsconsole.emulator.profiles import SWITCHES, Profile
from opsconsole.emulator.seed import seed_store
from opsconsole.emulator.store import Row, Store, Table
from opsconsole.lifecycle.private_state import is_sentinel
from opsconsole.state import RunOptions
from shared_place import InMemory, Place
from simulated_disk import FOLDERS, Disk, DiskTrouble, Killed, Process
from simulated_machine import WorldLoop, machine_of
from virtual_time import Clock
from world_rules import (
    OURS,
    BrokenRule,
    check_at_rest,
    check_nothing_is_lost,
    check_words,
    judge_request,
)

READER = "reader"
"""The folder of a stack that reads the state of the first."""
FAULTS = (
    "reset_before", "reset_after", "cut_answer", "late_answer", "late_effect", "bad_request",
    "internal_error", "internal_error_after", "bad_gateway", "bad_gateway_after", "unavailable",
    "unavailable_after", "gateway_timeout_after", "request_timeout", "request_timeout_after",
    "rate_limited", "rate_limited_seconds", "wrong_shape", "empty_object", "null_answer",
    "garbage", "ids_null", "conflict", "forbidden", "too_large",
)  # fmt: skip
"""Kinds of faults that do not lie: a 404 for an object that is there rightly ends in another."""

OPERATIONS = (
    "host_import", "host_update", "host_delete", "agent_create", "plugin_attach", "plugin_list",
    "plugin_detach", "specialty_search", "blacklist_get", "blacklist_update",
)  # fmt: skip

TROUBLES = {
    "kill": 2, "power": 2, "fault": 2, "both": 1, "stop": 1, "abandon": 1,
    "two": 1, "stranger": 1, "late": 1, "machine": 2, "unlock": 1, "disk": 1,
}  # fmt: skip
"""What happens to a command, and how often beside the others."""


_TIED = ("honours_dry_run", "dry_run_parameter", "on_error_parameter")
"""Switches that only whole consoles set: another switch could make such a console unusable."""
_SWITCHES = {
    name: values
    for name in SWITCHES
    if name not in _TIED
    and (
        values := [
            value
            for console in CONSOLES.values()
            if not console.provider_settings
            and (value := getattr(console, name)) != getattr(CONSOLES["default"], name)
        ]
    )
}
"""The values of each switch that need no setting of the provider."""


_EXISTS = re.compile(r"It exists (?:already|now) as (hst_\w+): .*\n.* with (\S+)$", re.M)
_MAY_EXIST = re.compile(r"Import it if it exists\.\n.* with (\S+)$", re.M)
_UNKNOWN = re.compile(r"It is not known whether (\S+) was created")
_IMPORTED = re.compile(r'^  id += "(hst_\w+)"$', re.M)
_ID = re.compile(r"\b(?:hst|agt)_\w+")


class World:
    """Everything that happens, from one seed."""

    def __init__(self, seed: int, without: Iterable[str] = ()) -> None:
        """Make the world of a seed, without the parts of these names."""
        self.seed = seed
        self.random = random.Random(seed)
        self.clock = Clock()
        self.folder = Path(tempfile.mkdtemp(prefix=f"world-{seed}-", dir=FOLDERS))
        self.process: Process | None = None
        self.thread = threading.get_ident()
        self.disk = Disk(self._running)
        self.served: set[asyncio.Future[Any]] = set()
        self.log: list[str] = []
        self.story: list[str] = []
        self.requests = self.runs = self.points = 0
        self.task_numbers = itertools.count()
        self.profile = self._choose_console()
        self.place = Place(point=self._point) if self.random.random() < 0.3 else None
        self.embeds_journal = self.random.random() < 0.5
        self.declared = Declared(
            random.Random(f"{seed} declared"),
            random.Random(f"{seed} order"),
            self.profile.provider_settings,
            self.takes,
        )
        self.without, self.parts = frozenset(without), list[str]()
        # Its agents are archived with hosts of the first stack: the console must show that.
        shown = self.profile.archived_plugins_status == 404
        self.declared.is_read = shown and self.random.random() < 0.25 and self.takes("reader")
        self.stacks = [self.folder, *([self.folder / READER] if self.declared.is_read else ())]
        self.working_folder = self.folder
        self.named_unknown: set[str] = set()
        self.said_ids: set[str] = set()
        self.created: set[str] = set()
        self.deleted: set[str] = set()
        self._adopting = random.Random(f"{seed} adopt")
        self._choosing = random.Random(f"{seed} options")
        self._during: dict[int, Callable[[], object]] = {}
        self._late: list[tuple[float, tuple[Any, ...]]] = []
        self._losing = 0
        self.deleting = False
        self._broken: BrokenRule | None = None

    def _choose_console(self) -> Profile:
        """Return a console of the tests, or one of switches that are chosen one by one."""
        if self.random.random() < 0.7:
            return CONSOLES[self.random.choice(("default",) * 8 + tuple(CONSOLES))]
        chosen = self.random.sample(list(_SWITCHES), self.random.randrange(1, 6))
        switches = {name: self.random.choice(_SWITCHES[name]) for name in chosen}
        return CONSOLES["default"].model_copy(update={"name": f"{switches}", **switches})

    @contextlib.contextmanager
    def begun(self) -> Iterator[World]:
        """Put time, chance, disk and network of this process in the world's hands."""
        with machine_of(self) as patch:
            self.store = Store(seed=self.seed)
            seed_store(self.store, "starter", API_KEY)
            console = EmulatedConsole(self.store, self.profile)
            self.application = Application(console, lambda: None)
            for kind in OURS:
                self._note_deletions(patch, self.store.tables[kind])
            try:
                yield self
            finally:
                shutil.rmtree(self.folder, ignore_errors=True)

    def open_place(self, _kind: str, _block: object, _name: str, options: RunOptions) -> InMemory:
        assert self.place is not None
        return InMemory(self.place, options, embeds_journal=self.embeds_journal)

    def _running(self) -> Process | None:
        """Return the process that runs, unless a thread that another test left behind asks."""
        return self.process if threading.get_ident() == self.thread else None

    def _point(self, name: str) -> None:
        if self.process is not None:
            self.process.point(name)

    def _note_deletions(self, patch: pytest.MonkeyPatch, table: Table) -> None:
        remove = table.remove

        def note_and_remove(row_id: str) -> Row | None:
            self.deleted.add(row_id)
            return remove(row_id)

        patch.setattr(table, "remove", note_and_remove)

    def takes(self, part: str) -> bool:
        """Return whether a part of the world is in it: `without` leaves it out."""
        self.parts.append(part)
        return part not in self.without

    def delay(self) -> float:
        """Return the seconds that something takes."""
        return self.random.choice((0.0, 0.001, 0.01, 0.05, 0.2)) * (0.5 + self.random.random())

    # What a command does.

    def run(
        self,
        *words: str,
        dies_at: int = 0,
        signals_at: tuple[int, ...] = (),
        disk: DiskTrouble | None = None,
        program: Callable[[Sequence[str]], int] = main,
    ) -> Run:
        """Run a command to its end, or to its death; inside of another where one runs."""
        outer = self.process
        process = Process(words, dies_at, signals_at, program=program, disk=disk)
        before = {row["id"] for kind in OURS for row in self.store.tables[kind]}
        requests = self.requests
        running = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        self.process = process
        output = io.StringIO()
        code: int | None = None
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                code = program(words)
        except Killed:
            pass
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        finally:
            self.disk.bury(process)
            self.process = outer
            asyncio._set_running_loop(running)
        # A process may die where nothing is left to do but to say so.
        code = None if process.dead else code
        text = said = output.getvalue()
        self.runs += 1
        self.points += process.points
        # The seed does not choose the names of folders.
        for folder in (self.folder, self.working_folder):
            said = said.replace(str(folder), "FOLDER").replace(folder.name, "NAME")
        state = self.folder / "terraform.tfstate"
        stored = _digest(state.read_bytes()) if state.exists() else "no file"
        called = f"{words}: {code}, {process.points} points, state {stored}"
        self.log.append(f"{self.clock.now:.6f} {called}\n{said}")
        at = f" (killed at point {dies_at}, {process.died_at})" if process.dead else ""
        name = "opsconsole" if program is main else "terraform"
        self.story.append(f"{self.clock.now:9.1f} s  {name} {' '.join(words)}: {code}{at}")
        self.named_unknown |= {self.declared.name_of(address) for address in _UNKNOWN.findall(text)}
        self.said_ids |= set(_ID.findall(text))
        if self._broken is not None and outer is None:
            raise self._broken
        if "Traceback" in text or "unexpected" in text:
            raise BrokenRule(f"the command has a defect:\n{text}")
        check_words(self, text, before)
        if outer is None:
            check_nothing_is_lost(self, words)
            if self.requests - requests > 200 + 40 * sum(map(len, self.declared.addresses())):
                raise BrokenRule(f"{self.requests - requests} requests are sent")
        return Run(words, -signal.SIGKILL if code is None else code, text, "")

    def journals(self) -> bytes:
        shared = self.place.journal if self.place is not None else b""
        return shared + b"".join(self.contents("journal"))

    def contents(self, part: str = "") -> Iterator[bytes]:
        """Return what the files hold whose names have this part."""
        # Each request asks for it: Path.rglob takes several times longer.
        for folder, _, names in os.walk(self.folder):
            for name in names:
                if part in name:
                    yield Path(folder, name).read_bytes()

    def apply(self, **trouble: Any) -> Run:
        """Apply the program, whatever it deletes."""
        return self.run("apply", "-auto-approve", "-force", **trouble)

    def _suits_the_provider(self) -> bool:
        """Return whether `rpc_core` knows all that the program holds."""
        return self.working_folder == self.folder and not (
            self.declared.imports or self.declared.creates_first
        )

    def terraform(self) -> Run:
        """Apply the program through the provider, in Terraform's order of calls."""
        if self.journals() or [*self.folder.glob("*journal*")]:
            self.run("state", "fold")
        return self.run("apply", program=self._call_provider)

    def _call_provider(self, _words: Sequence[str]) -> int:
        before = self._state()
        after, run = simulated_terraform.apply(
            self.declared.program(), self.declared.instances(), before, self.folder
        )
        if self.place is not None:
            self.place.state = after
        elif after != before:
            (self.folder / "terraform.tfstate").write_bytes(after)
        for address, text in run.errors + run.warnings:
            print(f"{text}\n  with {address}")
            if "not known whether" in text:
                self.named_unknown.add(self.declared.name_of(address))
        tainted = [item for item in run.state.values() if item.tainted]
        if any(not is_sentinel(str(item.attributes["id"])) for item in tainted):
            raise BrokenRule(f"what exists is tainted:\n{run.text}")
        return 1 if run.errors else 0

    # What the console sees.

    def observe(self, process: Process, method: str, target: str, content: bytes) -> None:
        """Judge one request at the moment when it leaves."""
        self.requests += 1
        self._deliver_late_requests()
        self.log.append(f"{self.clock.now:.6f} {method} {target} {_digest(content)}")
        during = self._during.pop(self.requests, lambda: None)
        try:
            judge_request(self, process, method, target, content)
            during()
        except BrokenRule as broken:
            # The command would take it for a failure of its own.
            self._broken = self._broken or broken

    def loses_request(self, *request: Any) -> bool:
        """Return whether a write is lost on its way; it arrives later."""
        writes = request[0] != "GET" and b'"dry_run": true' not in request[-1]
        if not self._losing or not writes or b'"dry_run":true' in request[-1]:
            return False
        self._losing -= 1
        if self._losing:
            return False
        self._late.append((self.clock.now + self.random.random() * 800, request))
        self.story.append(f"{self.clock.now:9.1f} s  {request[0]} {request[1]} comes later")
        return True

    def _deliver_late_requests(self, *, all_of_them: bool = False) -> None:
        for due, request in [*self._late]:
            if all_of_them or due <= self.clock.now:
                self._late.remove((due, request))
                self._deliver(*request)

    def _deliver(self, *request: Any) -> None:
        """Let the console serve a request of which nobody waits for the answer."""
        serving = call(self.application, *request)
        if self.process is not None and self.process.loop is not None:
            self.served.add(task := self.process.loop.create_task(serving))
            task.add_done_callback(self.served.discard)
        else:
            with contextlib.closing(WorldLoop(self)) as loop:
                loop.run_until_complete(serving)

    # What goes wrong.

    def trouble(self) -> None:
        """Run a command, to which something happens."""
        [kind] = self.random.choices(list(TROUBLES), list(TROUBLES.values()))
        self.story.append(f"           {kind}")
        if kind in ("fault", "both"):
            self._add_faults()
        if kind == "late":
            self._losing = self.random.randrange(1, 8)
        if kind == "stranger":
            self._at_some_request(self._let_a_stranger_act)
        if kind == "two":
            self._at_some_request(self._run_beside)
        if kind == "unlock" and self.place is not None:
            self._at_some_request(self._run_elsewhere)
        dies = kind in ("kill", "power", "both", "machine")
        signals = self.random.sample(range(1, 70), {"stop": 1, "abandon": 2}.get(kind, 0))
        self.disk.forget(remember=kind == "power")
        with self.within(self.random.choice((*[self.folder] * 3, *self.stacks[1:]))):
            run = self._command(
                alone=kind in ("fault", "late", "stranger"),
                dies_at=self.random.randrange(1, 130) if dies else 0,
                signals_at=tuple(sorted(signals)),
                disk=self._disk_trouble() if kind == "disk" else None,
            )
        if kind == "power" and run.code == -signal.SIGKILL:
            for stack in self.stacks:
                self.disk.lose_power(self.random, stack)
        if kind == "machine" and self.place is not None:
            self._move_to_another_machine()
        self.application.faults.waiting.clear()
        self._during.clear()
        self._losing = 0

    def _disk_trouble(self) -> DiskTrouble:
        error = self.random.choice((errno.EIO, errno.ENOSPC, errno.EROFS))
        times = self.random.choice((1, 1, 3, math.inf))
        trouble = DiskTrouble(error, self.random.randrange(40), times)
        self.story.append(f"           {trouble}")
        return trouble

    def _move_to_another_machine(self) -> None:
        """Nothing is left but the program, as on a runner of a pipeline."""
        for file in self.folder.iterdir():
            if file.name not in ("main.tf.json", READER):
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        self.story.append("           the next command runs on another machine")

    def _run_elsewhere(self) -> None:
        """Release the lock of the run by force, on another machine, and apply there."""
        assert self.place is not None and self.process is not None
        if not self.place.lock:
            return
        outer, there = self.process, Path(tempfile.mkdtemp(prefix="elsewhere-", dir=FOLDERS))
        try:
            shutil.copy(self.folder / "main.tf.json", there)
            with self.within(there):
                self.run("force-unlock", "-force", self.place.lock)
                if self.random.random() < 0.7:
                    self.apply()
                # The run was frozen until now: its requests in flight began before.
                outer.lost_lock_at = self.clock.now
        finally:
            shutil.rmtree(there)

    @contextlib.contextmanager
    def within(self, folder: Path) -> Iterator[None]:
        """Run the commands of the block in a folder."""
        before, self.working_folder = self.working_folder, folder
        try:
            with contextlib.chdir(folder):
                yield
        finally:
            self.working_folder = before

    def _add_faults(self) -> None:
        for _ in range(self.random.randrange(1, 3)):
            fault = self.random.choice(FAULTS)
            operation = self.random.choice(OPERATIONS)
            times = self.random.choice((1, 1, 2, 6))
            skip = self.random.randrange(3)
            self.story.append(f"           {times} {fault} of {operation}, after {skip}")
            self.application.faults.waiting.append(
                Fault(**FAULT_KINDS[fault], operation=operation, skip=skip, times=times)
            )

    def _at_some_request(self, act: Callable[[], object]) -> None:
        self._during[self.requests + self.random.randrange(1, 25)] = act

    def _run_beside(self) -> None:
        commands = ("apply -auto-approve -force", "plan", "drift", "state list", "state fold")
        words = self.random.choice(commands).split()
        assert self.process is not None
        locks = self.process.words[0] in ("apply", "destroy", "plan")
        run = self.run(*words)
        if locks and words[0] == "apply" and run.code == 0:
            raise BrokenRule(f"two runs hold one state\n{run.text}")

    def _let_a_stranger_act(self) -> None:
        rows = list(self.store.hosts)
        if not rows:
            return
        row = self.random.choice(rows)
        if self.random.random() < 0.3:
            self.story.append(f"           a stranger deletes {row['name']}")
            path = f"/api/v1/hosts/{row['id']}"
            headers = [(b"authorization", f"Bearer {API_KEY}".encode())]
            self._deliver("DELETE", path, headers, b"")
        else:
            self.story.append(f"           a stranger changes {row['name']}")
            self.store.change("hosts", row["id"], {"knowledge": "a stranger's"})

    def _command(self, *, alone: bool, **trouble: Any) -> Run:
        if alone and self._suits_the_provider() and self.random.random() < 0.3:
            return self.terraform()
        kind = self.random.choices(
            ("apply", "saved", "destroy", "plan", "drift", "fold"), (12, 2, 1, 1, 1, 1)
        )[0]
        # Agents whose hosts stay cannot be deleted, and would be created a second time.
        if kind == "destroy" and self.working_folder != self.folder:
            kind = "plan"
        options = self._options() if kind in ("apply", "saved", "plan") else ()
        self.deleting = kind == "destroy" or "-replace" in options
        words = {"fold": ("state", "fold"), "drift": ("drift",), "plan": ("plan", *options)}
        if kind == "saved":
            run = self.run("plan", "-out", "saved.plan", "-force", *options)
            run = self.run("apply", "saved.plan", **trouble) if run.code == 0 else run
        else:
            run = self.run(*words.get(kind, (kind, "-auto-approve", "-force", *options)), **trouble)
        self.deleting = False
        return run

    def _options(self) -> tuple[str, ...]:
        """Return options that narrow, widen or change what a command plans."""
        declared = self.declared.addresses()[self.stacks.index(self.working_folder)]
        if not declared or not self.takes("options"):
            return ()
        address = self._choosing.choice(declared)
        # A host that is created first would have its own name a second time.
        replaces = "_host." in address and not self.declared.creates_first
        kinds = ((), ("-target", address), ("-refresh-only",), ("-refresh=false",), ("-preflight",))
        more = [("-parallelism", "1"), ("-replace", address) if replaces else ()]
        return self._choosing.choice([*[()] * 5, *kinds, *more])

    # How it ends.

    def settle(self) -> None:
        """Let each stack come to rest: the one that is read comes first."""
        for stack in self.stacks:
            with self.within(stack):
                self._come_to_rest()

    def _come_to_rest(self) -> None:
        """Without trouble, apply and do what the messages ask for, until nothing is left."""
        # A console that ignores dry_run stops a run at each chunk of hosts.
        for _ in range(6 if self.profile.honours_dry_run else 20):
            self._write_program()
            by_provider = self._suits_the_provider() and self.random.random() < 0.2
            run = self.terraform() if by_provider else self.apply()
            self.clock.advance(1000)
            self._deliver_late_requests()
            if run.code == 0 and not self._late:
                did_nothing = "Resources: 0 added, 0 changed, 0 destroyed" in run.text
                if did_nothing or self.run("plan", "-detailed-exitcode", "-force").code == 0:
                    return
            elif run.code != 0:
                self._do_what_the_messages_ask_for(run.text)
        raise BrokenRule(f"the world does not come to rest:\n{run.text}")

    def _do_what_the_messages_ask_for(self, text: str) -> None:
        """Import what the messages say is there; look up what may have been created."""
        if self.place is not None and self.place.lock:
            self.run("force-unlock", "-force", self.place.lock)
        for found, address in _EXISTS.findall(text):
            if self.run("import", address, found).code != 0:
                # The address holds the host that a replacement is created before.
                self.declared.settings = {**self.declared.settings, "on_existing_host": "adopt"}
        if "are reached through" in text:
            for row in (row for row in self.store.hosts if row["name"] in self.declared.unmanaged):
                self.store.change("hosts", row["id"], {"jump_host_ids": None})
        if "leave create_before_destroy out" in text:
            self.declared.destroy_first()
        for address in _MAY_EXIST.findall(text):
            self._import_by_name(address, self.declared.name_of(address))
        for address, item in self.instances():
            if is_sentinel(item["id"]):
                self.run("state", "rm", address)
                self._import_by_name(address, item["name"])

    def _import_by_name(self, address: str, name: str) -> None:
        """Import the declared object that the console has by a name, if there is one."""
        table = self.store.hosts if "_host." in address else self.store.agents
        rows = [row for row in table if row.get("name") == name]
        living = [row["id"] for row in rows if row.get("status") != "archived"]
        if living and self.declared.has(address):
            self.run("import", address, living[-1])

    def _state(self) -> bytes:
        if self.place is not None and self.working_folder == self.folder:
            return self.place.state
        file = self.working_folder / "terraform.tfstate"
        return file.read_bytes() if file.exists() else b""

    def instances(self) -> list[tuple[str, dict[str, Any]]]:
        """Return addresses and attributes of what is in state."""
        state = self._state()
        if not state:
            return []
        return [
            (address_of(item, instance), instance["attributes"])
            for item in json.loads(state)["resources"]
            for instance in item["instances"]
        ]

    def live(self) -> None:
        """Live through some versions of the program.

        Raises:
            BrokenRule: A rule was broken; its text tells the story.
        """
        try:
            for version in range(self.random.choice((2, 3))):
                self.declared.change()
                self._let_hosts_be_found()
                self._write_program()
                if self._adopting.random() < 0.2 and self.takes(f"adopt {version}"):
                    self._adopt()
                for step in range(self.random.randrange(1, 4)):
                    if self.takes(f"step {version}.{step}"):
                        self.trouble()
                self.settle()
                check_at_rest(self)
                if self.random.random() < 0.3 and self.takes(f"stranger {version}"):
                    self._let_a_stranger_act()
        except Exception as broken:
            story = "\n".join((f"seed {self.seed}, console {self.profile.name}", *self.story))
            raise BrokenRule(f"{story}\n{type(broken).__name__}: {broken}") from broken

    def _let_hosts_be_found(self) -> None:
        """Let hosts be there that the program declares, with a block that imports them."""
        for host in self.declared.found():
            for found in self._create_as_stranger(host.name, f"{host.name}-{host.revision}"):
                self.declared.imports[host.name] = found

    def _create_as_stranger(self, name: str, external_id: str) -> list[str]:
        """Create a host; return its id, if the console has it."""
        row = {"name": name, "external_id": external_id}
        body = json.dumps({"rows": [row], "dry_run": False, "on_error": "continue"}).encode()
        headers = [(b"authorization", f"Bearer {API_KEY}".encode())]
        self._deliver("POST", "/api/v1/hosts/batch", headers, body)
        return [made["id"] for made in self.store.hosts.find("name", name)]

    def _adopt(self) -> None:
        """Adopt a stranger's host, and objects that state may hold, perhaps with trouble."""
        chance = self._adopting
        name = f"stranger-{self.runs}"
        self.declared.unmanaged.add(name)
        rows = [row["id"] for kind in OURS for row in self.store.tables[kind]]
        ids = chance.sample(rows, min(len(rows), chance.randrange(4)))
        ids += self._create_as_stranger(name, name)
        kind = chance.choice(("", "", "kill", "stop", "fault"))
        self.story.append(f"           {kind}")
        if kind == "fault":
            self._add_faults()
        point = chance.randrange(1, 30)
        run = self.run(
            *("adopt", "--hcl", "--output", "-", *ids),
            dies_at=point if kind == "kill" else 0,
            signals_at=(point,) if kind == "stop" else (),
        )
        self.application.faults.waiting.clear()
        if kind or not self.profile.hosts_readable:
            return
        held = {item["id"] for _, item in self.instances()}
        wanted = sorted(host for host in ids if self.store.hosts.get(host) and host not in held)
        if run.code != 0 or sorted(_IMPORTED.findall(run.text)) != wanted:
            raise BrokenRule(f"adopt of {wanted} ends with {run.code}:\n{run.text}")

    def _write_program(self) -> None:
        """Write the program; a block that imports what is gone is taken out, as a user would."""
        for name, found in [*self.declared.imports.items()]:
            if self.store.hosts.get(found) is None:
                del self.declared.imports[name]
        program = self.declared.program()
        kind, config = "local", {"path": "../terraform.tfstate"}
        if self.place is not None:
            kind, config = "s3", {"bucket": "states", "key": "world", "region": "here"}
            program["terraform"]["backend"] = {kind: config}
        (self.folder / "main.tf.json").write_text(json.dumps(program))
        for stack in self.stacks[1:]:
            stack.mkdir(exist_ok=True)
            (stack / "main.tf.json").write_text(json.dumps(self.declared.reader(kind, config)))

    def digest(self) -> str:
        """Return a digest of all that happened."""
        return _digest("\n".join(self.log).encode())


def _digest(content: bytes) -> str:
    return hashlib.blake2s(content, digest_size=6).hexdigest()


def live(seed: int, without: Iterable[str] = ()) -> World:
    """Let one world live, without the named parts of it."""
    with World(seed, without).begun() as world:
        world.live()
    return world


def shrink(seed: int) -> tuple[BrokenRule | None, list[str]]:
    """Return how the smallest world of a seed breaks a rule, and the parts that it is without."""
    without: list[str] = []
    with World(seed).begun() as world, contextlib.suppress(BrokenRule):
        world.live()
    for part in reversed(dict.fromkeys(world.parts)):
        if _broken(seed, [*without, part]):
            without.append(part)
    return _broken(seed, without), without


def _broken(seed: int, without: Iterable[str]) -> BrokenRule | None:
    try:
        live(seed, without)
    except BrokenRule as broken:
        return broken
    return None
