"""Plans instances in bulk, by asking the lifecycle as Terraform would; plans and keeps outputs.

Follows Terraform's order of questions: plan against the prior value; for a replacement, plan the
creation with no prior value at all. The effects on other instances are decided in `walk`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from operator import eq
from typing import Any, NamedTuple, cast

from opsconsole.diagnostics import AttributePath, Diagnostic, error, leading_names
from opsconsole.errors import UserError
from opsconsole.language import Block, Evaluator, Instance
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    PlanChange,
    PlanCreation,
    PlanOutcome,
    PlanRemoval,
    PlanRequest,
    RemovalReason,
)
from opsconsole.reconcile.plan import Action, Change, OutputChange
from opsconsole.reconcile.prior import PriorInstance
from opsconsole.state import State, StateOutput
from opsconsole.values import Values, holds_unknown, is_same

_BY_TRIGGERS = "replace_by_triggers"


Decision = tuple[Change, Sequence[Diagnostic]]
"""A change, with its diagnostics."""


class PlanInput(NamedTuple):
    """One instance to plan: its declaration, evaluated as far as possible, and its prior object.

    Attributes:
        config: The declared values, null where omitted, UNKNOWN where not known yet.
        problems: The problems of these values by the definition.
        prior: The instance in state, if the console still has its object.
        dependencies: Configuration addresses of all that it depends on, sorted.
        create_before_destroy: Whether a replacement creates before it deletes.
        reason: Terraform's reason to replace it under any values, or empty.
        removal: Why its object is removed, if it is replaced.
        owner_is_deleted_first: As in `PlanChange`.
    """

    address: str
    block: Block
    config: Values
    problems: Sequence[Diagnostic]
    sensitive_paths: frozenset[AttributePath]
    prior: PriorInstance | None
    dependencies: tuple[str, ...]
    create_before_destroy: bool = False
    reason: str = ""
    removal: RemovalReason = RemovalReason.ALONE
    owner_is_deleted_first: bool = False


async def decide_changes(lifecycle: BaseLifecycle, inputs: Sequence[PlanInput]) -> list[Decision]:
    """Plan declared instances of one type and provider; return the decisions in order."""
    plans = await lifecycle.plan([_first_request(item) for item in inputs])
    planned = zip(inputs, plans, strict=True)
    return [await _decide_change(lifecycle, item, plan) for item, plan in planned]


def _first_request(item: PlanInput) -> PlanRequest:
    prior = item.prior
    # As in Terraform, a tainted object counts as no prior value.
    if prior is None or prior.values is None or prior.stored.tainted:
        return PlanCreation(item.config, address=item.address)
    return PlanChange(
        prior.values,
        without_ignored(item.block, item.config, prior.values),
        prior.private,
        item.removal,
        item.address,
        item.owner_is_deleted_first,
    )


async def _decide_change(lifecycle: BaseLifecycle, item: PlanInput, plan: PlanOutcome) -> Decision:
    """Turn the answer to an instance's first request into a decision."""
    prior, block, config, planned = item.prior, item.block, item.config, plan.planned
    reason = _replacement_reason(item, plan)
    diagnostics = [*item.problems, *plan.diagnostics]
    if prior is not None and reason:
        # A replacement because of a changed attribute was judged when the change was planned.
        if not plan.requires_replace:
            [removed] = await plan_removals(lifecycle, [(prior, item.removal)])
            diagnostics += removed.diagnostics
        # The creation of a replacement ignores nothing: the object that it replaces is gone.
        [created] = await lifecycle.plan([PlanCreation(config, address=item.address)])
        planned = created.planned
        # The first plan gave the warnings already.
        diagnostics += (one for one in created.diagnostics if one.is_error)
        if block.lifecycle_block.prevent_destroy:
            diagnostics.append(prevented_error(item.address, replaced=True))
    elif prior is not None and block.lifecycle_block.ignores:
        # As in Terraform, the plan of an update ignores, and its apply has the whole declaration. A
        # value that is not known yet would be planned again.
        kept = without_ignored(block, config, prior.values or {})
        if kept is not config:
            config = {n: kept[n] if holds_unknown(value) else value for n, value in config.items()}
        item = item._replace(
            sensitive_paths=_keep_ignored_marks(item, prior.stored.sensitive_paths)
        )
    former = prior.stored.dependencies if prior else ()
    action = _choose_action(item, plan, reason)
    # As in Terraform, triggers are a reason to create as well, but --replace is none.
    creates = action is Action.CREATE and item.reason == _BY_TRIGGERS
    change = Change(
        item.address,
        block.type_name,
        action,
        prior.values if prior else None,
        planned,
        config=config,
        replace_paths=plan.requires_replace,
        reason=item.reason if creates else reason,
        private=plan.private,
        create_first=item.create_before_destroy and bool(reason),
        create_before_destroy=item.create_before_destroy,
        sensitive=leading_names(item.sensitive_paths) | (prior.sensitive if prior else frozenset()),
        sensitive_paths=item.sensitive_paths,
        construct_path=block.origin.path,
        provider_key=block.provider_key,
        import_id=prior.import_id if prior else "",
        previous_address=prior.previous_address if prior else "",
        dependencies=item.dependencies,
        former_dependencies=tuple(name for name in former if name not in item.dependencies),
    )
    return change, diagnostics


def _replacement_reason(item: PlanInput, plan: PlanOutcome) -> str:
    """Return Terraform's reason to replace an instance, the first of several here, or ""."""
    if item.prior is None or plan.failed:
        return ""
    if item.reason == _BY_TRIGGERS:
        return item.reason
    if item.prior.stored.tainted:
        return "replace_because_tainted"
    return item.reason or ("replace_because_cannot_update" if plan.requires_replace else "")


def _choose_action(item: PlanInput, plan: PlanOutcome, reason: str) -> Action:
    prior = item.prior
    if prior is None:
        return Action.ADOPT if plan.adopts else Action.CREATE
    if reason:
        return Action.REPLACE
    # As in Terraform, a value that becomes or stops being sensitive is a change without a call.
    stays = (
        is_same(prior.values, plan.planned) and item.sensitive_paths == prior.stored.sensitive_paths
    )
    return Action.NO_OP if stays else Action.UPDATE


def _keep_ignored_marks(
    item: PlanInput, in_state: Iterable[AttributePath]
) -> frozenset[AttributePath]:
    """Return the sensitive paths of a declaration; ignored values keep their marks."""
    if item.block.lifecycle_block.ignore_all:
        return frozenset(in_state)
    ignored = item.block.lifecycle_block.ignore_changes
    declared = {
        path
        for path in item.sensitive_paths
        if not any(path[: len(other)] == other for other in ignored)
    }
    kept = {path for path in in_state if any(all(map(eq, path, other)) for other in ignored)}
    return frozenset(declared | kept)


def without_ignored(block: Block, config: Values, prior: Values) -> Values:
    """Return `config` with the parts that `ignore_changes` names taken from `prior`."""
    if block.lifecycle_block.ignore_all:
        return {name: prior[name] for name in config}
    merged: Any = config
    for path in sorted(set(block.lifecycle_block.ignore_changes), key=str):
        merged = _replace_at(merged, prior, path)
    return cast("Values", merged)


def _replace_at(value: Any, prior: Any, path: AttributePath) -> Any:
    """Return `value` with the part at `path` of `prior`, where both have one."""
    if not path:
        return prior
    step, rest = path[0], path[1:]
    if isinstance(value, dict) and isinstance(prior, dict) and step in value and step in prior:
        return value | {step: _replace_at(value[step], prior[step], rest)}
    if not (isinstance(value, list) and isinstance(prior, list) and isinstance(step, int)):
        return value
    if step >= min(len(value), len(prior)):
        return value
    return [*value[:step], _replace_at(value[step], prior[step], rest), *value[step + 1 :]]


async def plan_removals(
    lifecycle: BaseLifecycle, leaving: Iterable[tuple[PriorInstance, RemovalReason]]
) -> list[PlanOutcome]:
    return await lifecycle.plan(
        [PlanRemoval(item.values or {}, item.private, why, item.address) for item, why in leaving]
    )


def prevented_error(address: str, *, replaced: bool = False) -> Diagnostic:
    verb = "replaced" if replaced else "destroyed"
    return error(
        f"{address} would be {verb}, which its lifecycle.prevent_destroy forbids",
        "Change prevent_destroy, or leave the instance out of this plan with --target.",
    )


def is_triggered(
    instance: Instance, evaluator: Evaluator, changes_of: Mapping[str, Sequence[Change]]
) -> bool:
    """Return whether an object named in `replace_triggered_by` changes.

    Args:
        changes_of: The changes planned for all instances of a configuration address.

    Raises:
        UserError: A reference cannot be evaluated, or names no resource.
    """
    return any(
        _is_change_at(change, named.path)
        for named in evaluator.triggers(instance)
        for change in changes_of.get(named.block, ())
        if named.address in (None, change.address)
    )


def _is_change_at(change: Change, path: AttributePath) -> bool:
    if change.action not in (Action.UPDATE, Action.REPLACE):
        return False
    return not path or not is_same(_get_at(change.before, path), _get_at(change.after, path))


def _get_at(value: object, path: AttributePath) -> object:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def output_changes(
    evaluator: Evaluator | None, state: State, names: Collection[str] | None
) -> tuple[OutputChange, ...]:
    """Return the changes of outputs: of `names`, or of all.

    Without an evaluator, every output is removed.

    Raises:
        UserError: An output cannot be evaluated.
    """
    before = state.outputs
    after = _evaluate_outputs(evaluator, names)
    changes = []
    for name in sorted({*before, *after} if names is None else names):
        old, new = before.get(name), after.get(name)
        old_value = old.value if old is not None else None
        new_value = new.value if new is not None else None
        if new is None:
            action = Action.DELETE
        elif old is None:
            # State holds no output that is null.
            action = Action.CREATE if new_value is not None else Action.NO_OP
        else:
            # As in Terraform, an empty list and an empty tuple differ by their type alone.
            kind_stays = (old.type, old.sensitive) == (new.type, new.sensitive)
            stays = is_same(old_value, new_value) and kind_stays
            action = Action.NO_OP if stays else Action.UPDATE
        # A sensitive old value makes the change sensitive, even if the new value is not.
        sensitive = any(item.sensitive for item in (old, new) if item is not None)
        if new is not None and not holds_unknown(new_value):
            of_value = new.type
        else:
            of_value = old.type if old is not None else None
        changes.append(OutputChange(name, action, old_value, new_value, sensitive, of_value))
    return tuple(changes)


def _evaluate_outputs(
    evaluator: Evaluator | None, names: Collection[str] | None
) -> dict[str, StateOutput]:
    if evaluator is None:
        return {}
    if names is None:
        return evaluator.outputs()
    declared = evaluator.program.outputs
    return {name: evaluator.output(name) for name in names if name in declared}


def keep_outputs(evaluator: Evaluator | None, state: State, names: Collection[str]) -> None:
    """Put outputs into state; one that is not known yet keeps its value there.

    Raises:
        UserError: An output cannot be evaluated.
    """
    outputs = _evaluate_outputs(evaluator, names)
    for name in names:
        output = outputs.get(name)
        if output is None or output.value is None:
            state.set_output(name, None)
        elif not holds_unknown(output.value):
            state.set_output(name, output)


def keep_known_outputs(evaluator: Evaluator, state: State, names: Collection[str]) -> None:
    """Put the known outputs into state after an incomplete run."""
    for name in names:
        # The output may refer to a step that was not done.
        with suppress(UserError):
            keep_outputs(evaluator, state, [name])
