"""Preflight: how the console judges what a plan would create, where it can do so beforehand."""

from __future__ import annotations

from dataclasses import replace

from opsconsole.diagnostics import Diagnostic, has_error
from opsconsole.lifecycle.interface import CreateRequest, Outcome
from opsconsole.reconcile.changes import Action, Change, Plan
from opsconsole.reconcile.providers import Providers
from opsconsole.values import holds_unknown


async def with_preflight(plan: Plan, providers: Providers) -> Plan:
    """Return the plan with the console's verdict on every creation that it can judge.

    A declaration is sent as far as its values are known; what it was judged without is said.
    """
    told: list[Diagnostic] = list(plan.diagnostics)
    judged: dict[str, Change] = {}
    groups: dict[tuple[str, str], list[Change]] = {}
    for change in plan.changes:
        if change.action is Action.CREATE:
            groups.setdefault((change.provider, change.type_name), []).append(change)
    for (provider, type_name), changes in groups.items():
        steps = providers.of(provider).resources[type_name]
        outcomes = await steps.preflight([_request(change) for change in changes])
        if outcomes is None:
            continue
        for change, outcome in zip(changes, outcomes, strict=True):
            judged[change.address] = replace(change, notes=(*change.notes, _note(change, outcome)))
            told += outcome.diagnostics
    found = tuple(judged.get(change.address, change) for change in plan.changes)
    return replace(plan, changes=found, diagnostics=tuple(told), calls=providers.calls)


def _request(change: Change) -> CreateRequest:
    config = change.config or {}
    known = {name: None if holds_unknown(value) else value for name, value in config.items()}
    return CreateRequest(known, change.after or {}, address=change.address)


def _note(change: Change, outcome: Outcome) -> str:
    unknown = sorted(name for name, value in (change.config or {}).items() if holds_unknown(value))
    judged = f", judged without {', '.join(unknown)}" if unknown else ""
    if has_error(outcome.diagnostics):
        return f"dry run: would fail{judged}"
    if outcome.diagnostics:
        return f"dry run: exists already, would be adopted{judged}"
    return f"dry run: would be created{judged}"
