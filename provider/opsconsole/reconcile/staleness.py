"""Whether anything moved since a plan was saved: the state it was made from, or the console."""

from __future__ import annotations

from opsconsole.compare import changed_fields
from opsconsole.diagnostics import Diagnostic, Severity, error
from opsconsole.errors import UserError
from opsconsole.lifecycle.sentinel import is_sentinel
from opsconsole.reconcile.changes import Change, Plan
from opsconsole.reconcile.declaration import PriorInstance, instance_and_key
from opsconsole.reconcile.planner import Workspace
from opsconsole.reconcile.prior import refresh
from opsconsole.reconcile.providers import OnStop, Providers, in_state
from opsconsole.reconcile.saved import SavedPlan
from opsconsole.resources import RESOURCES
from opsconsole.state import InstanceObject, State

_SHOWN = 20


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
            in_state(workspace.program, change.provider), change.before, 0, remembered
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
        f"These differ from what the plan saw:\n{shown}{more}\nNothing was done. Plan again.",
    )
