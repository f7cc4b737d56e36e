"""What a saved plan holds beside the plan, and how a program is opened again from one.

It is applied only where nothing has changed since: the state it was made from, or the console.

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
from opsconsole.compare import changed_fields
from opsconsole.diagnostics import Diagnostic, Severity, error
from opsconsole.errors import UserError
from opsconsole.language import (
    Program,
    lasting_values,
    read_program,
    resolve_variables,
    says_twice,
)
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.reconcile.changes import Change, Plan
from opsconsole.reconcile.planner import Workspace
from opsconsole.reconcile.prior import PriorInstance
from opsconsole.reconcile.providers import OnStop, Providers, provider_in_state, refresh
from opsconsole.reconcile.saved import SavedPlan, write_plan
from opsconsole.resources import RESOURCES
from opsconsole.state import InstanceObject, State, decode, encode, instance_and_key, lay_out

_CREDENTIALS = ("api_key", "session_cookie")
_VALUES = "saved-values.json"
_SHOWN = 20


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
            "The plan cannot be saved: the program holds a credential of the provider as a "
            "literal, and the file would hold it too.",
            "Take it from the environment (OPSCONSOLE_API_KEY) or from an ephemeral variable.",
        )
    write_plan(path, saved)


def program_of(saved: SavedPlan) -> Program:
    """Return the program of a saved plan.

    Raises:
        UserError: It cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="opsconsole-plan-") as folder:
        for name, text in saved.files.items():
            Path(folder, name).write_text(text, "utf-8")
        files = [Path(folder, name) for name in saved.files]
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
                "The value cannot change when the plan is applied; plan again to change it.",
            )
    program = program_of(saved)
    with tempfile.TemporaryDirectory(prefix="opsconsole-plan-") as folder:
        values = Path(folder, _VALUES)
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
    return lay_out(encode(document)).decode() if found and not says_twice(text) else text


def _bodies(value: Any) -> list[dict[str, Any]]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]


def check_state(saved: SavedPlan, state: State) -> None:
    """Refuse a plan that was made from another state.

    Raises:
        UserError: Lineage, serial or content differ.
    """
    plan = saved.plan
    if plan.serial and state.lineage != plan.lineage:
        raise UserError(
            "The plan was made from another state: the lineage differs.",
            "Check that this is the directory, the stack and the workspace it was made in.",
        )
    if state.serial != plan.serial or state.digest() != saved.digest:
        raise UserError(
            f"The plan is stale: it was made from serial {plan.serial} of the state, which has "
            f"changed since (serial {state.serial}).",
            "Plan again.",
        )


async def console_moved(workspace: Workspace, plan: Plan, on_stop: OnStop) -> list[Diagnostic]:
    """Read again what a plan touches; return what differs from what the plan saw.

    Values that the console may change on any write count for nothing. What goes with its host is
    not read: the host is.

    Args:
        on_stop: Takes what stops the reading.

    Raises:
        Stopped: The run was told to stop.
    """
    touched = [
        change
        for change in plan.acting()
        if change.before is not None
        and change.type_name in RESOURCES
        and not change.cascade
        and not is_sentinel(change.before.get("id"))
    ]
    if not touched:
        return []
    providers = workspace.providers()
    on_stop(providers.stop)
    try:
        diagnostics = await _compared(workspace, plan, touched, providers)
        providers.check_stopped()
        return diagnostics
    finally:
        await providers.close()


async def _compared(
    workspace: Workspace, plan: Plan, touched: list[Change], providers: Providers
) -> list[Diagnostic]:
    private = {item.address: item.private for item in plan.refreshed}
    known = []
    for change in touched:
        assert change.before is not None
        held = workspace.state.get(*instance_and_key(change.previous_address or change.address))
        remembered = private.get(change.address, held.private if held else b"")
        item = InstanceObject(
            provider_in_state(workspace.program, change.provider), change.before, 0, remembered
        )
        known.append(PriorInstance(change.address, change.type_name, item, change.before))
    found = await refresh(known, providers.by_state_address(known))
    failed = [
        diagnostic
        for item in found.values()
        if item.read is not None
        for diagnostic in item.read.diagnostics
        if diagnostic.severity is Severity.ERROR
    ]
    moved = [text for item in found.values() if (text := _difference(item))]
    if moved:
        failed.append(_moved(moved))
    return failed


def _difference(item: PriorInstance) -> str:
    if item.value is None:
        return f"{item.address} is gone"
    definition = RESOURCES[item.type_name]
    names = [a.name for a in definition if not a.volatile and not a.local]
    changed = changed_fields(item.before, item.value, names)
    return f"{item.address}: {', '.join(changed)}" if changed else ""


def _moved(moved: list[str]) -> Diagnostic:
    shown = "\n".join(f"  {text}" for text in sorted(moved)[:_SHOWN])
    more = f"\n  and {len(moved) - _SHOWN} more" if len(moved) > _SHOWN else ""
    return error(
        "The console has changed since the plan was made",
        f"These differ from what the plan read:\n{shown}{more}\nNothing was changed. Plan again.",
    )
