"""What goes into a saved plan beside the plan, and how a program is opened again from one.

A saved plan holds no provider credentials: literal ones are taken out of the program's text, and
variables that carry one, like ephemeral variables, must be given again.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opsconsole import resources
from opsconsole.errors import UserError
from opsconsole.language import (
    Program,
    lasting_values,
    read_program,
    resolve_variables,
    says_twice,
)
from opsconsole.reconcile.changes import Plan
from opsconsole.reconcile.planner import Workspace
from opsconsole.reconcile.saved import SavedPlan, write_plan
from opsconsole.state import decode, render

_CREDENTIALS = ("api_key", "session_cookie")
_VALUES = "saved-values.json"


def save_plan(path: Path, workspace: Workspace, plan: Plan, state_path: Path | None) -> None:
    """Write a plan with its program to a file.

    Args:
        state_path: The state file that the user named, which apply is to use again.

    Raises:
        UserError: It cannot be written, or would hold the provider's credentials.
    """
    program = workspace.program
    secrets = _secrets(workspace)
    files = {
        file.name: _without_credentials(file.read_text("utf-8"))
        for file in sorted(program.root.glob("*.tf.json"))
    }
    values = _kept_variables(workspace.variables, secrets)
    saved = SavedPlan(
        plan,
        files,
        str(program.root),
        program.stack,
        values,
        workspace.state.digest(),
        str(state_path.absolute()) if state_path is not None else "",
    )
    if any(secret in text for secret in secrets for text in files.values()):
        raise UserError(
            "The plan cannot be saved: the program spells out a credential of the provider, "
            "which would be in the file.",
            "Take it from the environment (OPSCONSOLE_API_KEY) or from an ephemeral variable.",
        )
    write_plan(path, saved)


def program_of(saved: SavedPlan) -> Program:
    """Return the program of a saved plan.

    Raises:
        UserError: It cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="opsconsole-plan-") as folder:
        return _read(saved, Path(folder))


def _read(saved: SavedPlan, place: Path) -> Program:
    for name, text in saved.files.items():
        (place / name).write_text(text, "utf-8")
    files = [place / name for name in saved.files]
    return read_program(files, Path(saved.root), resources, saved.stack)


def reopen(
    saved: SavedPlan, arguments: Sequence[tuple[str, str]], environ: Mapping[str, str]
) -> tuple[Program, dict[str, Any]]:
    """Return the program of a saved plan and the values of its variables.

    Args:
        arguments: `("var", …)` and `("var-file", …)` of this command line: values of the
            variables that the plan does not hold.

    Raises:
        UserError: A variable that the plan holds is given again, or one that it does not hold is
            not given.
    """
    for kind, text in arguments:
        name = text.partition("=")[0].strip()
        if kind == "var" and name in saved.variables:
            raise UserError(
                f"-var {name}: the plan holds the value of this variable already.",
                "It cannot be another one when the plan is applied; plan again to change it.",
            )
    with tempfile.TemporaryDirectory(prefix="opsconsole-plan-") as folder:
        place = Path(folder)
        program = _read(saved, place)
        values = place / _VALUES
        values.write_text(json.dumps(dict(saved.variables)), "utf-8")
        variables = resolve_variables(
            program,
            directory=Path(saved.root),
            environment=environ,
            arguments=[*arguments, ("var-file", str(values))],
        )
    return program, variables


def shown_variables(workspace: Workspace) -> dict[str, Any]:
    """Return the values of variables that a file may hold, as JSON.

    None that is ephemeral, and none that holds a credential of the provider.
    """
    return _kept_variables(workspace.variables, _secrets(workspace))


def _secrets(workspace: Workspace) -> set[str]:
    """Return the credentials that the program's provider blocks come to."""
    evaluator = workspace.evaluator()
    found = set()
    for key in workspace.program.providers:
        values = evaluator.provider_config(key).values
        found |= {values[name] for name in _CREDENTIALS if isinstance(values[name], str)}
    return {secret for secret in found if secret}


def _kept_variables(variables: Mapping[str, Any], secrets: set[str]) -> dict[str, Any]:
    """Return the values to save: none that is ephemeral, none that holds a credential."""
    kept = {}
    for name, plain in lasting_values(variables).items():
        text = json.dumps(plain, ensure_ascii=False)
        if not any(json.dumps(secret, ensure_ascii=False)[1:-1] in text for secret in secrets):
            kept[name] = plain
    return kept


def _without_credentials(text: str) -> str:
    """Return a file of a program without literal credentials in its provider blocks.

    A file in which an object says something twice is left as it is: writing it again would drop
    one of them.
    """
    document = decode(text)
    found = False
    for root in _bodies(document):
        for body in _bodies(root.get("provider")):
            for block in body.values():
                for settings in _bodies(block):
                    for name in _CREDENTIALS:
                        value = settings.get(name)
                        if isinstance(value, str) and "${" not in value:
                            del settings[name]
                            found = True
    return render(document, 0) if found and not says_twice(text) else text


def _bodies(value: Any) -> list[dict[str, Any]]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]
