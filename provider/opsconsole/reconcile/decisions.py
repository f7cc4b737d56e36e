"""Plans instances in bulk, by asking the lifecycle as Terraform would; plans and keeps outputs.

Follows core's order of questions: plan against the prior value; for a replacement, plan the
creation with no prior value at all. The effects on other instances are decided in `walk`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from opsconsole.diagnostics import Diagnostic, Path, error, has_error, leading_names
from opsconsole.errors import UserError
from opsconsole.language import Block, Evaluator, Instance, OutputValue
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    PlanChange,
    PlanCreation,
    PlanOutcome,
    PlanRemoval,
    PlanRequest,
    Removal,
)
from opsconsole.reconcile.plan import Action, Change, OutputChange
from opsconsole.reconcile.prior import PriorInstance
from opsconsole.reconcile.workspace import provider_key_of
from opsconsole.state import State, StateOutput
from opsconsole.values import Values, holds_unknown, same

_CANNOT_UPDATE = "replace_because_cannot_update"

RemovalOf = Callable[[PriorInstance], Removal]


@dataclass(frozen=True, slots=True)
class Decision:
    """A change, with its diagnostics."""

    change: Change
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanInput:
    """One instance to plan: its declaration, evaluated as far as possible, and its known object.

    Attributes:
        address: Full address, key included.
        block: The block that declares it.
        config: The declared values, null where omitted, UNKNOWN where not known yet.
        sensitive: Paths of their sensitive values.
        known: What state holds.
        dependencies: Configuration addresses of all that it depends on, sorted.
        create_first: Whether a replacement creates before it deletes.
        reason: Terraform's reason to replace it under any values, or empty.
        import_id: Id that an `import` block gives.
        owner_first: As in `PlanChange`.
    """

    address: str
    block: Block
    config: Values
    sensitive: frozenset[Path] = frozenset()
    known: PriorInstance | None = None
    dependencies: tuple[str, ...] = ()
    create_first: bool = False
    reason: str = ""
    import_id: str = ""
    owner_first: bool = False

    @property
    def prior(self) -> PriorInstance | None:
        """The instance in state, if the console still has its object."""
        return self.known if self.known is not None and self.known.value is not None else None


async def decide(
    lifecycle: BaseLifecycle, inputs: Sequence[PlanInput], removal_of: RemovalOf
) -> list[Decision]:
    """Return what happens to declared instances of one type and provider, in order."""
    first = await lifecycle.plan([_first_request(wanted, removal_of) for wanted in inputs])
    reasons = [_replacement(wanted, plan) for wanted, plan in zip(inputs, first, strict=True)]
    creations = [
        PlanCreation(wanted.config, address=wanted.address)
        for wanted, reason in zip(inputs, reasons, strict=True)
        if reason
    ]
    replanned = iter(await lifecycle.plan(creations))
    left = await _left_behind(lifecycle, inputs, reasons, removal_of)
    return [
        _decision(lifecycle, wanted, plan, reason, next(replanned) if reason else None, left)
        for wanted, plan, reason in zip(inputs, first, reasons, strict=True)
    ]


async def _left_behind(
    lifecycle: BaseLifecycle,
    inputs: Sequence[PlanInput],
    reasons: Sequence[str],
    removal_of: RemovalOf,
) -> Mapping[str, tuple[Diagnostic, ...]]:
    """Return the diagnostics about the old objects of replacements that no attribute caused."""
    # A replacement because of a changed attribute was judged when the change was planned.
    going = [
        wanted.prior
        for wanted, reason in zip(inputs, reasons, strict=True)
        if wanted.prior is not None and reason and reason != _CANNOT_UPDATE
    ]
    plans = await _plan_removals(lifecycle, going, removal_of)
    return {item.address: plan.diagnostics for item, plan in zip(going, plans, strict=True)}


async def _plan_removals(
    lifecycle: BaseLifecycle, going: Sequence[PriorInstance], removal_of: RemovalOf
) -> list[PlanOutcome]:
    return await lifecycle.plan(
        [
            PlanRemoval(item.value or {}, item.private, removal_of(item), item.address)
            for item in going
        ]
    )


def _first_request(wanted: PlanInput, removal_of: RemovalOf) -> PlanRequest:
    prior = wanted.prior
    # As in core, a tainted object counts as no prior value.
    if prior is None or prior.value is None or prior.stored.tainted:
        return PlanCreation(wanted.config, address=wanted.address)
    return PlanChange(
        prior.value,
        without_ignored(wanted.block, wanted.config, prior.value),
        prior.private,
        removal_of(prior),
        wanted.address,
        wanted.owner_first,
    )


def _replacement(wanted: PlanInput, plan: PlanOutcome) -> str:
    if wanted.prior is None or plan.failed:
        return ""
    if wanted.prior.stored.tainted:
        return "replace_because_tainted"
    return _CANNOT_UPDATE if plan.replace else wanted.reason


def _decision(
    lifecycle: BaseLifecycle,
    wanted: PlanInput,
    plan: PlanOutcome,
    reason: str,
    replanned: PlanOutcome | None,
    left: Mapping[str, tuple[Diagnostic, ...]],
) -> Decision:
    prior, block, config = wanted.prior, wanted.block, wanted.config
    released: list[str] = []
    if prior is not None:
        # The creation of a replacement ignores nothing: the object that it replaces is gone.
        if not reason:
            config = without_ignored(block, config, prior.value or {})
        released = [name for name in prior.stored.dependencies if name not in wanted.dependencies]
    change = Change(
        wanted.address,
        block.type_name,
        _action(wanted, plan, reason),
        prior.value if prior else None,
        (replanned or plan).planned,
        config,
        plan.replace,
        reason,
        plan.private,
        create_first=wanted.create_first and bool(reason),
        create_before_destroy=wanted.create_first,
        sensitive=leading_names(wanted.sensitive) | (prior.sensitive if prior else frozenset()),
        sensitive_paths=wanted.sensitive,
        construct_path=block.origin.path,
        provider=block.provider,
        import_id=wanted.import_id,
        previous_address=prior.previous_address if prior else "",
        depends_on=wanted.dependencies,
        released=tuple(released),
    )
    diagnostics = [
        *lifecycle.definition.problems(wanted.config),
        *plan.diagnostics,
        *left.get(wanted.address, ()),
    ]
    if replanned is not None:
        # The first plan gave the warnings already.
        diagnostics += (item for item in replanned.diagnostics if has_error((item,)))
    if reason and block.lifecycle.prevent_destroy:
        diagnostics.append(refuse_prevented(wanted.address, replaced=True))
    return Decision(change, tuple(diagnostics))


def _action(wanted: PlanInput, plan: PlanOutcome, reason: str) -> Action:
    prior = wanted.prior
    if prior is None:
        return Action.ADOPT if plan.adopts else Action.CREATE
    if reason:
        return Action.REPLACE
    # As in core, a value that becomes or stops being sensitive is a change, though no call is made.
    stays = same(prior.value, plan.planned) and wanted.sensitive == prior.stored.sensitive_paths
    return Action.NO_OP if stays else Action.UPDATE


def without_ignored(block: Block, config: Values, prior: Values) -> Values:
    """Return a declaration with what `ignore_changes` names taken from `prior`, if both have it."""
    if block.lifecycle.ignore_all:
        return {name: prior[name] for name in config}
    found: Any = config
    for path in sorted(set(block.lifecycle.ignore_changes), key=str):
        found = _taken_over(found, prior, path)
    return cast("Values", found)


def _taken_over(value: Any, prior: Any, path: Path) -> Any:
    """Return `value` with the part at `path` of `prior`, where both have one."""
    if not path:
        return prior
    step, rest = path[0], path[1:]
    if isinstance(value, dict) and isinstance(prior, dict) and step in value and step in prior:
        return value | {step: _taken_over(value[step], prior[step], rest)}
    if not (isinstance(value, list) and isinstance(prior, list) and isinstance(step, int)):
        return value
    if step >= min(len(value), len(prior)):
        return value
    return [*value[:step], _taken_over(value[step], prior[step], rest), *value[step + 1 :]]


async def decide_removals(
    lifecycle: BaseLifecycle,
    leaving: Sequence[PriorInstance],
    removal_of: RemovalOf,
    reasons: Mapping[str, str],
) -> list[Decision]:
    """Return what happens to instances of one type and provider that are to be removed."""
    plans = await _plan_removals(lifecycle, leaving, removal_of)
    return [
        Decision(
            removal(item, Action.DELETE, reasons.get(item.address, ""), plan.private),
            plan.diagnostics,
        )
        for item, plan in zip(leaving, plans, strict=True)
    ]


def removal(item: PriorInstance, action: Action, reason: str, private: bytes = b"") -> Change:
    """Return the change that deletes an instance, or forgets it."""
    return Change(
        item.address,
        item.type_name,
        action,
        item.value,
        None,
        reason=reason,
        private=private,
        sensitive=item.sensitive,
        provider=provider_key_of(item.stored.provider),
        previous_address=item.previous_address,
        depends_on=tuple(item.stored.dependencies),
    )


def refuse_prevented(address: str, *, replaced: bool = False) -> Diagnostic:
    """Refuse a removal that `prevent_destroy` forbids."""
    verb = "replaced" if replaced else "destroyed"
    return error(
        f"{address} would be {verb}, which its lifecycle.prevent_destroy forbids",
        "Change prevent_destroy, or leave the instance out of this plan with -target.",
    )


def is_triggered(
    instance: Instance, evaluator: Evaluator, changes_of: Mapping[str, Sequence[Change]]
) -> bool:
    """Return whether anything that `replace_triggered_by` names changes.

    Args:
        changes_of: The changes planned for all instances of a configuration address.

    Raises:
        UserError: a reference cannot be evaluated, or names no resource.
    """
    return any(
        _changes(change, named.path)
        for named in evaluator.triggers(instance)
        for change in changes_of.get(named.block, ())
        if named.address in (None, change.address)
    )


def _changes(change: Change, path: Path) -> bool:
    if change.action not in (Action.UPDATE, Action.REPLACE):
        return False
    return not path or not same(_at(change.before, path), _at(change.after, path))


def _at(value: object, path: Path) -> object:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def output_changes(
    evaluator: Evaluator | None, state: State, names: Collection[str] | None = None
) -> tuple[OutputChange, ...]:
    """Return the changes of outputs, of `names` alone where these are given.

    Without an evaluator all of them are removed.

    Raises:
        UserError: an output cannot be evaluated.
    """
    before = state.outputs
    after = _evaluated_outputs(evaluator, names)
    found = []
    for name in sorted({*before, *after} if names is None else names):
        old, new = before.get(name), after.get(name)
        if new is None:
            assert old is not None
            found.append(OutputChange(name, Action.DELETE, old.value, None, old.sensitive))
            continue
        held = old.value if old is not None else None
        if old is None:
            # State holds no output that is null.
            action = Action.CREATE if new.value is not None else Action.NO_OP
        else:
            stays = same(held, new.value) and old.sensitive == new.sensitive
            action = Action.NO_OP if stays else Action.UPDATE
        # A sensitive old value makes the change sensitive, whatever the new value is.
        sensitive = new.sensitive or (old is not None and old.sensitive)
        found.append(OutputChange(name, action, held, new.value, sensitive))
    return tuple(found)


def _evaluated_outputs(
    evaluator: Evaluator | None, names: Collection[str] | None
) -> dict[str, OutputValue]:
    if evaluator is None:
        return {}
    if names is None:
        return evaluator.outputs()
    declared = evaluator.program.outputs
    wanted = (name for name in names if name in declared)
    return {name: evaluator.output(name) for name in wanted}


def keep_outputs(evaluator: Evaluator | None, state: State, names: Collection[str]) -> None:
    """Put the outputs `names` into state; an output that is not known yet keeps its value there.

    Raises:
        UserError: an output cannot be evaluated.
    """
    values = _evaluated_outputs(evaluator, names)
    for name in {*state.outputs} & {*names} - {*values}:
        state.set_output(name, None)
    for output in values.values():
        _keep_output(output, state)


def keep_known_outputs(evaluator: Evaluator, state: State, names: Collection[str]) -> None:
    """Put the known outputs among `names` into state after an incomplete run."""
    for name in names:
        try:
            found = _evaluated_outputs(evaluator, [name])
        except UserError:
            continue  # what it refers to was not done
        for value in found.values():
            _keep_output(value, state)


def _keep_output(output: OutputValue, state: State) -> None:
    if output.value is None:
        state.set_output(output.name, None)
    elif not holds_unknown(output.value):
        kept = StateOutput(output.value, output.stored_type, output.sensitive)
        state.set_output(output.name, kept)
