"""One run from the outside: making a plan on an open state, guarding it, importing an object.

Commands put their words around this; nothing is printed or asked here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from opsconsole.diagnostics import Diagnostic, error, has_error
from opsconsole.errors import UserError
from opsconsole.language import Block
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.lifecycle.interface import CreateRequest, Outcome
from opsconsole.phrases import near_address
from opsconsole.reconcile.changes import Action, Change, Counts, Plan, PlanOptions
from opsconsole.reconcile.declaration import PriorInstance
from opsconsole.reconcile.execution import Applied
from opsconsole.reconcile.order import StepKind
from opsconsole.reconcile.planner import Planner, Workspace
from opsconsole.reconcile.prior import named_by_import, not_there, read_prior, refresh
from opsconsole.reconcile.providers import OnStop, Providers
from opsconsole.reconcile.unknown_outcomes import settle_unknown, unsettled_warnings
from opsconsole.resources import RESOURCES
from opsconsole.state import Address, InstanceObject, StateSession
from opsconsole.values import holds_unknown, unknown_names

_FEWEST = 10
"""Fewer resources than this are not guarded: a share of them says little."""


def guard_objection(plan: Plan, share: float) -> Diagnostic | None:
    """Return why a plan needs to be forced, or None.

    Deleted and replaced instances count, and those that are gone from the console before the
    plan was made: both are what a wrong key, org or base address looks like. A plan that was asked
    to destroy says so itself: only what is gone counts then.

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
        parts.append(f"{len(gone)} are gone from the console")
    return error(
        f"The plan removes {lost} of {existing} resources ({percent:.0f} %)",
        f"{' and '.join(parts)}; a plan that removes more than {share:g} % must be forced. Check "
        "base_url, the key and the program. If that is intended, use --force or a higher "
        "--max-destroy, or OPSCONSOLE_FORCE=1 or OPSCONSOLE_MAX_DESTROY in the environment.",
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
        await planner.providers.close()
    return replace(plan, diagnostics=(*diagnostics, *plan.diagnostics))


async def settle_all(
    workspace: Workspace, session: StateSession, on_stop: OnStop
) -> list[Diagnostic]:
    """Settle what earlier runs left unknown, and plan nothing; return diagnostics.

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


async def import_instance(
    workspace: Workspace,
    session: StateSession,
    address: Address,
    import_id: str,
    on_stop: OnStop,
) -> list[Diagnostic]:
    """Import an object; return diagnostics. With an error nothing was changed.

    An instance whose creation is not settled may be imported over: this settles it.

    Args:
        on_stop: Takes what stops the reading.

    Raises:
        UserError: The address is not declared, or is in state already; or the object is, under
            another address.
        Stopped: The run was told to stop.
    """
    block = _declared(workspace, address)
    _check_free(session, address)
    providers = workspace.providers()
    on_stop(providers.stop)
    try:
        item, diagnostics = await _read(providers, block, address, import_id)
        providers.check_stopped()
    finally:
        await providers.close()
    if item is None or has_error(diagnostics):
        return diagnostics
    for other in read_prior(session.state).values():
        same = providers.place_of(other) == providers.place_of(item)
        if same and other.address != item.address:
            return [_taken_already(item, other.address)]
    kept = InstanceObject(
        item.held.provider,
        item.before,
        private=item.private,
        dependencies=workspace.graph.ancestors(block.address),
    )
    session.state.put(address, kept)
    session.record()
    await session.checkpoint()
    session.resolve(call.id for call in session.unresolved if call.address == str(address))
    return diagnostics


def _declared(workspace: Workspace, address: Address) -> Block:
    block = workspace.program.blocks.get(address.config)
    if block is None or address.mode != "managed" or address.module:
        raise UserError(
            f"The program declares no resource {address.config}.",
            near_address(address.config, workspace.program.blocks)
            or "Declare it first; `opsconsole adopt` writes programs for what a console has.",
        )
    return block


def _check_free(session: StateSession, address: Address) -> None:
    held = session.state.get(address)
    if held is not None and not is_sentinel(held.attributes.get("id")):
        raise UserError(
            f"{address} is in state already, as {held.attributes.get('id')}.",
            f"To import another object in its place: `opsconsole state rm '{address}'` first.",
        )


def _taken_already(item: PriorInstance, holder: str) -> Diagnostic:
    """Refuse to import what `holder` has."""
    title, address = RESOURCES[item.type_name].title, item.address
    return error(
        f"{holder} holds the {title} {item.before['id']} already",
        f"One object has one address: removing {address} or {holder} would delete what the other "
        f"manages. To give it the address {address}, use a `moved` block, or forget it first with "
        f"`opsconsole state rm '{holder}'`.",
    )


async def _read(
    providers: Providers, block: Block, address: Address, import_id: str
) -> tuple[PriorInstance | None, list[Diagnostic]]:
    """Read what an import id names."""
    known, diagnostics = await named_by_import(
        providers, block.provider, str(address), block.type_name, import_id
    )
    if known is None:
        return None, list(diagnostics)
    item = (await refresh([known], providers.by_state_address([known])))[known.address]
    if item.value is None:
        return None, [not_there(block.type_name, import_id)]
    said = item.read.diagnostics if item.read is not None else ()
    return replace(item, before=item.value), [*diagnostics, *said]


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

    A declaration is sent as far as its values are known; a note names the values that were left
    out.
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
    unknown = sorted(unknown_names(change.config or {}))
    judged = f", judged without {', '.join(unknown)}" if unknown else ""
    if has_error(outcome.diagnostics):
        return f"dry run: would fail{judged}"
    if outcome.diagnostics:
        return f"dry run: exists already, would be adopted{judged}"
    return f"dry run: would be created{judged}"
