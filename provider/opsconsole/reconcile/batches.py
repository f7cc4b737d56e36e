"""One batch of like steps: the calls through the lifecycle, and what they leave in state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opsconsole.compare import same
from opsconsole.diagnostics import Diagnostic, error, has_error
from opsconsole.lifecycle.interface import (
    ApplyRequest,
    LifecycleInterface,
    Outcome,
    PlanOutcome,
    PlanRequest,
    ResourceLifecycle,
)
from opsconsole.lifecycle.validation import validate
from opsconsole.reconcile.changes import Change
from opsconsole.reconcile.declaration import paths_to_state
from opsconsole.reconcile.deposed import instance_and_key
from opsconsole.reconcile.order import Leg, Step
from opsconsole.resources import RESOURCES
from opsconsole.state.objects import InstanceObject
from opsconsole.state.writer import StateSession
from opsconsole.values import Attributes, holds_unknown


@dataclass(frozen=True, slots=True)
class Worker:
    """What batches share.

    Attributes:
        lifecycles: A lifecycle by the key of its provider configuration.
        session: The state to record in.
        config_of: Evaluates a change's declaration with what is known by now.
        provider_in_state: Writes the key of a provider configuration as state does.
        values: What instances hold by now, by address; kept up to date.
        deposed: Address to the key under which its old object waits for its deletion.
        sending: The steps that are being carried out, by address.
        intents: Address to the intent that was noted for its create.
    """

    lifecycles: Mapping[str, LifecycleInterface]
    session: StateSession
    config_of: Callable[[Step], Attributes]
    provider_in_state: Callable[[str], str]
    values: dict[str, Attributes | None]
    deposed: dict[str, str] = field(default_factory=dict)
    sending: dict[str, Step] = field(default_factory=dict)
    intents: dict[str, str] = field(default_factory=dict)

    async def carry_out(self, steps: Sequence[Step]) -> list[Outcome]:
        """Take steps of one type, provider and leg; what they did is durable on return.

        Raises:
            UserError: it cannot be made durable.
        """
        change, leg = steps[0].change, steps[0].leg
        if leg is Leg.KEEP:
            outcomes = [Outcome(step.change.after, step.change.private) for step in steps]
        elif change.cascade and leg is Leg.DELETE:
            outcomes = [Outcome(None)] * len(steps)
        elif leg is Leg.READ:
            outcomes = [await self._read(step) for step in steps]
        else:
            lifecycle = self.lifecycles[change.provider].resources[change.type_name]
            outcomes = await self._call(lifecycle, leg, steps)
        for step, outcome in zip(steps, outcomes, strict=True):
            self._keep(step, outcome)
        done = (self.intents.pop(step.change.address, "") for step in steps)
        self.session.record(settles=[intent for intent in done if intent])
        await self.session.flush()
        return outcomes

    async def note(self, requests: Sequence[ApplyRequest], said: Mapping[str, str]) -> None:
        """Make durable what is about to be created, before it is sent.

        What is adopted or attached may be asked for again: neither comes here.

        Raises:
            UserError: it cannot be made durable, so nothing may be sent.
        """
        for request in requests:
            step = self.sending.get(request.address)
            if step is None or request.address in self.intents:
                continue
            details = lost_create(request, step.change, said.get(request.address, ""))
            details["provider"] = self.provider_in_state(step.change.provider)
            call = RESOURCES[step.change.type_name].operations.get("create", "create")
            self.intents[request.address] = self.session.intend(request.address, call, details)
        await self.session.flush()

    async def _read(self, step: Step) -> Outcome:
        """Read a data source that planning put off."""
        change, config = step.change, self.config_of(step)
        unknown = [name for name, value in config.items() if holds_unknown(value)]
        if unknown:
            return Outcome(None, diagnostics=(_still_unknown(change, unknown),))
        return await self.lifecycles[change.provider].read_data(change.type_name, config)

    async def _call(
        self, lifecycle: ResourceLifecycle, leg: Leg, steps: Sequence[Step]
    ) -> list[Outcome]:
        if leg is Leg.DELETE:
            return await lifecycle.delete([_deletion(step.change) for step in steps])
        requests = await self._settled(lifecycle, leg, steps)
        ready = {
            index: item
            for index, item in enumerate(requests)
            if isinstance(item, ApplyRequest) and not _as_it_is(item)
        }
        if leg is Leg.CREATE:
            self.sending.update((step.change.address, step) for step in steps)
        call = lifecycle.create if leg is Leg.CREATE else lifecycle.update
        outcomes = await call(list(ready.values())) if ready else []
        done = dict(zip(ready, outcomes, strict=True))
        return [
            done.get(index, Outcome(item.planned, item.private))
            if isinstance(item, ApplyRequest)
            else item
            for index, item in enumerate(requests)
        ]

    async def _settled(
        self, lifecycle: ResourceLifecycle, leg: Leg, steps: Sequence[Step]
    ) -> list[ApplyRequest | Outcome]:
        """Return what to ask for each step, planned anew where the plan held unknowns."""
        open_steps = {
            index: self.config_of(step)
            for index, step in enumerate(steps)
            if holds_unknown(step.change.config)
        }
        asked = [_plan_request(steps[index], leg, config) for index, config in open_steps.items()]
        plans = await lifecycle.plan(asked) if asked else []
        settled = dict(zip(open_steps, plans, strict=True))
        return [
            _request(step, leg)
            if index not in settled
            else _anew(step, leg, open_steps[index], settled[index])
            for index, step in enumerate(steps)
        ]

    def _keep(self, step: Step, outcome: Outcome) -> None:
        """Put what a step left into state."""
        change, state = step.change, self.session.state
        address, deposed = instance_and_key(change.address)
        if step.leg is Leg.DELETE:
            deposed = deposed or self.deposed.get(address, "")
            if outcome.state is None:
                state.remove(address, deposed)
                if not deposed:
                    self.values.pop(change.address, None)
            return
        if outcome.state is None:
            if step.leg is Leg.KEEP:
                state.remove(address, deposed)
                self.values.pop(change.address, None)
            return
        if step.leg is Leg.CREATE and change.create_first:
            self.deposed[change.address] = state.depose(change.address)
        self.values[change.address] = outcome.state
        state.put(
            change.address,
            InstanceObject(
                provider=self.provider_in_state(change.provider),
                attributes=outcome.state,
                private=outcome.private,
                dependencies=() if step.leg is Leg.READ else change.depends_on,
                tainted=outcome.failed and step.leg is Leg.CREATE,
                sensitive_attributes=paths_to_state(change.sensitive_paths),
                create_before_destroy=change.create_before_destroy,
            ),
        )


def lost_create(request: ApplyRequest, change: Change, said: str) -> dict[str, Any]:
    """Return what a later run must know to settle a create whose outcome a crash left unknown."""
    planned = request.planned or {}
    return {
        "planned": {name: item for name, item in planned.items() if not holds_unknown(item)},
        "dry_run_said": said,
        "dependencies": list(change.depends_on),
        "create_first": change.create_first,
        "instead_of": change.before["id"] if change.create_first and change.before else None,
    }


def _as_it_is(request: ApplyRequest) -> bool:
    """Tell whether an update changes no value, but what is sensitive."""
    return request.prior is not None and same(request.prior, request.planned)


def _deletion(change: Change) -> ApplyRequest:
    return ApplyRequest(change.before, None, None, change.private, change.address)


def _request(step: Step, leg: Leg) -> ApplyRequest:
    change = step.change
    prior = None if leg is Leg.CREATE else change.before
    return ApplyRequest(prior, change.config, change.after, change.private, change.address)


def _plan_request(step: Step, leg: Leg, config: Attributes) -> PlanRequest:
    change = step.change
    prior = None if leg is Leg.CREATE else change.before
    private = b"" if leg is Leg.CREATE else change.private
    return PlanRequest(prior, config, private, address=change.address)


def _anew(step: Step, leg: Leg, config: Attributes, plan: PlanOutcome) -> ApplyRequest | Outcome:
    """Return what to ask once everything is known, or why nothing can be asked."""
    change = step.change
    prior = None if leg is Leg.CREATE else change.before
    unknown = [name for name, value in config.items() if holds_unknown(value)]
    wrong = validate(RESOURCES[change.type_name], config)
    if unknown:
        told: tuple[Diagnostic, ...] = (_still_unknown(change, unknown),)
    elif has_error(wrong):
        told = tuple(wrong)
    elif plan.replace and leg is Leg.UPDATE:
        told = (_needs_replacement(change, plan.replace),)
    elif plan.failed:
        told = plan.diagnostics
    else:
        return ApplyRequest(prior, config, plan.planned, plan.private, change.address)
    return Outcome(prior, change.private if prior else b"", told)


def _still_unknown(change: Change, names: Sequence[str]) -> Diagnostic:
    return error(
        f"{change.address} needs values that are not known",
        f"{', '.join(names)} refers to what was not applied, or is not settled.",
        (names[0],),
    )


def _needs_replacement(change: Change, names: Sequence[str]) -> Diagnostic:
    return error(
        f"{change.address} must be replaced after all",
        f"{', '.join(names)} became known only now, and its new value replaces the object, which "
        "this plan does not say. Plan again.",
        (names[0],),
    )
