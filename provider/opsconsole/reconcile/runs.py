"""One run from the outside: making a plan on an open state, guarding it, applying it.

Commands put their words around this; nothing is printed or asked here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from opsconsole.diagnostics import Diagnostic, error, has_error
from opsconsole.lifecycle.interface import CreateRequest, Outcome
from opsconsole.reconcile.changes import Action, Change, Counts, Plan, PlanOptions
from opsconsole.reconcile.execution import Applied
from opsconsole.reconcile.order import StepKind
from opsconsole.reconcile.planner import Planner, Workspace
from opsconsole.reconcile.prior import read_prior
from opsconsole.reconcile.providers import OnStop, Providers
from opsconsole.reconcile.unknown_outcomes import settle_unknown, unsettled_warnings
from opsconsole.state import StateSession
from opsconsole.values import holds_unknown

_FEWEST = 10
"""Fewer resources than this are not guarded: a share of them says little."""


def guard_objection(plan: Plan, share: float) -> Diagnostic | None:
    """Return why a plan needs to be forced, or None.

    Deleted and replaced instances count, and those that had vanished from the console before the
    plan was made: both are what a wrong key, org or base address looks like. A plan that was asked
    to destroy says so itself: of it only what had vanished counts.

    Args:
        share: Per cent allowed of the managed instances that state held.
    """
    gone = [item for item in plan.drift if item.after is None]
    going = [item for item in plan.changes if item.action in (Action.DELETE, Action.REPLACE)]
    if plan.mode == "destroy":
        going = []
    existing = sum(item.before is not None for item in plan.changes)
    existing += len(gone)
    if existing < _FEWEST or not (going or gone):
        return None
    lost = len(going) + len(gone)
    percent = 100.0 * lost / existing
    if percent <= share:
        return None
    parts = []
    if going:
        parts.append(f"{len(going)} would be deleted or replaced")
    if gone:
        parts.append(f"{len(gone)} had vanished from the console")
    return error(
        f"The plan takes away {lost} of {existing} resources ({percent:.0f} %)",
        f"{' and '.join(parts)}; more than {share:g} % needs to be forced. Check base_url, the key "
        "and the program. If it is meant: --force, or a higher --max-destroy; in the environment "
        "OPSCONSOLE_FORCE=1, or OPSCONSOLE_MAX_DESTROY.",
    )


async def make_plan(
    workspace: Workspace,
    session: StateSession,
    options: PlanOptions,
    watch: Callable[[Planner], None] | None = None,
) -> Plan:
    """Settle what earlier runs left unknown, and make a plan.

    Args:
        workspace: Its state is that of `session`.
        watch: Is handed the planner before it begins, to show how it goes and to stop it.

    Raises:
        UserError: The program or the state cannot be planned with at all.
        Stopped: It was told to stop.
    """
    planner = Planner(workspace, options)
    if watch is not None:
        watch(planner)
    try:
        diagnostics = await settle_unknown(session, planner.providers)
        plan = await planner.plan()
        if options.preflight and not has_error(plan.diagnostics):
            plan = await _with_preflight(plan, planner.providers)
        planner.providers.check_stopped()
    finally:
        await planner.close()
    return replace(plan, diagnostics=(*diagnostics, *plan.diagnostics))


async def settle_all(
    workspace: Workspace, session: StateSession, on_stop: OnStop
) -> list[Diagnostic]:
    """Settle what earlier runs left unknown, and plan nothing; return what the user is told.

    Raises:
        UserError: The console cannot be asked, or what was found cannot be made durable.
        Stopped: The run was told to stop.
    """
    providers = workspace.providers()
    on_stop(providers.stop)
    try:
        diagnostics = await settle_unknown(session, providers)
    finally:
        await providers.close()
    unsettled = unsettled_warnings(read_prior(session.state).values())
    return [*diagnostics, *(item for _, item in unsettled)]


def counted(applied: Applied) -> Counts:
    """Return the counts of what was done, as Terraform counts it."""
    done = applied.done
    kinds = [step.kind for step in done]
    forgotten = sum(step.change.action is Action.FORGET for step in done)
    return Counts(
        add=kinds.count(StepKind.CREATE),
        change=kinds.count(StepKind.UPDATE),
        destroy=kinds.count(StepKind.DELETE),
        imported=sum(bool(step.change.import_id) for step in done),
        forget=forgotten,
    )


async def _with_preflight(plan: Plan, providers: Providers) -> Plan:
    """Return the plan with the console's verdict on every creation that it can judge.

    A declaration is sent as far as its values are known; what it was judged without is said.
    """
    diagnostics: list[Diagnostic] = list(plan.diagnostics)
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
            diagnostics += outcome.diagnostics
    found = tuple(judged.get(change.address, change) for change in plan.changes)
    return replace(plan, changes=found, diagnostics=tuple(diagnostics), calls=providers.calls)


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
