"""One stack for both engines: a console, and a directory with a program and a state."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from consoles import call_api
from engines import Plan, Standin, Terraform
from opsconsole.emulator import Emulator


class SharedStack:
    """A console, a directory with a program and a state, and both engines at work there."""

    def __init__(self, console: Emulator, terraform: Terraform) -> None:
        self.console = console
        self.terraform = terraform
        self.folder = terraform.folder
        # Whatever a plan deletes: Terraform has no limit either.
        environment = {**terraform.environment, "OPSCONSOLE_FORCE": "1"}
        self.native = Standin(self.folder, environment)
        self._names: dict[str, str] = {}

    def write(self, program: dict[str, Any]) -> None:
        """Write the program of the next step."""
        self.terraform.write(program)
        self.names()

    def call(self, method: str, path: str, body: Any = None) -> None:
        """Make an API call behind the engines' backs."""
        call_api(self.console, method, path, body)

    def find(self, collection: str, name: str) -> dict[str, Any] | None:
        """Return the row of a name."""
        rows = (row for row in self.console.rows(collection) if row.get("name") == name)
        return next(rows, None)

    def names(self) -> dict[str, str]:
        """Return what each id that the console made up stands for in both stacks.

        Ids of what is gone by now count too: a state may still hold them in a reference.
        """
        for collection in ("hosts", "agents"):
            for row in self.console.rows(collection):
                self._names.setdefault(row["id"], f"{collection}:{row['name']}")
        return self._names

    def normalised_state(self) -> dict[str, Any]:
        """Return what state holds, with ids and times as both stacks would write them."""
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
    """Return the actions of a plan as Terraform words them: it has no word for an adoption."""
    changes = {item["address"]: item["change"] for item in plan.json.get("resource_changes", ())}
    adopted = {
        address: ["create"]
        for address, change in changes.items()
        if change["actions"] == ["no-op"] and change["before"] is None
    }
    return plan.actions | adopted
