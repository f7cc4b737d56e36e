"""One console and one working directory, in which a run is killed and others clear up after it."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import killed_run
from crash_story import AGENTS, HOSTS, SETTINGS, first, second
from engines import Terraform
from opsconsole.emulator.running import serve
from opsconsole.language.sources import load_directory
from opsconsole.language.variables import resolve_variables
from opsconsole.lifecycle.sentinel import is_sentinel
from opsconsole.reconcile.applier import Applier
from opsconsole.reconcile.changes import Plan
from opsconsole.reconcile.execution import Applied
from opsconsole.reconcile.options import PlanOptions
from opsconsole.reconcile.planner import Workspace
from opsconsole.reconcile.runs import make_plan
from opsconsole.state.addresses import Address
from opsconsole.state.opening import backend_for, open_state
from opsconsole.state.writer import StateSession
from worlds import Silent

KILLED = -9
_ROWS = ("hosts", "agents", "attachments", "plugins", "specialties", "blacklists")
_STATE = "terraform.tfstate"
_SECONDS = 600


class Scene:
    """The console and the directory; both can be kept and put back as they were.

    Args:
        terraform: Its folder is the working directory.
        memory: A directory for what is kept.
        cleanup: Ends the console.
    """

    def __init__(self, terraform: Terraform, memory: Path, cleanup: ExitStack) -> None:
        self.terraform = terraform
        self.folder = terraform.folder
        self._memory = memory
        self._seed = memory / "rows.json"
        self._seed.write_text("{}")
        with serve() as starter:
            self._seed.write_text(json.dumps({name: starter.rows(name) for name in _ROWS}))
        self.console = cleanup.enter_context(serve(seed=str(self._seed)))
        terraform.environment.update(self.console.environment)
        terraform.settings = SETTINGS
        terraform.write(first())
        _, applied = self.native_run()
        assert applied.complete, applied.diagnostics
        terraform.write(second())
        self.keep("before")

    def keep(self, name: str) -> None:
        """Keep rows and files under a name."""
        place = self._memory / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        (place / "rows").write_text(
            json.dumps({name: self.console.rows(name) for name in _ROWS}), "utf-8"
        )
        for file in self._files():
            shutil.copy2(file, place / file.name)

    def put_back(self, name: str) -> None:
        """Make rows and files what they were, and the program the second one."""
        place = self._memory / name
        self._seed.write_bytes((place / "rows").read_bytes())
        self.console.reset()
        for file in self._files():
            file.unlink()
        for file in place.iterdir():
            if file.name != "rows":
                shutil.copy2(file, self.folder / file.name)
        self.terraform.write(second())

    def _files(self) -> list[Path]:
        return [file for file in self.folder.iterdir() if _STATE in file.name and file.is_file()]

    def start(self, point: int, *words: str) -> subprocess.Popen[str]:
        """Start a native apply that is killed at a point; 0: it lives."""
        apply = ("apply", "-auto-approve", "-force", "-no-color", *words)
        return subprocess.Popen(
            [sys.executable, killed_run.__file__, str(point), *apply],
            cwd=self.folder,
            env=self.terraform.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kill_at(self, point: int) -> tuple[int, str]:
        """Apply natively, killed at a point; return exit code and what stderr says last."""
        with self.start(point) as process:
            out, err = process.communicate(timeout=_SECONDS)
        deadline = time.monotonic() + _SECONDS
        while self.console.traffic()["in_flight"]:
            assert time.monotonic() < deadline, "the console goes on and on"
            time.sleep(0.01)
        if process.returncode != KILLED and not (process.returncode == 0 or self.unsettled()):
            raise AssertionError(f"{out}\n{err}")
        return process.returncode, err.strip().splitlines()[-1]

    def native_run(self, *, apply: bool = True) -> tuple[Plan, Applied]:
        """Take in what a crash left, plan, and apply unless told otherwise."""
        with open_state(backend_for(self.folder, None, "apply")) as session:
            return asyncio.run(asyncio.wait_for(self._run(session, apply=apply), _SECONDS))

    async def _run(self, session: StateSession, *, apply: bool) -> tuple[Plan, Applied]:
        program = load_directory(self.folder)
        variables = resolve_variables(program, directory=self.folder, environment={})
        workspace = Workspace.of(program, variables, session.state, self.terraform.environment)
        plan = await make_plan(workspace, session, PlanOptions())
        if not apply:
            return plan, Applied()
        return plan, await Applier(workspace, plan, session, Silent()).run()

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
        """Return the instances of which nobody knows whether they were created."""
        return {
            address: item for address, item in self.instances().items() if is_sentinel(item["id"])
        }

    def living(self, collection: str) -> list[dict[str, Any]]:
        """Return the console's rows but for archived ones."""
        rows = self.console.rows(collection)
        return [row for row in rows if row.get("status") != "archived"]

    def check_nothing_is_lost(self) -> None:
        """Nothing was created twice; what the console has is in state, once, or unsettled there."""
        held = Counter(item["id"] for item in self.instances().values())
        waiting = Counter(item["name"] for item in self.unsettled().values())
        for collection in ("hosts", "agents"):
            rows = self.living(collection)
            names = Counter(row["name"] for row in rows)
            assert max(names.values()) == 1, f"created twice: {names}"
            for row in rows:
                stands_for = held[row["id"]] or waiting[row["name"]]
                assert stands_for == 1, f"{row['name']} is in state {stands_for} times"
        assert max(waiting.values(), default=1) == 1, waiting

    def tell_what_became_of(self, unsettled: Mapping[str, Mapping[str, Any]]) -> None:
        """Do what a user does: look each up, take it out of state, and import what was created."""
        program = second()
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
        """The console is as declared, and state holds exactly that."""
        hosts, agents = self.living("hosts"), self.living("agents")
        assert sorted(row["name"] for row in hosts) == sorted(HOSTS)
        assert sorted(row["name"] for row in agents) == sorted(AGENTS)
        names = {row["id"]: row["name"] for row in agents}
        attached = {
            (names[row["agent_id"]], row["plugin_id"])
            for row in self.console.rows("attachments")
            if row["agent_id"] in names
        }
        assert attached == {(name, plugin) for name, ids in AGENTS.items() for plugin in ids}
        assert self.console.row("specialties", "spc_database") is None
        held = sorted(
            item["id"]
            for address, item in self.instances().items()
            if address.startswith(("opsconsole_host.", "opsconsole_agent."))
        )
        assert held == sorted(row["id"] for row in (*hosts, *agents))
        plan, _ = self.native_run(apply=False)
        assert plan.empty, plan.counts
