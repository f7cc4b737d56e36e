"""Makes a plan: refreshes the instances in state, walks the program, adds the removals."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from opsconsole.clock import utc_now
from opsconsole.diagnostics import Diagnostic, error, has_error, warning
from opsconsole.language import Block, Evaluator, PresentKeys, undeclared_warnings
from opsconsole.lifecycle.interface import CreateRequest, Outcome, ReadStatus
from opsconsole.reconcile.decisions import output_changes
from opsconsole.reconcile.order import sort_steps
from opsconsole.reconcile.plan import (
    Action,
    Change,
    Drift,
    Plan,
    PlanOptions,
    Refreshed,
)
from opsconsole.reconcile.prior import (
    Identity,
    Name,
    PriorInstance,
    keys_by_block,
    may_hold_unsettled,
    name_of,
    read_deposed,
    read_prior,
    unsettled_warning,
    values_from_state,
)
from opsconsole.reconcile.providers import Providers, Watch, is_partly_observed, provider_key_of
from opsconsole.reconcile.stack import OpenedStack
from opsconsole.reconcile.walk import Walk
from opsconsole.resources import DATA_SOURCES, RESOURCES, owner_of
from opsconsole.state import Address, InstanceKey, State, format_key, split_deposed
from opsconsole.text import first_items, join_words
from opsconsole.values import Values, changed_fields, holds_unknown, unknown_names

if TYPE_CHECKING:
    from opsconsole.reconcile.targets import Targets


async def make_plan(
    stack: OpenedStack,
    options: PlanOptions,
    watch: Watch = lambda providers: None,
) -> Plan:
    """Settle the writes of earlier runs, and make a plan.

    Raises:
        UserError: The program or the state allows no plan at all.
        Stopped: The run was told to stop.
    """
    planner = Planner(stack, options)
    watch(planner.providers)
    diagnostics: list[Diagnostic] = []
    async with planner.providers as providers:
        if stack.state_session.open_intents or may_hold_unsettled(stack.state):
            from opsconsole.reconcile.settle import settle_earlier_writes  # rarely needed

            diagnostics = await settle_earlier_writes(stack.state_session, providers)
        plan = await planner.plan()
        if options.preflight and not has_error(plan.diagnostics):
            plan = await _with_preflight(plan, providers)
        providers.check_stopped()
    return replace(plan, diagnostics=(*diagnostics, *plan.diagnostics))


class Planner:
    def __init__(self, stack: OpenedStack, options: PlanOptions) -> None:
        self._stack = stack
        self._options = options
        self._values: dict[str, Values] = {}
        self._planned_at = utc_now()
        self._keys: PresentKeys = lambda block: None
        self._evaluator = stack.evaluator(
            self._values.get, present=lambda block: self._keys(block), planned_at=self._planned_at
        )
        self._prior: Mapping[str, PriorInstance] = {}
        self.providers = stack.providers(self._evaluator, self._evaluator_in_state())
        self._diagnostics = [
            warning(f"{path}: {text}", "The app says so, in an annotation of this construct.")
            for path, text in stack.program.warnings
        ]
        self._diagnostics += undeclared_warnings(stack.program)
        self._targets: Targets | None = None
        self._unread = self._partly_observed = 0
        self._data_for_imports: dict[str, Values | None] = {}

    async def plan(self) -> Plan:
        """Make the plan; problems of single instances become its diagnostics.

        Raises:
            UserError: The program or the state allows no plan at all.
        """
        stack, options = self._stack, self._options
        prior = await self._read_prior()
        if options.targets:
            from opsconsole.reconcile.targets import Targets, split_move_errors

            destroy = options.mode == "destroy"
            self._targets = Targets(
                options.targets,
                stack.graph,
                prior,
                destroy=destroy,
                unknown=options.unknown_targets,
            )
            self._diagnostics += self._targets.diagnostics
            self._diagnostics += split_move_errors(prior.values(), options.targets)
            self._diagnostics.append(
                warning(
                    "Resource targeting is in effect",
                    "With --target, the plan may leave out changes that the program asks for. Use "
                    "it in exceptional situations only, such as the recovery from an error.",
                )
            )
        self._prior = prior
        if prior:
            self._prior = prior = await self._refresh_instances(prior)
            refreshed = self._evaluator_in_state()
            self._diagnostics += self.providers.changed_settings_errors(refreshed)
        self.providers.check_stopped()
        # The walk would create the objects to be imported.
        if any(item.import_id and item.values is None for item in prior.values()):
            return self._result([], None)
        if options.mode == "refresh-only" or self._targets is not None:
            self._show_state(prior)
        if options.mode == "refresh-only":
            return self._result(_leave_unsettled(prior), None)
        walk = Walk(
            self._evaluator,
            stack.graph,
            self.providers,
            targets=self._targets,
            prior=prior,
            values=self._values,
            data_for_imports=self._data_for_imports,
            requested=options.replace,
        )
        changes = await self._plan_changes(walk)
        return self._result(changes, walk)

    def _evaluator_in_state(self) -> Evaluator:
        """Return an evaluator that knows the values before the changes of this plan."""
        return self._stack.evaluator(self._value_in_state, planned_at=self._planned_at)

    def _value_in_state(self, address: str) -> Values | None:
        item = self._prior.get(address)
        if item is None:
            return self._stack.value_in_state(address)
        # An import names an id only: its other values are not known before the read.
        partial = item.unsettled or (item.import_id and item.read is None)
        return None if partial else item.values

    def _show_state(self, prior: Mapping[str, PriorInstance]) -> None:
        """Let references see the instances in state that the plan keeps, as in Terraform."""
        kept = {address: item.values for address, item in prior.items() if item.values is not None}
        named = (split_deposed(address) for address in kept)
        in_state = keys_by_block(Address.parse(item) for item, deposed in named if not deposed)
        targets = self._targets
        if targets is None or self._options.mode == "refresh-only":
            self._keys = in_state
            return
        self._values.update((item, kept[item]) for item in kept if item not in targets)

        def leave(block: Block) -> Iterable[InstanceKey] | None:
            keys = in_state(block)
            if keys is None:
                return None
            declared = self._evaluator.instances(block)
            covered = {key for key, item in declared.items() if item.address in targets}
            # Covered instances that are not declared are removed.
            return covered.union(
                key
                for key in keys
                if key in declared or block.address + format_key(key) not in targets
            )

        self._keys = leave

    async def _plan_changes(self, walk: Walk) -> list[Change]:
        """Walk the program, unless everything is destroyed, and add the removals."""
        program, options = self._stack.program, self._options
        if options.mode == "normal":
            await walk.run()
            if not has_error(walk.diagnostics):
                self._diagnostics += self.providers.changed_settings_errors(self._evaluator)
            if options.replace:
                from opsconsole.reconcile.targets import undeclared_replacement_warnings

                self._diagnostics += undeclared_replacement_warnings(
                    options.replace, walk.declared, self._targets
                )
        if program.removed:
            from opsconsole.reconcile.moves import declared_removal_errors

            self._diagnostics += declared_removal_errors(program)
        changes = list(walk.changes.values())
        if walk.prior:
            from opsconsole.reconcile import removals

            self._diagnostics += removals.undeclared_import_errors(walk)
            changes = await removals.remove_undeclared(walk, destroy=options.mode == "destroy")
            changes += _leave_unsettled(walk.prior, walk.changes)
            walk.diagnostics += removals.apparent_move_warnings(changes, self.providers.console_of)
            walk.diagnostics += removals.max_deletions_errors(changes, self.providers)
        self._diagnostics += walk.diagnostics
        self._diagnostics += _shared_name_warnings(changes, self.providers.console_of)
        self._diagnostics += _other_console_warnings(changes, walk.prior, self.providers)
        rank: dict[str, int] = {}
        for step in sort_steps(changes, self.providers.console_of):
            # Of the two steps of a replacement, the first one counts.
            rank.setdefault(step.change.address, len(rank))
        return sorted(changes, key=lambda change: rank.get(change.address, len(rank)))

    async def _read_prior(self) -> dict[str, PriorInstance]:
        """Return the instances in state after the moves and imports of the program.

        The keys are addresses, or the names of deposed objects.
        """
        stack, program = self._stack, self._stack.program
        prior = read_prior(stack.state)
        if prior or program.moved:
            from opsconsole.reconcile.moves import apply_moves

            prior, diagnostics = apply_moves(prior, program)
            self._diagnostics += diagnostics
        prior |= read_deposed(stack.state, prior)
        if program.imports and self._options.mode == "normal":
            from opsconsole.reconcile.imports import add_imports, read_data_for_imports

            self._data_for_imports, diagnostics = await read_data_for_imports(
                stack, self._evaluator, self.providers, self._values
            )
            self._diagnostics += diagnostics
            if None not in self._data_for_imports.values():
                # An `import` block may refer to objects in state, whose values the walk adds.
                in_state = {item.address: item.stored_values for item in prior.values()}
                values = ChainMap(self._values, in_state)
                evaluator = stack.evaluator(values.get, planned_at=self._planned_at)
                self._diagnostics += await add_imports(prior, self.providers, evaluator)
        return prior

    async def _refresh_instances(
        self, prior: Mapping[str, PriorInstance]
    ) -> dict[str, PriorInstance]:
        """Return the instances after their reads; report problems of the reads."""
        targets = self._targets
        planned = [item for item in prior.values() if targets is None or item.address in targets]
        # An import names an id only: without a read there are no values to plan with.
        refresh = self._options.refresh
        refreshed = await self.providers.refresh(
            [item for item in planned if refresh or item.import_id]
        )
        read = [item.read for item in refreshed.values()]
        checked = sum(item is not None and item.status is not ReadStatus.UNCHECKED for item in read)
        self._unread = len(planned) - checked
        self._partly_observed = sum(map(is_partly_observed, refreshed.values()))
        # No later run could tell that objects outside of --target went with their owner: this plan
        # may put another object at the address of the owner.
        while owned := self._find_gone_with_owner(prior, refreshed):
            refreshed |= await self.providers.refresh(owned)
        for item in refreshed.values():
            if item.import_id and item.values is None:
                from opsconsole.reconcile.imports import missing_object_error

                # Its read warns that the object leaves state, but it never was in state.
                refused = missing_object_error(item.type_name, item.import_id)
                self._diagnostics.append(refused.about(item.address))
            # The warning about an unsettled create is given once, whether it is read or not.
            elif item.read is not None and not item.unsettled:
                self._diagnostics += (one.about(item.address) for one in item.read.diagnostics)
        prior = {**prior, **refreshed}
        unsettled = [item.address for item in prior.values() if item.unsettled]
        self._diagnostics += (unsettled_warning(item).about(item) for item in unsettled)
        return prior

    def _find_gone_with_owner(
        self, prior: Mapping[str, PriorInstance], refreshed: Mapping[str, PriorInstance]
    ) -> list[PriorInstance]:
        """Return the unread instances whose owner was read and is gone."""
        console_holding = self.providers.console_holding
        gone = {
            (console_holding(item), item.type_name, item.stored_values.get("id"))
            for item in refreshed.values()
            if item.values is None
        }
        owned = []
        for item in prior.values():
            definition = RESOURCES[item.type_name]
            owner = owner_of(definition)
            if owner is None or item.unsettled or item.address in refreshed:
                continue
            owner_id = item.stored_values.get(definition.owner)
            if (console_holding(item), owner.type_name, owner_id) in gone:
                owned.append(item)
        return owned

    def _result(self, changes: Sequence[Change], walk: Walk | None) -> Plan:
        state, mode, prior = self._stack.state, self._options.mode, self._prior
        self._diagnostics += _shared_object_errors(prior.values(), changes, self.providers)
        # Without a walk, nothing has filled in the values that outputs refer to.
        if walk is None:
            self._values.update(
                (address, item.values) for address, item in prior.items() if item.values is not None
            )
            self._values.update(_data_in(state))
        if self._stack.program.moved:
            from opsconsole.reconcile.moves import declared_source_errors

            self._diagnostics += declared_source_errors(self._evaluator)
        refused = {a for item in self._diagnostics if item.is_error for a in item.addresses}
        drift, refreshed = _compare_reads(prior.values())
        destroy, targets = mode == "destroy", self._targets
        names = targets.outputs(self._stack.graph, destroy=destroy) if targets is not None else None
        return Plan(
            changes=tuple(change for change in changes if change.address not in refused),
            drift=drift,
            outputs=()
            if has_error(self._diagnostics)
            else output_changes(None if destroy else self._evaluator, state, names),
            diagnostics=tuple(self._diagnostics),
            lineage=state.lineage,
            serial=state.serial,
            mode=mode,
            targeted=targets is not None,
            calls=self.providers.calls,
            refreshed=refreshed,
            data=tuple(walk.data) if walk is not None else (),
            dropped=tuple(self._find_dropped(walk)) if walk is not None else (),
            moved=tuple(
                (item.previous_address, item.address)
                for item in prior.values()
                if item.previous_address
            ),
            planned_at=self._planned_at,
            unread=self._unread,
            partly_observed=self._partly_observed,
        )

    def _find_dropped(self, walk: Walk) -> Iterator[str]:
        """Yield the data sources in state that the program no longer declares."""
        for item in self._stack.state.addresses():
            is_data = item.mode == "data" and item.config not in self._stack.program.remote_states
            if is_data and str(item) not in walk.declared and walk.covers(str(item)):
                yield str(item)


def _leave_unsettled(
    prior: Mapping[str, PriorInstance], decided: Container[str] = ()
) -> list[Change]:
    """Return a change without an action for each unsettled create that is not in `decided`."""
    # This includes creations outside of --target, as no run is complete with one of them.
    return [
        Change(
            item.address,
            item.type_name,
            Action.NO_OP,
            item.stored_values,
            item.stored_values,
            sensitive=item.sensitive,
            notes=("left alone until it is settled whether it was created",),
            dependencies=tuple(item.stored.dependencies),
        )
        for item in prior.values()
        if item.unsettled and item.address not in decided
    ]


def _compare_reads(
    prior: Iterable[PriorInstance],
) -> tuple[tuple[Drift, ...], tuple[Refreshed, ...]]:
    """Return the drift, and the reads that differ from state."""
    drift, refreshed = [], []
    for item in prior:
        stored, values = item.stored_values, item.values
        if values == stored and item.private == item.stored.private:
            continue
        refreshed.append(Refreshed(item.address, values, item.private))
        names = RESOURCES[item.type_name].names
        # An import names an id only: the values of its read are no drift.
        if not item.import_id and (values is None or changed_fields(stored, values, names)):
            drift.append(
                Drift(
                    item.address,
                    item.type_name,
                    stored,
                    values,
                    item.sensitive,
                    item.previous_address,
                )
            )
    return tuple(drift), tuple(refreshed)


def _data_in(state: State) -> Iterator[tuple[str, Values]]:
    """Yield the data sources in state, which a refresh-only plan does not read."""
    for address in state.addresses():
        definition = DATA_SOURCES.get(address.type)
        if address.mode == "data" and definition and (stored := state.get(address)) is not None:
            text = str(address)
            yield text, values_from_state(text, definition, stored.attributes)


def _shared_name_warnings(
    changes: Iterable[Change], console_of: Callable[[str], str]
) -> Iterator[Diagnostic]:
    """Yield a warning for each name that a new object shares with another object."""
    holders: dict[Name, list[Change]] = {}
    for change in changes:
        key = name_of(console_of(change.provider_key), change.type_name, change.after)
        if key is not None:
            holders.setdefault(key, []).append(change)
    for (_, type_name, name), several in holders.items():
        orgs = {(change.after or {}).get("org_id") for change in several}
        # An org that is unknown or not declared may be the org of another object.
        apart = len(orgs) == len(several) and all(isinstance(org, str) for org in orgs)
        if apart or len(several) == 1:
            continue
        # Objects that exist already were accepted under this name.
        if any(change.action is Action.CREATE for change in several):
            addresses = first_items([change.address for change in several], 10)
            yield warning(
                f'{len(several):,} {RESOURCES[type_name].plural} are named "{name}"',
                f"{addresses}: a console may take one for the other, and refuse it. Declare "
                "each machine once.",
            )


def _other_console_warnings(
    changes: Iterable[Change], prior: Mapping[str, PriorInstance], providers: Providers
) -> Iterator[Diagnostic]:
    """Yield a warning for each unchanged object that is not on the console of its declaration."""
    for change in changes:
        item = prior.get(change.address)
        if change.action is not Action.NO_OP or item is None:
            continue
        former, key = provider_key_of(item.stored.provider), change.provider_key
        if former == key:
            continue
        consoles = [providers.console_of(former), providers.console_of(key)]
        # The settings of both are known.
        if former not in consoles and key not in consoles and consoles[0] != consoles[1]:
            yield warning(
                f"{change.address} is declared on another console than the one that has it",
                f"It was read from {consoles[0]}, as state says, and the program declares it on "
                f"{consoles[1]}, where nothing is done. To manage an object on {consoles[1]}, take "
                f"this one out of state: opsconsole state rm '{change.address}'. It stays on "
                f"{consoles[0]}.",
            ).about(change.address)


def _shared_object_errors(
    prior: Iterable[PriorInstance], changes: Iterable[Change], providers: Providers
) -> Iterator[Diagnostic]:
    """Yield an error for each object with several addresses, in state or in a plan."""
    changes = list(changes)
    forgotten = {item.address for item in changes if item.action is Action.FORGET}
    removed = {item.address: item for item in changes if item.action is Action.DELETE}
    addresses: dict[Identity, list[str]] = {}
    for item in prior:
        if not item.unsettled and item.address not in forgotten:
            addresses.setdefault(providers.identity_of(item), []).append(item.address)
    for change in changes:
        # A known id in the plan of a creation is that of an object which is adopted, or attached.
        object_id = (change.after or {}).get("id")
        if change.action in (Action.CREATE, Action.ADOPT) and isinstance(object_id, str):
            identity = providers.console_of(change.provider_key), change.type_name, object_id
            several = addresses.setdefault(identity, [])
            if all(
                address in removed and _leaves_id_to_another(removed[address], providers)
                for address in several
            ):
                several.clear()
            several.append(change.address)
    for (_, type_name, object_id), several in addresses.items():
        # An object that was gone and is created again under its id has the same address twice.
        distinct = list(dict.fromkeys(several))
        if len(distinct) > 1:
            yield error(
                f"{join_words(distinct)} are the same {RESOURCES[type_name].title}, {object_id}",
                "One object has one address: removing one of the two would delete what the other "
                "manages. Keep one of them. If the other is in state, `opsconsole state rm "
                "ADDRESS` forgets it without a change to the console. If it is only declared or "
                "imported, take it out of the program, or move it with a `moved` block.",
            ).about(several[-1])


def _leaves_id_to_another(change: Change, providers: Providers) -> bool:
    """Return whether another address may take the object of an instance that is removed."""
    # An attachment is made again: its id is none that the console made up.
    if RESOURCES[change.type_name]["id"].local:
        return True
    lifecycle = providers.of(change.provider_key).lifecycles[change.type_name]
    return bool(lifecycle.staying_warnings(change.before or {}))


async def _with_preflight(plan: Plan, providers: Providers) -> Plan:
    """Add the console's verdict on creations to a plan.

    Only known values are sent; a note names the others.
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
            groups.setdefault((change.provider_key, change.type_name), []).append(change)
    for (provider_key, type_name), created in groups.items():
        lifecycle = providers.of(provider_key).lifecycles[type_name]
        requests = [
            CreateRequest(
                {n: None if holds_unknown(v) else v for n, v in (change.config or {}).items()},
                change.after or {},
                address=change.address,
            )
            for change in created
        ]
        outcomes = await lifecycle.preflight(requests)
        if outcomes is None:
            continue
        for change, outcome in zip(created, outcomes, strict=True):
            judged[change.address] = replace(
                change, notes=(*change.notes, _preflight_note(change, outcome))
            )
            diagnostics += (item.about(change.address) for item in outcome.diagnostics)
    changes = tuple(judged.get(change.address, change) for change in plan.changes)
    return replace(plan, changes=changes, diagnostics=tuple(diagnostics), calls=providers.calls)


def _preflight_note(change: Change, outcome: Outcome) -> str:
    unknown = sorted(unknown_names(change.config or {}))
    judged = f", judged without {', '.join(unknown)}" if unknown else ""
    if has_error(outcome.diagnostics):
        return f"dry run: would fail{judged}"
    if outcome.diagnostics:
        return f"dry run: exists already, would be adopted{judged}"
    return f"dry run: would be created{judged}"
