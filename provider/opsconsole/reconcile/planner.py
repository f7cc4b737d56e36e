"""Makes a plan: refreshes the instances in state, walks through the program, adds the removals."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from opsconsole.clock import utc_now
from opsconsole.diagnostics import Diagnostic, has_error, warning
from opsconsole.lifecycle.deletions import is_counted, refuse_too_many
from opsconsole.lifecycle.interface import CreateRequest, Outcome, Seen
from opsconsole.reconcile.cascade import (
    Targets,
    note_cascades,
    refuse_carried,
    refuse_taking_along,
    refuse_undeclared_imports,
    warn_undeclared_replacements,
)
from opsconsole.reconcile.decisions import output_changes
from opsconsole.reconcile.duplicates import (
    adopted_objects,
    refuse_shared_objects,
    warn_apparent_moves,
    warn_shared_names,
)
from opsconsole.reconcile.imports import refuse_missing_object, take_imports
from opsconsole.reconcile.order import order_steps
from opsconsole.reconcile.plan import Action, Change, Drift, Plan, PlanOptions, Refreshed
from opsconsole.reconcile.prior import (
    PriorInstance,
    apply_moves,
    from_state,
    holds_unsettled,
    read_deposed,
    read_prior,
    refuse_declared_sources,
    refuse_split_moves,
    warn_unsettled,
)
from opsconsole.reconcile.walk import Walk
from opsconsole.reconcile.workspace import (
    Providers,
    Workspace,
    is_partly_shown,
    provider_key_of,
)
from opsconsole.resources import DATA_SOURCES, RESOURCES, owner_of
from opsconsole.state import State, StateSession
from opsconsole.values import Values, changed_fields, holds_unknown, unknown_names


class Planner:
    """Makes one plan. Its providers stay open for later use, until they are closed."""

    def __init__(self, workspace: Workspace, options: PlanOptions) -> None:
        self._workspace = workspace
        self._options = options
        self._values: dict[str, Values] = {}
        self._planned_at = utc_now()
        self.evaluator = workspace.evaluator(self._values.get, planned_at=self._planned_at)
        self.providers = workspace.providers(self.evaluator)
        self._diagnostics = [
            warning(f"{path}: {text}", "The app says so, in an annotation of this construct.")
            for path, text in workspace.program.warnings
        ]
        self._wanted_outputs: frozenset[str] | None = None
        self._unread = self._partly_shown = 0
        self._data_for_imports: dict[str, Values | None] = {}

    async def plan(self) -> Plan:
        """Make the plan.

        Raises:
            UserError: the program or the state allows no plan at all. Problems of single instances
                are in the plan's diagnostics.
        """
        workspace, options = self._workspace, self._options
        prior = await self._read_prior()
        console_of = self.providers.console_of
        identity_of = self.providers.identity_of
        held = [(identity_of(it), it.address) for it in prior.values() if not it.unsettled]
        self._diagnostics += refuse_shared_objects(held)
        targets = self._select_targets(prior)
        known = await self._refresh_instances(prior, targets)
        self.providers.check_stopped()
        # The walk would create the objects to be imported.
        if self._refuse_missing(known):
            return self._result((), known, None)
        unsettled = [item.address for item in known.values() if item.unsettled]
        self._diagnostics += (warn_unsettled(item).about(item) for item in unsettled)
        if options.mode == "refresh-only":
            return self._result(tuple(_leave_unsettled(known, ())), known, None)
        walk = Walk(
            self.evaluator,
            workspace.graph,
            self.providers,
            targets,
            known,
            self._values,
            self._data_for_imports,
            options.replace,
        )
        await self._run(walk)
        changes = self._explain_changes(walk)
        changes += _leave_unsettled(known, walk.changes)
        self._diagnostics += warn_apparent_moves(changes, console_of)
        self._diagnostics += warn_shared_names(changes, console_of)
        self._diagnostics += self._refuse_too_many(changes)
        adopted = list(adopted_objects(changes, self.providers))
        identities = {identity for identity, _ in adopted}
        adopted[:0] = (pair for pair in held if pair[0] in identities)
        self._diagnostics += refuse_shared_objects(adopted)
        return self._result(tuple(_in_order(changes, console_of)), known, walk)

    def _select_targets(self, known: Mapping[str, PriorInstance]) -> Targets:
        """Return the targets; report moves that they leave out."""
        options, graph = self._options, self._workspace.graph
        destroy = options.mode == "destroy"
        targets = Targets(options.targets, graph, known, destroy=destroy)
        self._diagnostics += refuse_split_moves(known.values(), options.targets)
        self._wanted_outputs = targets.outputs(graph, destroy=destroy)
        return targets

    async def _run(self, walk: Walk) -> None:
        """Walk the program, unless everything is destroyed, and add the removals."""
        options = self._options
        if options.mode == "normal":
            await walk.run()
            self._diagnostics += warn_undeclared_replacements(options.replace, walk.declared)
            self._diagnostics += refuse_undeclared_imports(
                walk.known.values(), walk.targets, walk.declared
            )
        self._diagnostics += refuse_declared_sources(self._workspace.program, walk.declared)
        await walk.remove(destroy=options.mode == "destroy")
        self._diagnostics += walk.diagnostics

    async def _read_prior(self) -> dict[str, PriorInstance]:
        """Return the instances in state after the moves and imports of the program.

        Each has its address, or the name of a deposed object, as the key.
        """
        workspace = self._workspace
        known, diagnostics = apply_moves(read_prior(workspace.state), workspace.program)
        self._diagnostics += diagnostics
        known |= read_deposed(workspace.state, known)
        imports = workspace.program.imports if self._options.mode == "normal" else ()
        if imports and await self._read_for_imports():
            # An `import` block may refer to objects in state, which are among the values only after
            # the walk.
            held = {item.address: item.before for item in known.values()}
            values = ChainMap(self._values, held)
            evaluator = workspace.evaluator(values.get, planned_at=self._planned_at)
            self._diagnostics += await take_imports(known, self.providers, evaluator)
        return known

    async def _read_for_imports(self) -> bool:
        """Read the data sources that `import` blocks need; return whether all could be read."""
        graph, blocks = self._workspace.graph, self._workspace.program.blocks
        wanted = {*graph.imports}.union(*map(graph.ancestors, graph.imports))
        read = True
        for address in filter(wanted.__contains__, graph.order):
            # A data source that depends on a resource is left to the walk, as the id that it needs
            # is not known here.
            if any(blocks[item].mode != "data" for item in (address, *graph.ancestors(address))):
                continue
            for instance in self.evaluator.instances(blocks[address]).values():
                values = self.evaluator.config(instance).values
                provider = self.providers.of(instance.block.provider)
                outcome = await provider.read_data(instance.block.type_name, values)
                self._diagnostics += (item.about(instance.address) for item in outcome.diagnostics)
                # The walk uses this value, and does not read the data source again.
                self._data_for_imports[instance.address] = outcome.state
                if outcome.state is None:
                    read = False
                else:
                    self._values[instance.address] = outcome.state
        return read

    def _explain_changes(self, walk: Walk) -> list[Change]:
        """Return the changes of a walk with notes on deletions; report refused deletions."""
        cascade = walk.cascade()
        changes = note_cascades(list(walk.changes.values()), cascade, walk.known)
        self._diagnostics += refuse_taking_along(changes, cascade, walk.known.values())
        carried = refuse_carried(
            changes, walk.known.values(), self._can_delete, self.providers.console_holding
        )
        self._diagnostics += carried
        return changes

    def _refuse_too_many(self, changes: Iterable[Change]) -> Iterator[Diagnostic]:
        """Yield an error for each provider whose `max_deletions` the plan goes beyond."""
        going: dict[str, list[str]] = {}
        for change in changes:
            removes = change.action in (Action.DELETE, Action.REPLACE)
            if removes and is_counted(RESOURCES[change.type_name], change.before or {}):
                going.setdefault(change.provider, []).append(change.address)
        for provider, addresses in going.items():
            settings = self.providers.of(provider).session.settings
            refusal = refuse_too_many(addresses, settings.max_deletions)
            if refusal is not None:
                yield refusal

    def _can_delete(self, item: PriorInstance) -> bool:
        opened = self.providers.opened.get(provider_key_of(item.stored.provider))
        operation = RESOURCES[item.type_name].ways["delete"][0].operation
        return opened is not None and opened.session.console.has(operation)

    def _find_dropped(self, walk: Walk) -> tuple[str, ...]:
        program = self._workspace.program
        data = (
            str(item)
            for item in self._workspace.state.addresses()
            if item.mode == "data" and item.config not in program.remote_states
        )
        return tuple(item for item in data if item not in walk.declared and item in walk.targets)

    async def _refresh_instances(
        self, prior: Mapping[str, PriorInstance], targets: Targets
    ) -> dict[str, PriorInstance]:
        planned = [item for item in prior.values() if item.address in targets]
        wanted = planned
        # An import names an id only: without a read there are no values to plan with.
        if not self._options.refresh:
            wanted = [item for item in planned if item.import_id]
        refreshed = await self.providers.refresh(wanted)
        read = [item.read for item in refreshed.values()]
        seen = sum(item is not None and item.seen is not Seen.UNCHECKED for item in read)
        self._unread = len(planned) - seen
        self._partly_shown = sum(map(is_partly_shown, refreshed.values()))
        # No later run could tell that objects outside of -target went with their owner: the plan
        # may give its address another owner.
        while owned := self._find_gone_with_owner(prior, refreshed):
            refreshed |= await self.providers.refresh(owned)
        for item in refreshed.values():
            # The warning about an unsettled create is given once, whether it is read or not.
            if item.read is not None and not item.unsettled:
                self._diagnostics += (one.about(item.address) for one in item.read.diagnostics)
        return {**prior, **refreshed}

    def _find_gone_with_owner(
        self, prior: Mapping[str, PriorInstance], refreshed: Mapping[str, PriorInstance]
    ) -> list[PriorInstance]:
        """Return the instances that were not read, and whose owner was read and is gone."""
        console_holding = self.providers.console_holding
        gone = {
            (console_holding(item), item.type_name, item.before.get("id"))
            for item in refreshed.values()
            if item.value is None
        }
        owned = []
        for item in prior.values():
            definition = RESOURCES[item.type_name]
            owner = owner_of(definition)
            if owner is None or item.unsettled or item.address in refreshed:
                continue
            if (console_holding(item), owner.type_name, item.before.get(definition.owner)) in gone:
                owned.append(item)
        return owned

    def _refuse_missing(self, known: Mapping[str, PriorInstance]) -> bool:
        """Refuse `import` blocks of objects that do not exist; return whether there are any."""
        missing = {it.address: it for it in known.values() if it.import_id and it.value is None}
        # The reads have warned that these objects leave state, but they never were in state.
        read = [item for item in self._diagnostics if missing.keys().isdisjoint(item.addresses)]
        self._diagnostics = read
        for address, item in missing.items():
            refused = refuse_missing_object(item.type_name, item.import_id)
            self._diagnostics.append(refused.about(address))
        return bool(missing)

    def _result(
        self,
        changes: tuple[Change, ...],
        known: Mapping[str, PriorInstance],
        walk: Walk | None,
    ) -> Plan:
        state, mode = self._workspace.state, self._options.mode
        # Without a walk, nothing has filled in the values that outputs refer to.
        if walk is None:
            self._values.update(
                (address, item.value) for address, item in known.items() if item.value is not None
            )
            self._values.update(_data_in(state))
        refused = {a for item in self._diagnostics if has_error((item,)) for a in item.addresses}
        evaluator = None if mode == "destroy" else self.evaluator
        outputs = (
            ()
            if has_error(self._diagnostics)
            else output_changes(evaluator, state, self._wanted_outputs)
        )
        moves = ((item.previous_address, item.address) for item in known.values())
        return Plan(
            changes=tuple(change for change in changes if change.address not in refused),
            drift=tuple(_drift(known)),
            outputs=outputs,
            diagnostics=tuple(self._diagnostics),
            lineage=state.lineage,
            serial=state.serial,
            mode=mode,
            calls=self.providers.calls,
            refreshed=tuple(_keep_refreshed(known, changes)),
            data=tuple(walk.data) if walk is not None else (),
            dropped=self._find_dropped(walk) if walk is not None else (),
            moved=tuple((before, now) for before, now in moves if before),
            planned_at=self._planned_at.isoformat(),
            unread=self._unread,
            partly_shown=self._partly_shown,
        )


def _leave_unsettled(
    known: Mapping[str, PriorInstance], decided: Container[str]
) -> Iterator[Change]:
    """Yield a change without an action for each unsettled create without a decision."""
    for item in known.values():
        # This includes creations outside of -target, as no run is complete with one of them.
        if item.unsettled and item.address not in decided:
            yield Change(
                item.address,
                item.type_name,
                Action.NO_OP,
                item.before,
                item.before,
                sensitive=item.sensitive,
                notes=("left alone until it is settled whether it was created",),
                depends_on=tuple(item.stored.dependencies),
            )


def _in_order(changes: list[Change], console_of: Callable[[str], str]) -> list[Change]:
    rank: dict[str, int] = {}
    for step in order_steps(changes, console_of).list_unfinished():
        # Of the two steps of a replacement, the first one counts.
        rank.setdefault(step.change.address, len(rank))
    return sorted(changes, key=lambda change: rank.get(change.address, len(rank)))


def _drift(known: Mapping[str, PriorInstance]) -> list[Drift]:
    found = []
    for item in known.values():
        value = item.value
        # An import names an id only: what its read adds is no drift.
        if value is item.before or item.import_id:
            continue
        names = RESOURCES[item.type_name].names
        if value is None or changed_fields(item.before, value, names):
            found.append(Drift(item.address, item.type_name, item.before, value, item.sensitive))
    return found


def _data_in(state: State) -> Iterator[tuple[str, Values]]:
    """Yield the data sources in state, which a refresh-only plan does not read."""
    for address in state.addresses():
        definition = DATA_SOURCES.get(address.type)
        if address.mode == "data" and definition and (held := state.get(address)) is not None:
            yield str(address), from_state(definition, held.attributes)


def _keep_refreshed(
    known: Mapping[str, PriorInstance], changes: Sequence[Change]
) -> list[Refreshed]:
    """Return the part of the refresh to keep, and the instances that stay as they are."""
    staying = {
        change.address: change
        for change in changes
        if change.action is Action.NO_OP and change.provider
    }
    found = []
    for item in known.values():
        change = staying.get(item.address)
        # No step writes an instance without a change. Its dependencies, and the order of a
        # replacement, reach state only here.
        dependencies, first = None, None
        if change is not None and set(change.depends_on) != set(item.stored.dependencies):
            dependencies = change.depends_on
        if change is not None and change.create_before_destroy != item.stored.create_before_destroy:
            first = change.create_before_destroy
        read = item.value != item.before or item.private != item.stored.private
        if read or dependencies is not None or first is not None:
            found.append(Refreshed(item.address, item.value, item.private, dependencies, first))
    return found


async def make_plan(
    workspace: Workspace,
    session: StateSession,
    options: PlanOptions,
    watch: Callable[[Planner], None] | None = None,
) -> Plan:
    """Settle the writes of earlier runs, and make a plan.

    Args:
        workspace: The workspace, with the state of `session`.
        watch: Receives the planner before it begins, to show its progress and to stop it.

    Raises:
        UserError: The program or the state cannot be planned with at all.
        Stopped: It was told to stop.
    """
    planner = Planner(workspace, options)
    if watch is not None:
        watch(planner)
    try:
        diagnostics: list[Diagnostic] = []
        if session.open_intents or holds_unsettled(workspace.state):
            from opsconsole.reconcile.settle import settle_unknown  # rarely needed

            diagnostics = await settle_unknown(session, planner.providers)
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
        if change.action is not Action.CREATE:
            continue
        label = RESOURCES[change.type_name].label
        if holds_unknown((change.config or {}).get(label)):
            note = f"dry run: not judged, as its {label} is not known yet"
            judged[change.address] = replace(change, notes=(*change.notes, note))
        else:
            groups.setdefault((change.provider, change.type_name), []).append(change)
    for (provider, type_name), changes in groups.items():
        lifecycle = providers.of(provider).resources[type_name]
        requests = [
            CreateRequest(
                {n: None if holds_unknown(v) else v for n, v in (change.config or {}).items()},
                change.after or {},
                address=change.address,
            )
            for change in changes
        ]
        outcomes = await lifecycle.preflight(requests)
        if outcomes is None:
            continue
        for change, outcome in zip(changes, outcomes, strict=True):
            judged[change.address] = replace(
                change, notes=(*change.notes, _preflight_note(change, outcome))
            )
            diagnostics += (item.about(change.address) for item in outcome.diagnostics)
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
