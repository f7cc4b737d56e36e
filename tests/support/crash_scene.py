"""One console and one working directory, in which a run is killed and others clear up after it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import killed_run
from crash_story import NOBODYS, NOBODYS_ID, SETTINGS, Story
from engines import Terraform
from opsconsole import resources
from opsconsole.cli.main import main
from opsconsole.emulator.running import serve
from opsconsole.journal_files import unfolded_journals, unresolved_calls
from opsconsole.language.reading import load_directory
from opsconsole.language.variables import resolve_variables
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.reconcile.changes import Plan, PlanOptions
from opsconsole.reconcile.planner import Workspace
from opsconsole.reconcile.runs import make_plan
from opsconsole.state.address import Address
from opsconsole.state.opening import backend_for, open_state

STEP = int(os.environ.get("OPSCONSOLE_CRASH_STEP", "1"))
"""With everything, one of so many points is taken."""

KILLED = -9
_ROWS = ("hosts", "agents", "attachments", "plugins", "specialties", "blacklists")
_LIVING = ("hosts", "agents", "attachments", "specialties", "blacklists")
_STATE = "terraform.tfstate"
_SECONDS = 600


@dataclass(frozen=True)
class Ended:
    """A run that has ended, or was killed."""

    code: int
    out: str
    err: str

    @property
    def point(self) -> str:
        """Where it was killed or interrupted; empty if it was not."""
        return next((line for line in self.err.splitlines() if line.startswith("at ")), "")


class Scene:
    """The console and the directory; both can be kept and put back as they were.

    Args:
        terraform: Its folder is the working directory.
        memory: A directory for what is kept.
        cleanup: Ends the console.
        story: What is in the directory, and which command runs there.
    """

    def __init__(
        self, terraform: Terraform, memory: Path, cleanup: ExitStack, story: Story
    ) -> None:
        self.terraform = terraform
        self.folder = terraform.folder
        self.story = story
        self._memory = memory
        self._seed = memory / "rows.json"
        self._seed.write_text("{}")
        with serve() as starter:
            self._seed.write_text(json.dumps({name: starter.rows(name) for name in _ROWS}))
        self.console = cleanup.enter_context(serve(seed=str(self._seed)))
        terraform.environment.update(self.console.environment)
        terraform.settings = SETTINGS
        terraform.write(story.before())
        self.command("apply", "-auto-approve", "-no-color")
        self.console.create("hosts", id=NOBODYS_ID, name=NOBODYS)
        self.console.create("agents", id="agt_nobodys", name=NOBODYS, host_id=NOBODYS_ID)
        terraform.write(story.program())
        self.keep("before")
        self._before = self.ids()
        self._may_go = self._deleted_by(self.plan(destroy=story.destroys))

    def keep(self, name: str) -> None:
        """Keep rows and files under a name."""
        place = self._memory / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        rows = {name: self.console.rows(name) for name in _ROWS}
        (place / "rows").write_text(json.dumps(rows), "utf-8")
        for file in self._files():
            shutil.copy2(file, place / file.name)

    def put_back(self, name: str) -> None:
        """Make rows and files what they were, and the program the one of the command."""
        place = self._memory / name
        self._seed.write_bytes((place / "rows").read_bytes())
        self.console.reset()
        for file in self._files():
            file.unlink()
        for file in place.iterdir():
            if file.name != "rows":
                shutil.copy2(file, self.folder / file.name)
        self.terraform.write(self.story.program())

    def _files(self) -> list[Path]:
        return [file for file in self.folder.iterdir() if _STATE in file.name and file.is_file()]

    def start(self, point: int, what: str = killed_run.KILL) -> subprocess.Popen[str]:
        """Start the command, to which something happens at a point; 0: nothing does."""
        return subprocess.Popen(
            [sys.executable, killed_run.__file__, str(point), what, *self.story.words],
            cwd=self.folder,
            env=self.terraform.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def stop_at(self, point: int, what: str = killed_run.KILL) -> Ended:
        """Run the command, to which something happens at a point, to its end."""
        with self.start(point, what) as process:
            out, err = process.communicate(timeout=_SECONDS)
        deadline = time.monotonic() + _SECONDS
        while self.console.traffic()["in_flight"]:
            assert time.monotonic() < deadline, "the console goes on and on"
            time.sleep(0.01)
        return Ended(process.returncode, out, err)

    def check_it_ended_well(self, ended: Ended, what: str) -> None:
        """A signal ends a run in good order: with its exit code, no lock, and no journal."""
        said = f"{ended.code}\n{ended.out}\n{ended.err}"
        assert ended.code in (0, 130), said
        assert "Traceback" not in ended.err and "unexpected" not in ended.err, said
        left = [file.name for file in self.folder.iterdir()]
        assert not [name for name in left if "lock.info" in name], f"{left}\n{said}"
        if what not in killed_run.TWICE:
            assert not unfolded_journals(self.folder), said
            assert not unresolved_calls(self.folder), said

    def command(self, *words: str, expect: Collection[int] = (0,)) -> str:
        """Run a native command in this process; return what it wrote."""
        out = io.StringIO()
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.chdir(self.folder))
            stack.enter_context(mock.patch.dict(os.environ, self.terraform.environment))
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(out))
            code = main(words)
        assert code in expect, f"{words}: {code}\n{out.getvalue()}"
        return out.getvalue()

    def plan(self, *, destroy: bool = False) -> Plan:
        """Take in what a crash left, and plan."""
        with open_state(backend_for(self.folder, None, "plan")) as session:
            program = load_directory(self.folder, resources)
            variables = resolve_variables(program, directory=self.folder, environment={})
            space = Workspace(program, variables, session.state, self.terraform.environment)
            making = make_plan(space, session, PlanOptions(mode="destroy" if destroy else "normal"))
            return asyncio.run(asyncio.wait_for(making, _SECONDS))

    @staticmethod
    def _deleted_by(plan: Plan) -> set[str]:
        gone = (change for change in plan.changes if "delete" in change.action.words)
        return {change.before["id"] for change in gone if change.before is not None}

    def instances(self) -> dict[str, Mapping[str, Any]]:
        """Return the attributes of every object in state, by address; deposed ones too."""
        found: dict[str, Mapping[str, Any]] = {}
        for resource in json.loads((self.folder / _STATE).read_text())["resources"]:
            for item in resource["instances"]:
                key = item.get("index_key")
                index = "" if key is None else f"[{key}]"
                deposed = f" {item['deposed']}" if "deposed" in item else ""
                address = f"{resource['type']}.{resource['name']}{index}{deposed}"
                found[address] = item["attributes"]
        return found

    def unsettled(self) -> dict[str, Mapping[str, Any]]:
        """Return the instances of which it is not known whether they were created."""
        return {
            address: item for address, item in self.instances().items() if is_sentinel(item["id"])
        }

    def living(self, collection: str) -> list[dict[str, Any]]:
        """Return the console's rows but for archived ones."""
        rows = self.console.rows(collection)
        return [row for row in rows if row.get("status") != "archived"]

    def ids(self) -> set[str]:
        """Return the ids of what the console has; an attachment's is made of those of its ends."""
        found = set()
        for collection in _LIVING:
            for row in self.living(collection):
                pair = f"{row.get('agent_id')}/{row.get('plugin_id')}"
                found.add(pair if collection == "attachments" else row["id"])
        return found

    def check_nothing_is_lost(self, told: str = "") -> None:
        """Nothing was created twice, nothing forgotten, and nothing deleted but what was planned.

        What the console has is in state, once, or unsettled there.

        Args:
            told: What Terraform wrote. An agent leaves its state before its host is deleted, in
                a call of its own: one that a stop parted from its host is named there, and the
                host is still in state, whose deletion archives it.
        """
        self.check_only_planned_is_gone()
        held = Counter(item["id"] for item in self.instances().values())
        waiting = Counter(item["name"] for item in self.unsettled().values())
        for collection in ("hosts", "agents"):
            rows = [row for row in self.living(collection) if row["name"] != NOBODYS]
            names = Counter(row["name"] for row in rows)
            assert max(names.values(), default=1) == 1, f"created twice: {names}"
            for row in rows:
                stands_for = held[row["id"]] or waiting[row["name"]]
                parted = f"({row['id']}) leaves management" in told and held[row.get("host_id")]
                if parted:
                    continue
                assert stands_for == 1, f"{row['name']} is in state {stands_for} times"
        assert max(waiting.values(), default=1) == 1, waiting

    def check_unchanged(self) -> None:
        """Rows and state are what they were before the command."""
        place = self._memory / "before"
        rows = {name: self.console.rows(name) for name in _ROWS}
        assert rows == json.loads((place / "rows").read_text("utf-8"))
        assert (self.folder / _STATE).read_bytes() == (place / _STATE).read_bytes()

    def check_only_planned_is_gone(self) -> None:
        """Nothing was deleted that the plan of the command did not name."""
        gone = self._before - self.ids()
        # Attachments go with their agent, whether a plan names them or not.
        gone = {name for name in gone if name.partition("/")[0] not in self._may_go}
        assert gone <= self._may_go, f"deleted, and in no plan: {gone - self._may_go}"

    def tell_what_became_of(self, unsettled: Mapping[str, Mapping[str, Any]]) -> None:
        """Do what a user does: look each up, take it out of state, and import what was created."""
        program = self.story.program()
        imports = []
        with open_state(backend_for(self.folder, None, "state rm")) as session:
            for address, item in unsettled.items():
                kind = Address.parse(address).type.removeprefix("opsconsole_")
                session.state.remove(address)
                rows = [row for row in self.living(f"{kind}s") if row["name"] == item["name"]]
                imports += [{"to": address, "id": row["id"]} for row in rows]
        if imports:
            program["import"] = imports
        self.terraform.write(program)

    def check_all_is_there(self) -> None:
        """The console is as the command was to leave it, and state holds exactly that."""
        self.check_only_planned_is_gone()
        story = self.story
        hosts, agents = self.living("hosts"), self.living("agents")
        assert sorted(row["name"] for row in hosts) == sorted({*story.hosts, NOBODYS})
        assert sorted(row["name"] for row in agents) == sorted({*story.agents, NOBODYS})
        names = {row["id"]: row["name"] for row in agents}
        attached = {
            (names[row["agent_id"]], row["plugin_id"])
            for row in self.console.rows("attachments")
            if row["agent_id"] in names
        }
        assert attached == {(name, plugin) for name, ids in story.agents.items() for plugin in ids}
        held = sorted(
            item["id"]
            for address, item in self.instances().items()
            if address.startswith(("opsconsole_host.", "opsconsole_agent."))
        )
        managed = [row["id"] for row in (*hosts, *agents) if row["name"] != NOBODYS]
        assert held == sorted([*managed, NOBODYS_ID] if story.adopts else managed)
        plan = self.plan(destroy=story.destroys)
        assert plan.empty, plan.counts
