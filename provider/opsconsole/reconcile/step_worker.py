"""Carries out one step or several of a kind, and keeps the outcomes in state and journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from opsconsole.diagnostics import Diagnostic, diagnostics_of, error, has_error
from opsconsole.errors import UserError
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    CreateRequest,
    DeleteRequest,
    Outcome,
    PlanChange,
    PlanCreation,
    PlanOutcome,
    PlanRequest,
    UpdateRequest,
    WriteRequest,
)
from opsconsole.lifecycle.writes import DRY_RUN_STATUS
from opsconsole.reconcile.order import Step, StepKind
from opsconsole.reconcile.plan import Change
from opsconsole.resources import RESOURCES
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.state import InstanceObject, StateSession, instance_and_key, paths_to_state
from opsconsole.v1.operations import documented_for
from opsconsole.values import Values, holds_unknown, same, unknown_names

_NOTHING: Mapping[str, str] = MappingProxyType({})
_READ_BACK_AT_ONCE = 64
"""So many read-backs share one write of the journal."""

OnEnd = Callable[[Step, Outcome], None]
"""Called when a step is over and its outcome is in state."""


@dataclass(frozen=True, slots=True)
class StepWorker:
    """Carries out the steps of one apply.

    Attributes:
        providers: The providers by the keys of their configurations.
        config_of: Evaluates a change's declaration with the values known by now.
        provider_in_state: Writes the key of a provider configuration as state does.
        values: What declared instances hold by now, by address; kept up to date.
        deposed: Address to the key of its deposed object, which waits for deletion.
        sending: The steps that are being carried out, by address.
        intents: Address to the intent that was noted for its write.
        reported: Addresses of created objects that are still to be read back.
        planned_diagnostics: Summary and detail of each diagnostic of the plan.
        late_diagnostics: Address to the diagnostics that its plan gives only now that all values
            are known.
    """

    providers: Mapping[str, ConfiguredProvider]
    session: StateSession
    config_of: Callable[[Step], Values]
    provider_in_state: Callable[[str], str]
    values: dict[str, Values | None]
    deposed: dict[str, str] = field(default_factory=dict)
    sending: dict[str, Step] = field(default_factory=dict)
    intents: dict[str, str] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)
    planned_diagnostics: frozenset[tuple[str, str]] = frozenset()
    late_diagnostics: dict[str, tuple[Diagnostic, ...]] = field(default_factory=dict)

    def creates_together(self, step: Step) -> int:
        """Return how many creations of this kind the console takes in one request."""
        if step.kind is not StepKind.CREATE:
            return 1
        change = step.change
        return self.providers[change.provider].resources[change.type_name].creates_together

    def carry_out_without_request(self, step: Step) -> Outcome | None:
        """Take a step that needs no request to the console; return None if it needs one.

        The outcome is durable after the next `flush` of the session.
        """
        change = step.change
        if step.kind is StepKind.KEEP:
            outcome = Outcome(change.after, change.private)
        elif change.cascade and step.kind is StepKind.DELETE:
            outcome = Outcome(None)
        else:
            return None
        self._put_into_state(step, outcome)
        return outcome

    async def carry_out(self, steps: Sequence[Step], ended: OnEnd) -> None:
        """Take steps of one type, provider and kind; several only if they go together.

        The outcome of a step is durable before the next request in its place. Values that are added
        by reading back may become durable later (`_keep_outcomes`).

        Raises:
            UserError: it cannot be made durable.
        """
        change, kind = steps[0].change, steps[0].kind
        self.sending.update((step.change.address, step) for step in steps)
        if kind is StepKind.READ:
            await self._keep_outcomes([(steps[0], await self._read(steps[0]))], ended)
            return
        lifecycle = self.providers[change.provider].resources[change.type_name]
        if kind is StepKind.DELETE:
            request = DeleteRequest(change.before or {}, change.private, change.address)
            await self._keep_outcomes([(steps[0], await lifecycle.delete(request))], ended)
            return
        creations: list[CreateRequest] = []
        done: list[tuple[Step, Outcome]] = []
        for step, asked in zip(steps, await self._make_requests(lifecycle, steps), strict=True):
            match asked:
                case CreateRequest():
                    creations.append(asked)
                case UpdateRequest() if not same(asked.prior, asked.planned):
                    done.append((step, await lifecycle.update(asked)))
                case UpdateRequest():
                    # No value changes; only the sensitive paths do.
                    done.append((step, Outcome(asked.planned, asked.private)))
                case Outcome():
                    done.append((step, asked))
        if done:
            await self._keep_outcomes(done, ended)

        async def report(
            results: Sequence[tuple[CreateRequest, Outcome]], *, last: bool = True
        ) -> None:
            found = [(self.sending[request.address], outcome) for request, outcome in results]
            await self._keep_outcomes(found, ended if last else None)

        if creations:
            await lifecycle.create(creations, report)

    async def _keep_outcomes(
        self, found: Sequence[tuple[Step, Outcome]], ended: OnEnd | None
    ) -> None:
        """Keep outcomes, and make them durable; without `ended`, each is followed by a later one.

        A created object is durable with its id before it is read back.
        """
        settles = []
        only_adds = True
        for step, outcome in found:
            only_adds = only_adds and self._only_adds(step, outcome)
            if ended is not None and (late := self.late_diagnostics.pop(step.change.address, ())):
                outcome = outcome.with_diagnostics(*late)
            self._put_into_state(step, outcome)
            if ended is None:
                self.reported.add(step.change.address)
            intent = self.intents.pop(step.change.address, "")
            # An unsettled create is in state under a sentinel id. For any other unsettled write,
            # the open intent is the only record.
            if intent and not (outcome.unsettled and step.kind is not StepKind.CREATE):
                settles.append(intent)
            if ended is not None:
                ended(step, outcome)
        # Values that are added by reading back without a diagnostic are written for many steps at
        # once. If they are lost, a refresh shows them again.
        if settles or not only_adds or self.session.unrecorded_changes >= _READ_BACK_AT_ONCE:
            self.session.record(settles)
            await self.session.flush()

    def _only_adds(self, step: Step, outcome: Outcome) -> bool:
        """Return whether an outcome only adds values to a created object in state, by its id."""
        address = step.change.address
        if address not in self.reported or outcome.diagnostics:
            return False
        held = self.values.get(address)
        return held is not None and (outcome.state or {}).get("id") == held["id"]

    async def note_intents(
        self,
        verb: str,
        requests: Sequence[WriteRequest],
        dry_run_statuses: Mapping[str, str] = _NOTHING,
    ) -> None:
        """Make the intent of a write durable, before it is sent.

        Raises:
            UserError: it cannot be made durable, so nothing may be sent.
        """
        for request in requests:
            # A refused import is sent again in halves. The one intent of each row stands for both
            # requests.
            if request.address in self.intents:
                continue
            step = self.sending[request.address]
            details: dict[str, Any]
            if isinstance(request, CreateRequest) and verb == "create":
                status = dry_run_statuses.get(request.address, "")
                details = describe_create(request, step.change, status)
            else:
                details = {"id": (request.prior or {}).get("id")}
            provider = self.provider_in_state(step.change.provider)
            details |= {"verb": verb, "provider": provider}
            call = str(documented_for(RESOURCES[step.change.type_name], verb) or verb)
            intent = self.session.intend(request.address, call, details)
            self.intents[request.address] = intent
        await self.session.flush()

    async def _read(self, step: Step) -> Outcome:
        change = step.change
        try:
            config = self.config_of(step)
        except UserError as problem:
            return Outcome(None, diagnostics=diagnostics_of(problem))
        unknown = unknown_names(config)
        if unknown:
            return Outcome(None, diagnostics=(_refuse_unknown(change, unknown),))
        return await self.providers[change.provider].read_data(change.type_name, config)

    async def _make_requests(
        self, lifecycle: BaseLifecycle, steps: Sequence[Step]
    ) -> list[CreateRequest | UpdateRequest | Outcome]:
        """Return the request of each step.

        A step whose plan held unknown values is planned again.
        """
        asked: dict[str, CreateRequest | UpdateRequest | Outcome] = {}
        # Values that the plan left unknown are known by now, and may be wrong or ask for a
        # replacement that the plan did not show.
        late: list[tuple[Step, Values]] = []
        for step in steps:
            change = step.change
            if not holds_unknown(change.config):
                asked[change.address] = _request(step, change.config, change.after, change.private)
                continue
            try:
                late.append((step, self.config_of(step)))
            except UserError as problem:
                # The other steps of an import go on.
                asked[change.address] = _fail(step, diagnostics_of(problem))
        plans = await lifecycle.plan([_plan_request(*pair) for pair in late])
        for (step, config), plan in zip(late, plans, strict=True):
            asked[step.change.address] = self._request_late(step, config, plan)
        return [asked[step.change.address] for step in steps]

    def _request_late(
        self, step: Step, config: Values, plan: PlanOutcome
    ) -> CreateRequest | UpdateRequest | Outcome:
        """Return the request once everything is known, or why there can be none."""
        change = step.change
        unknown = unknown_names(config)
        wrong = tuple(RESOURCES[change.type_name].problems(config))
        found = (*wrong, *plan.diagnostics)
        if not has_error(found):
            self.late_diagnostics[change.address] = tuple(
                item
                for item in found
                if (item.summary, item.detail) not in self.planned_diagnostics
            )
        if unknown:
            return _fail(step, (_refuse_unknown(change, unknown),))
        if has_error(wrong):
            return _fail(step, wrong)
        if plan.replace and step.kind is StepKind.UPDATE:
            needs_replacement = error(
                f"{change.address} must be replaced after all",
                f"{', '.join(plan.replace)} became known only now. Its new value replaces the "
                "object, and this plan does not show that. Plan again.",
                (plan.replace[0],),
            )
            return _fail(step, (needs_replacement,))
        if plan.failed:
            return _fail(step, plan.diagnostics)
        return _request(step, config, plan.planned, plan.private)

    def _put_into_state(self, step: Step, outcome: Outcome) -> None:
        change, state = step.change, self.session.state
        address, deposed = instance_and_key(change.address)
        if step.kind is StepKind.DELETE:
            # A replacement that creates first has put the old object aside.
            deposed = deposed or self.deposed.get(address, "")
            if outcome.state is None:
                state.remove(address, deposed)
            return
        if outcome.state is None:
            # An object that was reported as created is in state by now, and reading it back found
            # none.
            if step.kind is StepKind.KEEP or change.address in self.reported:
                state.remove(address, deposed)
                self.values.pop(change.address, None)
            return
        if (
            step.kind is StepKind.CREATE
            and change.create_first
            and change.address not in self.deposed
            # Its host may have taken it along by now.
            and state.get(change.address) is not None
        ):
            self.deposed[change.address] = state.depose(change.address)
        self.values[change.address] = outcome.state
        # As in core, the next plan replaces an object whose creation failed.
        tainted = outcome.failed and step.kind is StepKind.CREATE
        held = InstanceObject(
            provider=self.provider_in_state(change.provider),
            attributes=outcome.state,
            private=outcome.private,
            dependencies=() if step.kind is StepKind.READ else change.depends_on,
            tainted=tainted,
            sensitive_attributes=paths_to_state(change.sensitive_paths),
            create_before_destroy=change.create_before_destroy,
        )
        state.put(change.address, held)


def describe_create(request: CreateRequest, change: Change, dry_run_status: str) -> dict[str, Any]:
    """Return the facts by which a later run settles a create, if a crash leaves its intent open."""
    unknown = set(unknown_names(request.planned))
    return {
        "planned": {name: item for name, item in request.planned.items() if name not in unknown},
        DRY_RUN_STATUS: dry_run_status,
        "dependencies": list(change.depends_on),
        "instead_of": (change.before or {}).get("id"),
    }


def _request(
    step: Step, config: Values | None, planned: Values | None, private: bytes
) -> CreateRequest | UpdateRequest:
    """Return the request of a step that creates or updates, from its declaration and its plan."""
    change, config, planned = step.change, config or {}, planned or {}
    if step.kind is StepKind.CREATE:
        return CreateRequest(config, planned, private, change.address)
    return UpdateRequest(change.before or {}, config, planned, private, change.address)


def _plan_request(step: Step, config: Values) -> PlanRequest:
    change = step.change
    if step.kind is StepKind.CREATE:
        return PlanCreation(config, address=change.address)
    return PlanChange(change.before or {}, config, change.private, address=change.address)


def _fail(step: Step, diagnostics: tuple[Diagnostic, ...]) -> Outcome:
    """Return the outcome of a step for which nothing is sent."""
    prior = None if step.kind is StepKind.CREATE else step.change.before
    return Outcome(prior, step.change.private if prior else b"", diagnostics)


def _refuse_unknown(change: Change, names: Sequence[str]) -> Diagnostic:
    return error(
        f"{change.address} needs values that are not known",
        f"{', '.join(names)} refers to a resource that was not applied, or whose outcome is not "
        "known.",
        (names[0],),
    )
