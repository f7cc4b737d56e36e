"""Applies a plan to the state of an open session: state follows each step, outputs come last.

Nothing is printed or asked here; the commands do that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.lifecycle.interface import ReadRequest
from opsconsole.reconcile.decisions import keep_known_outputs, keep_outputs, without_ignored
from opsconsole.reconcile.executor import ApplyListener, ApplyResult, Executor
from opsconsole.reconcile.order import Step, StepKind, order_steps
from opsconsole.reconcile.plan import Action, Plan
from opsconsole.reconcile.prior import (
    Identity,
    carry_out_moves,
    from_state,
    read_prior,
    report_unsettled,
)
from opsconsole.reconcile.step_worker import StepWorker
from opsconsole.reconcile.workspace import Workspace, provider_in_state
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.state import Address, InstanceObject, StateSession, config_address, instance_and_key
from opsconsole.v1.limiter import HeldBack
from opsconsole.values import Values


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
        self._values: dict[str, Values | None] = {
            change.address: None for change in plan.changes if change.action is Action.REPLACE
        }
        planned_at = datetime.fromisoformat(plan.planned_at) if plan.planned_at else None
        self._evaluator = workspace.evaluator(self._value, applying=True, planned_at=planned_at)
        self._providers = workspace.providers(self._evaluator)
        self._outputs = [item.name for item in plan.outputs]
        self._executor: Executor | None = None

    def stop(self) -> None:
        """Begin nothing more; steps in flight are finished and kept."""
        self._providers.stop()
        if self._executor is not None:
            self._executor.stop()

    async def run(self) -> ApplyResult:
        """Apply the plan; successful changes are in state in any case.

        Raises:
            UserError: Changes cannot be made durable, or an output cannot be evaluated.
        """
        try:
            self._catch_up()
            if self._plan.mode == "refresh-only":
                keep_outputs(self._evaluator, self._session.state, self._outputs)
                return self._note_unsettled(ApplyResult())
            keys = {change.provider for change in self._plan.acting() if change.provider}
            providers = {key: self._providers.of(key) for key in keys}
            # This precedes every creation, as no creation may get an object that is in state.
            self._introduce_state()
            self._executor = self._make_executor(providers)
            # A stop may have come before there was an executor to pass it on to.
            if self._providers.stopped:
                self._executor.stop()
            applied = await self._executor.run()
            if applied.rerouted and not self._providers.stopped:
                applied.diagnostics += await self._read_rerouted(applied.rerouted)
            # Before the outputs, which may refer to these values.
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
            await self._providers.close()

    def _note_unsettled(self, applied: ApplyResult) -> ApplyResult:
        """Note the creations whose outcome stays unknown; with one of them, no run is complete."""
        applied.unsettled = self._plan.unsettled
        applied.diagnostics += (report_unsettled(item).about(item) for item in applied.unsettled)
        return applied

    @property
    def waiting(self) -> HeldBack:
        """How long the consoles' limits on requests make the run wait."""
        return self._providers.waiting

    def _make_executor(self, providers: Mapping[str, ConfiguredProvider]) -> Executor:
        worker = StepWorker(
            providers,
            self._session,
            self._config_of,
            lambda key: provider_in_state(self._workspace.program, key),
            self._values,
            planned_diagnostics=frozenset(
                (item.summary, item.detail) for item in self._plan.diagnostics
            ),
        )
        for provider in providers.values():
            # After a crash between a write and its answer, the next run settles the write by its
            # intent.
            provider.session.before_write = worker.note_intents
        limits = (item.session.settings.max_concurrency for item in providers.values())
        ordered = order_steps(self._plan.changes, self._providers.console_of)
        return Executor(ordered, worker, self._listener, min(limits, default=1))

    def _catch_up(self) -> None:
        """Bring state to the plan's view: moves, the refresh, data sources."""
        state = self._session.state
        # Moves come first: the plan names what it read by the addresses after them.
        carry_out_moves(state, self._plan.moved)
        for item in self._plan.refreshed:
            address, deposed = instance_and_key(item.address)
            instance = state.get(address, deposed)
            if item.value is None:
                state.remove(address, deposed)
            elif instance is not None:
                kept = instance._replace(attributes=item.value, private=item.private)
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
        """Tell every provider which objects of its console are in state."""
        console_of = self._providers.console_of
        for item in read_prior(self._session.state).values():
            console = self._providers.console_holding(item)
            for key, provider in self._providers.opened.items():
                if console_of(key) == console:
                    provider.resources[item.type_name].note_existing(item.before, item.address)

    def _report_unguarded(self) -> list[Diagnostic]:
        """Fail a run whose dry runs were ignored."""
        if not any(item.session.dry_runs.ignored for item in self._providers.opened.values()):
            return []
        # The error is about the run and names no host: on a host it would taint what exists.
        diagnostic = error(
            "The console imported what was sent as a dry run",
            "What it created is kept in state, and no further host was sent. A dry run does not "
            "protect imports on this console: ask its operator.",
        )
        return [diagnostic]

    def _value(self, address: str) -> Values | None:
        """Return an instance's current values; None: they are not known."""
        if address not in self._values:
            parsed = Address.parse(address)
            found = self._session.state.get(parsed)
            kinds = DATA_SOURCES if parsed.mode == "data" else RESOURCES
            self._values[address] = (
                from_state(kinds[parsed.type], found.attributes) if found is not None else None
            )
        value = self._values[address]
        # A sentinel stands for an id that nobody knows: no request may carry it.
        return None if value is not None and is_sentinel(value.get("id")) else value

    def _config_of(self, step: Step) -> Values:
        address = step.change.address
        block = self._workspace.program.blocks[config_address(address)]
        instance = self._evaluator.instances(block)[Address.parse(address).key]
        values = self._evaluator.config(instance).values
        if step.change.before is None or step.kind is StepKind.CREATE:
            # A creation ignores nothing: the object that it replaces is gone.
            return values
        return without_ignored(block, values, step.change.before)

    def _take_answers(self) -> None:
        """Keep values of other resources that the answers to writes showed."""
        answers = {
            (self._providers.console_of(key), *identity): (provider, answer)
            for key, provider in self._providers.opened.items()
            for identity, answer in provider.session.answered_beside.items()
        }
        for item in read_prior(self._session.state).values() if answers else ():
            identity = self._providers.identity_of(item)
            if identity not in answers:
                continue
            provider, answer = answers[identity]
            request = ReadRequest(item.before, item.stored.private, item.address)
            outcome = provider.resources[item.type_name].take_answer(request, answer)
            if (outcome.state, outcome.private) != (item.before, item.stored.private):
                kept = item.stored._replace(attributes=outcome.state or {}, private=outcome.private)
                self._put_into_state(item.address, kept)

    def _put_into_state(self, address: str, held: InstanceObject) -> None:
        """Put a value into state and among the values for the outputs."""
        self._session.state.put(address, held)
        self._values[address] = held.attributes

    async def _read_rerouted(self, rerouted: Collection[Identity]) -> list[Diagnostic]:
        """Read rerouted hosts again, and keep their changes."""
        prior = read_prior(self._session.state).values()
        wanted = [item for item in prior if self._providers.identity_of(item) in rerouted]
        refreshed = await self._providers.refresh(wanted)
        diagnostics: list[Diagnostic] = []
        for item in refreshed.values():
            if item.value is None or item.value == item.before:
                continue
            kept = item.stored._replace(attributes=item.value, private=item.private)
            self._put_into_state(item.address, kept)
            names = [name for name in item.value if item.value[name] != item.before[name]]
            changed = warning(
                f"{item.address} was rerouted by the console",
                f"Changed there: {', '.join(names)}. The next plan shows the difference.",
            )
            diagnostics.append(changed.about(item.address))
        return diagnostics
