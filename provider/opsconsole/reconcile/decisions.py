"""Deciding what happens to instances, many at once, by asking the lifecycle as Terraform would.

Follows core's order of questions: plan against the prior value; where something replaces it, plan
the creation with no prior value at all. What a plan means for other instances is decided
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from opsconsole.compare import same
from opsconsole.diagnostics import Diagnostic, Path, error, has_error
from opsconsole.language import Evaluator, Instance
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    PlanChange,
    PlanCreation,
    PlanOutcome,
    PlanRemoval,
    PlanRequest,
    Removal,
)
from opsconsole.lifecycle.validation import validate
from opsconsole.reconcile.changes import Action, Change
from opsconsole.reconcile.declaration import Declaration, PriorInstance, leading_names

_CANNOT_UPDATE = "replace_because_cannot_update"

RemovalOf = Callable[[PriorInstance], Removal]


@dataclass(frozen=True, slots=True)
class Decision:
    """A change, with what the user is told of it."""

    change: Change
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanInput:
    """One question: an instance as declared, and as known.

    Attributes:
        requested: Whether it is replaced by `-replace`.
        owner_first: As of a `PlanChange`.
    """

    declared: Declaration
    known: PriorInstance | None = None
    requested: bool = False
    owner_first: bool = False

    @property
    def prior(self) -> PriorInstance | None:
        """What state holds, where the console still has it."""
        return self.known if self.known is not None and self.known.value is not None else None


async def decide(
    lifecycle: BaseLifecycle, inputs: Sequence[PlanInput], removal_of: RemovalOf
) -> list[Decision]:
    """Return what happens to declared instances of one type and provider, in order."""
    first = await lifecycle.plan([_first_request(wanted, removal_of) for wanted in inputs])
    reasons = [_replacement(wanted, plan) for wanted, plan in zip(inputs, first, strict=True)]
    creations = [
        PlanCreation(wanted.declared.config, address=wanted.declared.address)
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
    """Return what is said of the old objects of replacements that no attribute asked for.

    A changed attribute has been judged by its own plan.
    """
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
    declared, prior = wanted.declared, wanted.prior
    if prior is None or prior.value is None or prior.held.tainted:
        return PlanCreation(declared.config, address=declared.address)
    return PlanChange(
        prior.value,
        declared.against(prior.value).config,
        prior.private,
        removal_of(prior),
        declared.address,
        wanted.owner_first,
    )


def _replacement(wanted: PlanInput, plan: PlanOutcome) -> str:
    """Return Terraform's reason why this is a replacement, or nothing."""
    if wanted.prior is None or plan.failed:
        return ""
    if wanted.prior.held.tainted:
        return "replace_because_tainted"
    if plan.replace:
        return _CANNOT_UPDATE
    if wanted.requested:
        return "replace_by_request"
    if wanted.declared.triggered:
        return "replace_by_triggers"
    return ""


def _decision(
    lifecycle: BaseLifecycle,
    wanted: PlanInput,
    plan: PlanOutcome,
    reason: str,
    replanned: PlanOutcome | None,
    left: Mapping[str, tuple[Diagnostic, ...]],
) -> Decision:
    declared, prior = wanted.declared, wanted.prior
    config = declared.config
    if prior is not None and not reason:
        config = declared.against(prior.value or {}).config
    change = Change(
        declared.address,
        declared.type_name,
        _action(declared, prior, plan, reason),
        prior.value if prior else None,
        (replanned or plan).planned,
        config,
        plan.replace,
        reason,
        (replanned or plan).private,
        create_first=declared.create_first and bool(reason),
        create_before_destroy=declared.create_first,
        sensitive=leading_names(declared.sensitive) | (prior.sensitive if prior else frozenset()),
        sensitive_paths=declared.sensitive,
        construct_path=declared.construct_path,
        provider=declared.provider,
        import_id=declared.import_id,
        previous_address=prior.previous_address if prior else "",
        depends_on=declared.dependencies,
        released=_released(declared, prior),
    )
    diagnostics = [
        *validate(lifecycle.definition, declared.config),
        *plan.diagnostics,
        *left.get(declared.address, ()),
    ]
    if replanned is not None:
        diagnostics += (item for item in replanned.diagnostics if has_error((item,)))
    if reason and declared.prevent_destroy:
        diagnostics.append(prevented(declared.address, replaced=True))
    return Decision(change, tuple(diagnostics))


def _released(declared: Declaration, prior: PriorInstance | None) -> tuple[str, ...]:
    if prior is None:
        return ()
    return tuple(name for name in prior.held.dependencies if name not in declared.dependencies)


def _action(
    declared: Declaration, prior: PriorInstance | None, plan: PlanOutcome, reason: str
) -> Action:
    if prior is None:
        return Action.CREATE
    if reason:
        return Action.REPLACE
    # As in core, a value that becomes or stops being sensitive is a change, though no call is made.
    stays = same(prior.value, plan.planned) and declared.sensitive == prior.sensitive_paths
    return Action.NO_OP if stays else Action.UPDATE


async def decide_removals(
    lifecycle: BaseLifecycle,
    leaving: Sequence[PriorInstance],
    removal_of: RemovalOf,
    reasons: Mapping[str, str],
    provider: str,
) -> list[Decision]:
    """Return what happens to instances of one type and provider that are to be removed."""
    plans = await _plan_removals(lifecycle, leaving, removal_of)
    return [
        Decision(
            Change(
                item.address,
                item.type_name,
                Action.DELETE,
                item.value,
                None,
                reason=reasons.get(item.address, ""),
                private=plan.private,
                sensitive=item.sensitive,
                provider=provider,
                previous_address=item.previous_address,
                depends_on=tuple(item.held.dependencies),
            ),
            plan.diagnostics,
        )
        for item, plan in zip(leaving, plans, strict=True)
    ]


def prevented(address: str, *, replaced: bool = False) -> Diagnostic:
    """Refuse a removal that `prevent_destroy` forbids."""
    verb = "replaced" if replaced else "destroyed"
    return error(
        f"{address} would be {verb}, which its lifecycle.prevent_destroy forbids",
        "Change prevent_destroy, or leave the instance out of this plan with -target.",
    )


_CHANGING = (Action.UPDATE, Action.REPLACE)

ChangesOf = Callable[[str], list[Change]]
"""Returns the changes planned for all instances of a configuration address."""


def is_triggered(instance: Instance, evaluator: Evaluator, changes_of: ChangesOf) -> bool:
    """Return whether anything that `replace_triggered_by` names changes.

    Raises:
        UserError: a reference cannot be evaluated, or names no resource.
    """
    return any(
        _changes(change, named.path)
        for named in evaluator.triggers(instance)
        for change in changes_of(named.block)
        if named.address in (None, change.address)
    )


def _changes(change: Change, path: Path) -> bool:
    if change.action not in _CHANGING:
        return False
    return not path or not same(_at(change.before, path), _at(change.after, path))


def _at(value: object, path: Path) -> object:
    """Return what is at `path` in a value; None where there is nothing."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
