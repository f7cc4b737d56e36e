"""A world to live in: a console, and a directory in which both engines work on one state."""

import asyncio
import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from consoles import call_api
from engines import Terraform
from opsconsole import resources
from opsconsole.emulator import Emulator
from opsconsole.language.reading import load_directory
from opsconsole.language.variables import resolve_variables
from opsconsole.reconcile.applier import apply_plan
from opsconsole.reconcile.plan import Action, Plan, PlanOptions
from opsconsole.reconcile.planner import make_plan
from opsconsole.reconcile.providers import OpenedStack
from opsconsole.state.backend import RunOptions
from opsconsole.state.opening import backend_for, open_state
from opsconsole.state.session import StateSession


class World:
    """A console, a directory with a program and a state, and both engines at work there."""

    def __init__(self, console: Emulator, terraform: Terraform) -> None:
        self.console = console
        self.terraform = terraform
        self.folder: Path = terraform.folder
        self._names: dict[str, str] = {}

    def write(self, program: dict[str, Any]) -> None:
        """Write the program of the next step."""
        self.terraform.write(program)
        self.names()

    def native_plan(self) -> Plan:
        """Plan natively; the state stays as it is."""
        return self._native(apply=False)

    def native_apply(self) -> Plan:
        """Plan and apply natively; every step must succeed."""
        return self._native(apply=True)

    def _native(self, *, apply: bool) -> Plan:
        with open_state(backend_for(None, RunOptions(self.folder))) as session:
            return asyncio.run(self._run(session, apply=apply))

    async def _run(self, session: StateSession, *, apply: bool) -> Plan:
        program = load_directory(self.folder, resources)
        variables = resolve_variables(program, directory=self.folder, environment={})
        stack = OpenedStack(program, variables, session, self.terraform.environment)
        plan = await make_plan(stack, PlanOptions())
        if apply and not plan.empty:
            applied = await asyncio.wait_for(apply_plan(stack, plan, Mock()), 300)
            assert applied.complete, applied.diagnostics
        return plan

    def call(self, method: str, path: str, body: Any = None) -> None:
        """Make an API call behind the engines' backs."""
        call_api(self.console, method, path, body)

    def find(self, collection: str, name: str) -> dict[str, Any] | None:
        """Return the row of a name."""
        rows = (row for row in self.console.rows(collection) if row.get("name") == name)
        return next(rows, None)

    def names(self) -> dict[str, str]:
        """Return what each id that the console made up stands for in both worlds.

        Ids of what is gone by now count too: a state may still hold them in a reference.
        """
        for collection in ("hosts", "agents"):
            for row in self.console.rows(collection):
                self._names.setdefault(row["id"], f"{collection}:{row['name']}")
        return self._names

    def normalised_state(self) -> dict[str, Any]:
        """Return what state holds, with ids and times as both worlds would write them."""
        names = self.names()
        text = (self.folder / "terraform.tfstate").read_text()
        found: dict[str, Any] = {}
        for resource in json.loads(_named(text, names))["resources"]:
            for instance in resource["instances"]:
                key = instance.get("index_key")
                address = f"{resource['type']}.{resource['name']}[{key}]"
                values = instance["attributes"]
                for name in ("created_at", "updated_at"):
                    if values.get(name) is not None:
                        values[name] = "a time"
                private = base64.b64decode(instance.get("private", "")).decode()
                instance["private"] = _named(private, names)
                instance["dependencies"] = sorted(instance.get("dependencies") or [])
                instance.setdefault("sensitive_attributes", [])
                found[address] = instance | {"provider": resource["provider"]}
        return found


def _named(text: str, names: Mapping[str, str]) -> str:
    """Return `text` with names in the place of ids that the console made up."""
    for made_up, name in names.items():
        text = text.replace(made_up, name)
    return text


def actions(plan: Plan) -> dict[str, list[str]]:
    """Return the actions of a native plan as Terraform words them; what needs none is left out."""
    found = {}
    for change in plan.changes:
        if change.action in (Action.NO_OP, Action.READ):
            continue
        # Terraform has no word for an adoption.
        words = ["create"] if change.action is Action.ADOPT else list(change.action.words)
        if change.create_first:
            words.reverse()
        found[change.address] = words
    return found
