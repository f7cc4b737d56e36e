"""Applying a plan: bring state to what the plan read, carry out the steps, keep the outputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.lifecycle.lifecycle import Lifecycle
from opsconsole.reconcile.batches import Worker
from opsconsole.reconcile.changes import Action, Plan
from opsconsole.reconcile.declaration import Place, from_state, instance_and_key, without_ignored
from opsconsole.reconcile.execution import Applied, ApplyListener, Execution
from opsconsole.reconcile.moves import carry_out_moves
from opsconsole.reconcile.order import Step, StepKind, config_address, order
from opsconsole.reconcile.outputs import keep_known_outputs, keep_outputs
from opsconsole.reconcile.planner import Workspace
from opsconsole.reconcile.prior import read_prior, refresh
from opsconsole.reconcile.providers import in_state
from opsconsole.reconcile.unknown_outcomes import still_unknown
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.state import Address, InstanceObject, StateSession
from opsconsole.v1.limiter import HeldBack
from opsconsole.values import Attributes


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
        self._evaluator = workspace.evaluator(self._value, settled=True, planned_at=planned_at)
        self._providers = workspace.providers(self._evaluator)
        self._outputs = [item.name for item in plan.outputs]
        self._execution: Execution | None = None
        self._stopping = False

    def stop(self) -> None:
        """Begin nothing more; what is in flight is finished and kept."""
        self._stopping = True
        self._providers.stop()
        if self._execution is not None:
            self._execution.stop()

    async def run(self) -> Applied:
        """Apply the plan; what succeeded is in state, whatever happens.

        Raises:
            UserError: what was done cannot be made durable, or an output cannot be evaluated.
        """
        try:
            self._catch_up()
            if self._plan.mode == "refresh-only":
                keep_outputs(self._evaluator, self._session.state, self._outputs)
                return self._settled(Applied())
            keys = {change.provider for change in self._plan.acting() if change.provider}
            lifecycles = {key: self._providers.of(key) for key in keys}
            self._introduce_state()
            self._execution = self._make_execution(lifecycles)
            if self._stopping:
                self._execution.stop()
            applied = await self._execution.run()
            if not self._stopping:
                applied.diagnostics += await self._read_rerouted(applied.rerouted)
            applied.diagnostics += self._unguarded()
            self._settled(applied)
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

    def _settled(self, applied: Applied) -> Applied:
        """Note which creations stay of unknown outcome: with one of them, no run is complete."""
        applied.unsettled = self._plan.unsettled
        applied.diagnostics += still_unknown(applied.unsettled)
        return applied

    @property
    def waiting(self) -> HeldBack:
        """What the consoles' limits on requests have the run wait for."""
        return self._providers.waiting

    def _make_execution(self, lifecycles: Mapping[str, Lifecycle]) -> Execution:
        worker = Worker(
            lifecycles,
            self._session,
            self._config_of,
            lambda key: in_state(self._workspace.program, key),
            self._values,
            planned_diagnostics=frozenset(
                (item.summary, item.detail) for item in self._plan.diagnostics
            ),
        )
        sessions = [lifecycle.session for lifecycle in lifecycles.values()]
        for session in sessions:
            session.before_write = worker.note
        limit = min((session.limit for session in sessions), default=1)
        ordered = order(self._plan.changes, self._providers.console_of)
        return Execution(ordered, worker, self._listener, limit)

    def _catch_up(self) -> None:
        """Bring state to what the plan saw: moves, what the refresh showed, data sources."""
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
            provider = in_state(self._workspace.program, data.provider)
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

    def _unguarded(self) -> list[tuple[str, Diagnostic]]:
        """Fail a run whose dry runs were ignored: on a host the error would taint what exists."""
        if not any(item.session.dry_run_ignored for item in self._providers.opened.values()):
            return []
        diagnostic = error(
            "The console imported what was sent as a dry run",
            "What it created is kept in state, and no further host was sent. A dry run does not "
            "protect imports on this console: ask its operator.",
        )
        return [("", diagnostic)]

    def _value(self, address: str) -> Attributes | None:
        """Return what an instance holds by now; None where that is not known."""
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

    async def _read_rerouted(self, rerouted: Collection[Place]) -> list[tuple[str, Diagnostic]]:
        """Read again what a deletion rerouted, and keep what changed."""
        known = read_prior(self._session.state) if rerouted else {}
        wanted = [item for item in known.values() if self._providers.place_of(item) in rerouted]
        if not wanted:
            return []
        found = await refresh(wanted, self._providers.by_state_address(wanted))
        diagnostics: list[tuple[str, Diagnostic]] = []
        for item in found.values():
            if item.value is None or item.value == item.before:
                continue
            kept = item.held._replace(attributes=item.value, private=item.private)
            self._session.state.put(item.address, kept)
            names = [name for name in item.value if item.value[name] != item.before[name]]
            diagnostics.append(
                (
                    item.address,
                    warning(
                        f"{item.address} was rerouted by the console",
                        f"Changed there: {', '.join(names)}. The next plan shows the difference.",
                    ),
                )
            )
        return diagnostics
