"""One run on an open state: guarding a plan, making one, settling what earlier runs left unknown,
importing an object, and applying a plan.

Commands put their words around this; nothing is printed or asked here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime

from opsconsole.diagnostics import Diagnostic, error, has_error, warning
from opsconsole.errors import UserError
from opsconsole.language import Block
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.lifecycle.interface import CreateRequest, Outcome, ReadRequest
from opsconsole.phrases import near_address
from opsconsole.reconcile.batches import Worker
from opsconsole.reconcile.changes import (
    Action,
    Change,
    Plan,
    PlanOptions,
)
from opsconsole.reconcile.decisions import keep_known_outputs, keep_outputs, without_ignored
from opsconsole.reconcile.execution import Applied, ApplyListener, Execution
from opsconsole.reconcile.order import Step, StepKind, order
from opsconsole.reconcile.planner import Planner, Workspace
from opsconsole.reconcile.prior import (
    Identity,
    PriorInstance,
    carry_out_moves,
    from_state,
    holds_unsettled,
    read_prior,
    still_unknown,
    unsettled_warning,
)
from opsconsole.reconcile.providers import (
    OnStop,
    Providers,
    named_by_import,
    not_there,
    provider_in_state,
    refresh,
)
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.resources.lifecycles import Lifecycle
from opsconsole.state import Address, InstanceObject, StateSession, config_address, instance_and_key
from opsconsole.v1.limiter import HeldBack
from opsconsole.values import Attributes, holds_unknown, unknown_names


def guard_objection(plan: Plan, share: float, fewest: int) -> Diagnostic | None:
    """Return why a plan needs to be forced, or None.

    Deleted and replaced instances count, and those gone from the console before the plan was made:
    a wrong key, org or base address shows itself by both. In a plan that was asked to destroy, only
    the gone ones count.

    Args:
        share: Per cent allowed of the managed instances that state held.
        fewest: Where state held fewer, nothing needs to be forced.
    """
    gone = [item for item in plan.drift if item.after is None]
    going = [item for item in plan.changes if item.action in (Action.DELETE, Action.REPLACE)]
    if plan.mode == "destroy":
        going = []
    existing = sum(item.before is not None for item in plan.changes)
    existing += len(gone)
    if existing < fewest or not (going or gone):
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
        diagnostics = await _settle_unknown(session, planner.providers)
        plan = await planner.plan()
        if options.preflight and not has_error(plan.diagnostics):
            plan = await _with_preflight(plan, planner.providers)
        planner.providers.check_stopped()
    finally:
        await planner.providers.close()
    return replace(plan, diagnostics=(*diagnostics, *plan.diagnostics))


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
        requests = [
            CreateRequest(
                {n: None if holds_unknown(v) else v for n, v in (change.config or {}).items()},
                change.after or {},
                address=change.address,
            )
            for change in changes
        ]
        outcomes = await steps.preflight(requests)
        if outcomes is None:
            continue
        for change, outcome in zip(changes, outcomes, strict=True):
            judged[change.address] = replace(
                change, notes=(*change.notes, _preflight_note(change, outcome))
            )
            diagnostics += outcome.diagnostics
    found = tuple(judged.get(change.address, change) for change in plan.changes)
    return replace(plan, changes=found, diagnostics=tuple(diagnostics), calls=providers.calls)


def _preflight_note(change: Change, outcome: Outcome) -> str:
    unknown = sorted(unknown_names(change.config or {}))
    judged = f", judged without {', '.join(unknown)}" if unknown else ""
    if has_error(outcome.diagnostics):
        return f"dry run: would fail{judged}"
    if outcome.diagnostics:
        return f"dry run: exists already, would be adopted{judged}"
    return f"dry run: would be created{judged}"


async def settle_all(
    workspace: Workspace, session: StateSession, on_stop: OnStop
) -> list[Diagnostic]:
    """Settle what earlier runs left unknown, and plan nothing; return diagnostics.

    Raises:
        UserError: The console cannot be asked, or the result cannot be made durable.
        Stopped: The run was told to stop.
    """
    providers = workspace.providers()
    on_stop(providers.stop)
    try:
        diagnostics = await _settle_unknown(session, providers)
    finally:
        await providers.close()
    known = read_prior(session.state).values()
    return [*diagnostics, *(unsettled_warning(item.address) for item in known if item.unsettled)]


async def _settle_unknown(session: StateSession, providers: Providers) -> list[Diagnostic]:
    """Settle unknown outcomes, where a state or the runs before it left any; return diagnostics."""
    if not session.unresolved and not holds_unsettled(session.state):
        return []
    from opsconsole.reconcile.unknown_outcomes import settle_unknown  # rarely needed

    return await settle_unknown(session, providers)


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
    block = _find_block(workspace, address)
    _check_free(session, address)
    providers = workspace.providers()
    on_stop(providers.stop)
    try:
        item, diagnostics = await _read_import(providers, block, address, import_id)
        providers.check_stopped()
    finally:
        await providers.close()
    if item is None or has_error(diagnostics):
        return diagnostics
    for other in read_prior(session.state).values():
        same = providers.identity_of(other) == providers.identity_of(item)
        if same and other.address != item.address:
            holder, title = other.address, RESOURCES[item.type_name].title
            taken = error(
                f"{holder} holds the {title} {item.before['id']} already",
                f"One object has one address: removing {address} or {holder} would delete what the "
                f"other manages. To give it the address {address}, use a `moved` block, or forget "
                f"it first with `opsconsole state rm '{holder}'`.",
            )
            return [taken]
    kept = InstanceObject(
        item.held.provider,
        item.before,
        private=item.private,
        dependencies=workspace.graph.ancestors(block.address),
    )
    session.state.put(address, kept)
    session.record()
    await session.checkpoint()
    session.mark_resolved(call.id for call in session.unresolved if call.address == str(address))
    return diagnostics


def _find_block(workspace: Workspace, address: Address) -> Block:
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


async def _read_import(
    providers: Providers, block: Block, address: Address, import_id: str
) -> tuple[PriorInstance | None, list[Diagnostic]]:
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


class Applier:
    """Applies one plan to the state of one session."""

    def __init__(
        self, workspace: Workspace, plan: Plan, session: StateSession, listener: ApplyListener
    ) -> None:
        self._workspace = workspace
        self._plan = plan
        self._session = session
        self._listener = listener
        # Until it is replaced, an instance holds its old value, not its planned one.
        self._values: dict[str, Attributes | None] = {
            change.address: None for change in plan.changes if change.action is Action.REPLACE
        }
        planned_at = datetime.fromisoformat(plan.planned_at) if plan.planned_at else None
        self._evaluator = workspace.evaluator(self._value, applying=True, planned_at=planned_at)
        self._providers = workspace.providers(self._evaluator)
        self._outputs = [item.name for item in plan.outputs]
        self._execution: Execution | None = None
        self._stopping = False

    def stop(self) -> None:
        """Begin nothing more; steps in flight are finished and kept."""
        self._stopping = True
        self._providers.stop()
        if self._execution is not None:
            self._execution.stop()

    async def run(self) -> Applied:
        """Apply the plan; successful changes are in state in any case.

        Raises:
            UserError: Changes cannot be made durable, or an output cannot be evaluated.
        """
        try:
            self._catch_up()
            if self._plan.mode == "refresh-only":
                keep_outputs(self._evaluator, self._session.state, self._outputs)
                return self._note_unsettled(Applied())
            keys = {change.provider for change in self._plan.acting() if change.provider}
            lifecycles = {key: self._providers.of(key) for key in keys}
            self._introduce_state()
            self._execution = self._make_execution(lifecycles)
            if self._stopping:
                self._execution.stop()
            applied = await self._execution.run()
            if not self._stopping:
                applied.diagnostics += await self._read_rerouted(applied.rerouted)
            self._take_answers()
            applied.diagnostics += self._report_unguarded()
            self._note_unsettled(applied)
            if applied.complete:
                left = any(item.mode == "managed" for item in self._session.state.addresses())
                gone = self._plan.mode == "destroy" and not left
                keep_outputs(None if gone else self._evaluator, self._session.state, self._outputs)
            elif self._plan.mode == "normal":
                keep_known_outputs(self._evaluator, self._session.state, self._outputs)
            return applied
        finally:
            try:
                self._session.record()
            finally:
                await self._providers.close()

    def _note_unsettled(self, applied: Applied) -> Applied:
        """Note which creations stay of unknown outcome: with one of them, no run is complete."""
        applied.unsettled = self._plan.unsettled
        applied.diagnostics += (still_unknown(item).about(item) for item in applied.unsettled)
        return applied

    @property
    def waiting(self) -> HeldBack:
        """How long the consoles' limits on requests have the run wait."""
        return self._providers.waiting

    def _make_execution(self, lifecycles: Mapping[str, Lifecycle]) -> Execution:
        worker = Worker(
            lifecycles,
            self._session,
            self._config_of,
            lambda key: provider_in_state(self._workspace.program, key),
            self._values,
            planned_diagnostics=frozenset(
                (item.summary, item.detail) for item in self._plan.diagnostics
            ),
        )
        for lifecycle in lifecycles.values():
            lifecycle.session.before_write = worker.note
        limit = min((item.session.limit for item in lifecycles.values()), default=1)
        ordered = order(self._plan.changes, self._providers.console_of)
        return Execution(ordered, worker, self._listener, limit)

    def _catch_up(self) -> None:
        """Bring state to the plan's view: moves, the refresh, data sources."""
        state = self._session.state
        carry_out_moves(state, self._plan.moved)
        for item in self._plan.refreshed:
            address, deposed = instance_and_key(item.address)
            held = state.get(address, deposed)
            if item.value is None:
                state.remove(address, deposed)
            elif held is not None:
                kept = held._replace(attributes=item.value, private=item.private)
                if item.dependencies is not None:
                    kept = kept._replace(dependencies=item.dependencies)
                if item.create_before_destroy is not None:
                    kept = kept._replace(create_before_destroy=item.create_before_destroy)
                state.put(address, kept, deposed)
        for data in self._plan.data:
            provider = provider_in_state(self._workspace.program, data.provider)
            state.put(data.address, InstanceObject(provider, data.value))
        for address in self._plan.dropped:
            state.remove(address)
        self._session.record()

    def _introduce_state(self) -> None:
        """Let every lifecycle know what state holds of its console."""
        console_of = self._providers.console_of
        for item in read_prior(self._session.state).values():
            console = self._providers.console_holding(item)
            for key, lifecycle in self._providers.opened.items():
                if console_of(key) == console:
                    lifecycle.resources[item.type_name].introduce(item.before, item.address)

    def _report_unguarded(self) -> list[Diagnostic]:
        """Fail a run whose dry runs were ignored: on a host the error would taint what exists."""
        if not any(item.session.dry_run_ignored for item in self._providers.opened.values()):
            return []
        diagnostic = error(
            "The console imported what was sent as a dry run",
            "What it created is kept in state, and no further host was sent. A dry run does not "
            "protect imports on this console: ask its operator.",
        )
        return [diagnostic]

    def _value(self, address: str) -> Attributes | None:
        """Return an instance's current values; None: they are not known."""
        if address in self._values:
            held = self._values[address]
        else:
            parsed = Address.parse(address)
            found = self._session.state.get(parsed)
            kinds = DATA_SOURCES if parsed.mode == "data" else RESOURCES
            held = from_state(kinds[parsed.type], found.attributes) if found is not None else None
            self._values[address] = held
        return None if held is not None and is_sentinel(held.get("id")) else held

    def _config_of(self, step: Step) -> Attributes:
        address = step.change.address
        block = self._workspace.program.blocks[config_address(address)]
        instance = self._evaluator.instances(block)[Address.parse(address).key]
        values = self._evaluator.config(instance).values
        if step.change.before is None or step.kind is StepKind.CREATE:
            # A creation ignores nothing: the object that it replaces is gone.
            return values
        return without_ignored(block, values, step.change.before)

    def _take_answers(self) -> None:
        """Keep the values of other resources that answers to writes have shown."""
        answers = {
            (self._providers.console_of(key), *identity): (lifecycle, answer)
            for key, lifecycle in self._providers.opened.items()
            for identity, answer in lifecycle.session.answered_beside.items()
        }
        for item in read_prior(self._session.state).values() if answers else ():
            identity = self._providers.identity_of(item)
            if identity not in answers:
                continue
            lifecycle, answer = answers[identity]
            request = ReadRequest(item.before, item.held.private, item.address)
            outcome = lifecycle.resources[item.type_name].take_answer(request, answer)
            if (outcome.state, outcome.private) != (item.before, item.held.private):
                kept = item.held._replace(attributes=outcome.state or {}, private=outcome.private)
                self._session.state.put(item.address, kept)

    async def _read_rerouted(self, rerouted: Collection[Identity]) -> list[Diagnostic]:
        """Read rerouted hosts again, and keep their changes."""
        known = read_prior(self._session.state) if rerouted else {}
        wanted = [item for item in known.values() if self._providers.identity_of(item) in rerouted]
        if not wanted:
            return []
        found = await refresh(wanted, self._providers.by_state_address(wanted))
        diagnostics: list[Diagnostic] = []
        for item in found.values():
            if item.value is None or item.value == item.before:
                continue
            kept = item.held._replace(attributes=item.value, private=item.private)
            self._session.state.put(item.address, kept)
            names = [name for name in item.value if item.value[name] != item.before[name]]
            changed = warning(
                f"{item.address} was rerouted by the console",
                f"Changed there: {', '.join(names)}. The next plan shows the difference.",
            )
            diagnostics.append(changed.about(item.address))
        return diagnostics
