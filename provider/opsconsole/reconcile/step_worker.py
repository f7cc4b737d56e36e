"""Carries out steps, and keeps the outcomes in state and journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from opsconsole.diagnostics import Diagnostic, diagnostics_of, error, has_error
from opsconsole.errors import UserError
from opsconsole.language import PresentKeys
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    CreateRequest,
    DeleteRequest,
    Outcome,
    PlanChange,
    PlanCreation,
    PlanRequest,
    UpdateRequest,
    WriteRequest,
)
from opsconsole.lifecycle.private_state import is_sentinel
from opsconsole.lifecycle.writes import DRY_RUN_STATUS
from opsconsole.reconcile.decisions import without_ignored
from opsconsole.reconcile.order import Step, StepKind
from opsconsole.reconcile.plan import Action, Change, Plan
from opsconsole.reconcile.prior import keys_by_block
from opsconsole.reconcile.providers import provider_in_state
from opsconsole.reconcile.stack import OpenedStack
from opsconsole.resources import RESOURCES
from opsconsole.state import (
    Address,
    InstanceObject,
    config_address,
    paths_to_state,
    split_deposed,
)
from opsconsole.v1.operations import documented_for
from opsconsole.values import Values, holds_unknown, is_same, unknown_names

_NOTHING: Mapping[str, str] = MappingProxyType({})
_READ_BACK_AT_ONCE = 64
"""So many read-backs share one write of the journal."""

OnEnd = Callable[[Step, Outcome], None]
"""Called when a step is over and its outcome is in state."""


class StepWorker:
    """Carries out the steps of one apply, and holds the present values of instances."""

    def __init__(self, stack: OpenedStack, plan: Plan) -> None:
        self.state_session = stack.state_session
        self._value_in_state = stack.value_in_state
        self.evaluator = stack.evaluator(
            self._value,
            present=lambda block: self._keys(block),
            applying=True,
            planned_at=plan.planned_at,
        )
        self._only_refreshes = plan.mode == "refresh-only"
        self._stays = {change.address: change.after is not None for change in plan.changes}
        self._planned = {
            **{item.address: item.values for item in plan.data},
            **{change.address: change.after for change in plan.changes},
        }
        self._provider_in_state = {
            key: provider_in_state(stack.program, key)
            for key in {change.provider_key for change in plan.changes}
        }
        # All providers are opened before the first step, with the settings of the plan.
        self.providers = stack.providers(
            stack.evaluator(self._planned_value, applying=True, planned_at=plan.planned_at)
        )
        # Until it is replaced, an instance holds its old value, not its planned one.
        self._values: dict[str, Values | None] = {
            change.address: None for change in plan.changes if change.action is Action.REPLACE
        }
        self._planned_diagnostics = {(item.summary, item.detail) for item in plan.diagnostics}
        # All by address: the steps that are being carried out, the intents noted for their writes,
        # and the keys of deposed objects that wait for their deletion.
        self._sending: dict[str, Step] = {}
        self._intents: dict[str, str] = {}
        self._deposed: dict[str, str] = {}
        # Created objects that are still to be read back.
        self._reported: set[str] = set()
        # The diagnostics that a plan gives only now that all values are known.
        self._late_diagnostics: dict[str, tuple[Diagnostic, ...]] = {}

    @cached_property
    def _keys(self) -> PresentKeys:
        """The keys of the instances that exist after the apply, if the plan covers only some."""
        state = self.state_session.state
        current = (item for item in state.addresses() if item.mode == "managed" and item in state)
        alone = [item for item in current if str(item) not in self._stays]
        if not alone and not self._only_refreshes:
            return lambda block: None
        named = (split_deposed(address) for address, stays in self._stays.items() if stays)
        return keys_by_block(
            (*alone, *(Address.parse(address) for address, deposed in named if not deposed))
        )

    def _value(self, address: str) -> Values | None:
        """Return an instance's current values; None: they are not known."""
        if address not in self._values:
            self._values[address] = self._value_in_state(address)
        value = self._values[address]
        # A sentinel stands for an id that nobody knows: no request may carry it.
        return None if value is not None and is_sentinel(value.get("id")) else value

    def _planned_value(self, address: str) -> Values | None:
        """Return an instance's values as planned; else as they are in state."""
        return self._planned.get(address) or self._value_in_state(address)

    def config_of(self, step: Step) -> Values:
        """Return a step's declaration, evaluated with the values known by now.

        Raises:
            UserError: It cannot be evaluated.
        """
        address = step.change.address
        block = self.evaluator.program.blocks[config_address(address)]
        instance = self.evaluator.instances(block)[Address.parse(address).key]
        values = self.evaluator.config(instance).values
        if step.change.before is None or step.kind is StepKind.CREATE:
            # A creation ignores nothing: the object that it replaces is gone.
            return values
        return without_ignored(block, values, step.change.before)

    def keep_instance(self, address: str, instance: InstanceObject) -> None:
        """Put an instance into state and among the values that declarations refer to."""
        self.state_session.state.put(address, instance)
        self._values[address] = instance.attributes
        self.evaluator.mark(address, instance.sensitive_paths)

    def _lifecycle_of(self, change: Change) -> BaseLifecycle:
        return self.providers.of(change.provider_key).lifecycles[change.type_name]

    def max_creates_at_once(self, step: Step) -> int:
        """Return how many creations of this kind fit into one request."""
        if step.kind is not StepKind.CREATE:
            return 1
        return self._lifecycle_of(step.change).max_creates_at_once

    def carry_out_without_request(self, step: Step) -> Outcome | None:
        """Do a step that needs no request; return None if it needs one.

        The outcome is durable after the next `flush` of the session.
        """
        change = step.change
        if step.kind is StepKind.KEEP:
            outcome = Outcome(change.after, change.private)
        elif change.deleted_with and step.kind is StepKind.DELETE:
            outcome = Outcome(None)
        else:
            return None
        self._put_in_state(step, outcome)
        return outcome

    async def carry_out(self, steps: Sequence[Step], ended: OnEnd) -> None:
        """Do steps of one type, provider and kind; several only as creations in one request.

        Outcomes are durable before another request takes the place of this one. Only values that
        reading back adds may become durable later (`_record_outcomes`).

        Raises:
            UserError: An outcome cannot be made durable.
        """
        self._sending.update((step.change.address, step) for step in steps)
        creations: list[CreateRequest] = []
        outcomes: list[tuple[Step, Outcome]] = []
        for step in steps:
            change = step.change
            match await self._make_request(step):
                case CreateRequest() as request:
                    creations.append(request)
                case UpdateRequest() as request:
                    outcomes.append((step, await self._lifecycle_of(change).update(request)))
                case DeleteRequest() as request:
                    outcomes.append((step, await self._lifecycle_of(change).delete(request)))
                case Outcome() as outcome:
                    outcomes.append((step, outcome))
        if outcomes:
            await self._record_outcomes(outcomes, ended)

        async def report(
            results: Sequence[tuple[CreateRequest, Outcome]], *, final: bool = True
        ) -> None:
            created = [(self._sending[request.address], outcome) for request, outcome in results]
            await self._record_outcomes(created, ended if final else None)

        if creations:
            await self._lifecycle_of(steps[0].change).create(creations, report)

    async def _record_outcomes(
        self, outcomes: Sequence[tuple[Step, Outcome]], ended: OnEnd | None
    ) -> None:
        """Record outcomes, and make them durable; without `ended`, a later outcome follows each.

        A created object is durable with its id before it is read back.
        """
        settles = []
        only_adds = True
        for step, outcome in outcomes:
            only_adds = only_adds and self._has_only_additions(step, outcome)
            if ended is not None and (late := self._late_diagnostics.pop(step.change.address, ())):
                outcome = outcome.with_diagnostics(*late)
            self._put_in_state(step, outcome)
            if ended is None:
                self._reported.add(step.change.address)
            intent = self._intents.pop(step.change.address, "")
            # An unsettled create is in state under a sentinel id. For any other unsettled write,
            # the open intent is the only record.
            if intent and not (outcome.unsettled and step.kind is not StepKind.CREATE):
                settles.append(intent)
            if ended is not None:
                ended(step, outcome)
        # Values that are added by reading back without a diagnostic are written for many steps at
        # once. If they are lost, a refresh shows them again.
        if settles or not only_adds or self.state_session.unrecorded_changes >= _READ_BACK_AT_ONCE:
            self.state_session.record(settles)
            await self.state_session.flush()

    def _has_only_additions(self, step: Step, outcome: Outcome) -> bool:
        """Return whether an outcome only adds values to a created object in state."""
        address = step.change.address
        if address not in self._reported or outcome.diagnostics:
            return False
        value = self._values.get(address)
        return value is not None and (outcome.state or {}).get("id") == value["id"]

    async def note_intents(
        self,
        verb: str,
        requests: Sequence[WriteRequest],
        dry_run_statuses: Mapping[str, str] = _NOTHING,
    ) -> None:
        """Make the intent of a write durable, before it is sent.

        Raises:
            UserError: It cannot be made durable, so nothing may be sent.
        """
        for request in requests:
            # A refused import is sent again in halves, under the first intent of each row.
            if request.address in self._intents:
                continue
            step = self._sending[request.address]
            details: dict[str, Any]
            if isinstance(request, CreateRequest) and verb == "create":
                status = dry_run_statuses.get(request.address, "")
                details = _describe_create(request, step.change, status)
            else:
                details = {"id": (request.prior or {}).get("id")}
            details |= {"verb": verb, "provider": self._provider_in_state[step.change.provider_key]}
            call = str(documented_for(RESOURCES[step.change.type_name], verb) or verb)
            intent = self.state_session.intend(request.address, call, details)
            self._intents[request.address] = intent
        await self.state_session.flush()

    async def _make_request(self, step: Step) -> WriteRequest | Outcome:
        """Return the request of a step, or its outcome if nothing is to be written."""
        change = step.change
        if step.kind is StepKind.DELETE:
            return DeleteRequest(change.before or {}, change.private, change.address)
        if step.kind is not StepKind.READ and not holds_unknown(change.config):
            return _to_request(step, change.config, change.after, change.private)
        # Values that the plan left unknown are known by now.
        try:
            config = self.config_of(step)
        except UserError as problem:
            # The other steps of an import go on.
            return _fail(step, *diagnostics_of(problem))
        unknown = unknown_names(config)
        if step.kind is not StepKind.READ:
            return await self._plan_again(step, config, unknown)
        if unknown:
            return _fail(step, _unknown_values_error(change, unknown))
        return await self.providers.of(change.provider_key).read_data(change.type_name, config)

    async def _plan_again(
        self, step: Step, config: Values, unknown: Sequence[str]
    ) -> WriteRequest | Outcome:
        """Return the request of a step whose plan held unknown values, or why there is none.

        The values may be wrong, or need a replacement that the plan did not show.
        """
        change = step.change
        request: PlanRequest = (
            PlanCreation(config, address=change.address)
            if step.kind is StepKind.CREATE
            else PlanChange(change.before or {}, config, change.private, address=change.address)
        )
        [plan] = await self._lifecycle_of(change).plan([request])
        wrong = RESOURCES[change.type_name].problems(config)
        diagnostics = (*wrong, *plan.diagnostics)
        if not has_error(diagnostics):
            self._late_diagnostics[change.address] = tuple(
                item
                for item in diagnostics
                if (item.summary, item.detail) not in self._planned_diagnostics
            )
        if unknown:
            return _fail(step, _unknown_values_error(change, unknown))
        if has_error(wrong):
            return _fail(step, *wrong)
        if plan.requires_replace and step.kind is StepKind.UPDATE:
            needs_replacement = error(
                f"{change.address} must be replaced after all",
                f"{', '.join(plan.requires_replace)} became known only now. Its new value replaces "
                "the object, and this plan does not show that. Plan again.",
                (plan.requires_replace[0],),
            )
            return _fail(step, needs_replacement)
        if plan.failed:
            return _fail(step, *plan.diagnostics)
        return _to_request(step, config, plan.planned, plan.private)

    def _put_in_state(self, step: Step, outcome: Outcome) -> None:
        change, state = step.change, self.state_session.state
        address, deposed = split_deposed(change.address)
        if step.kind is StepKind.DELETE:
            # A replacement that creates first has put the old object aside.
            deposed = deposed or self._deposed.get(address, "")
            if outcome.state is None:
                state.remove(address, deposed)
            return
        if outcome.state is None:
            # A created object is in state by now, and reading it back found none.
            if step.kind is StepKind.KEEP or change.address in self._reported:
                state.remove(address, deposed)
                self._values.pop(change.address, None)
            return
        if (
            step.kind is StepKind.CREATE
            and change.create_first
            and change.address not in self._deposed
            # Its host may have taken it along by now.
            and state.get(change.address) is not None
        ):
            self._deposed[change.address] = state.depose(change.address)
        instance = InstanceObject(
            provider=self._provider_in_state[change.provider_key],
            attributes=outcome.state,
            private=outcome.private,
            dependencies=() if step.kind is StepKind.READ else change.dependencies,
            # As in Terraform, the next plan replaces an object whose creation failed.
            tainted=outcome.failed and step.kind is StepKind.CREATE,
            sensitive_attributes=paths_to_state(change.sensitive_paths),
            create_before_destroy=change.create_before_destroy,
        )
        self.keep_instance(change.address, instance)


def _describe_create(request: CreateRequest, change: Change, dry_run_status: str) -> dict[str, Any]:
    """Return the facts by which a later run settles a create after a crash."""
    unknown = set(unknown_names(request.planned))
    return {
        "planned": {name: item for name, item in request.planned.items() if name not in unknown},
        DRY_RUN_STATUS: dry_run_status,
        "dependencies": list(change.dependencies),
        "instead_of": (change.before or {}).get("id"),
    }


def _to_request(
    step: Step, config: Values | None, planned: Values | None, private: bytes
) -> WriteRequest | Outcome:
    change, config, planned = step.change, config or {}, planned or {}
    if step.kind is StepKind.CREATE:
        return CreateRequest(config, planned, private, change.address)
    if is_same(change.before, planned):
        # No value changes; only the sensitive paths do.
        return Outcome(planned, private)
    return UpdateRequest(change.before or {}, config, planned, private, change.address)


def _fail(step: Step, *diagnostics: Diagnostic) -> Outcome:
    prior = step.change.before if step.kind is StepKind.UPDATE else None
    return Outcome(prior, step.change.private if prior else b"", diagnostics)


def _unknown_values_error(change: Change, names: Sequence[str]) -> Diagnostic:
    return error(
        f"{change.address} needs values that are not known",
        f"{', '.join(names)} refers to a resource that was not applied, or whose outcome is not "
        "known.",
        (names[0],),
    )
