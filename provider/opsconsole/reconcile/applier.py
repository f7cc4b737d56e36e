"""Applies a plan to the state of an opened stack: state follows each step, outputs come last.

Nothing is printed or asked here; the commands do that.
"""

from __future__ import annotations

from collections.abc import Collection

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.lifecycle.interface import ReadRequest
from opsconsole.reconcile.decisions import keep_known_outputs, keep_outputs
from opsconsole.reconcile.executor import ApplyListener, ApplyResult, Executor
from opsconsole.reconcile.order import order_steps
from opsconsole.reconcile.plan import Action, Change, Plan
from opsconsole.reconcile.prior import Identity, read_prior, unsettled_error
from opsconsole.reconcile.providers import Providers, Watch, provider_in_state, provider_key_of
from opsconsole.reconcile.stack import OpenedStack
from opsconsole.reconcile.step_worker import StepWorker
from opsconsole.resources import RESOURCES
from opsconsole.state import (
    InstanceObject,
    State,
    deposed_name,
    paths_to_state,
    split_deposed,
)


async def apply_plan(
    stack: OpenedStack,
    plan: Plan,
    listener: ApplyListener,
    watch: Watch,
) -> ApplyResult:
    """Apply a plan; after an error, state holds the changes that succeeded.

    Args:
        watch: After `stop` of the providers, no step begins; steps in flight finish and are kept.

    Raises:
        UserError: Changes cannot be made durable, or an output cannot be evaluated.
    """
    worker = StepWorker(stack, plan)
    state, outputs = stack.state, [item.name for item in plan.outputs]
    watch(worker.providers)
    async with worker.providers:
        _catch_up(stack, plan, worker.providers)
        only_refreshes = plan.mode == "refresh-only"
        applied = ApplyResult() if only_refreshes else await _carry_out(plan, worker, listener)
        # With a creation whose outcome stays unknown, no run is complete.
        applied.unsettled = plan.unsettled
        applied.diagnostics += (unsettled_error(item).about(item) for item in plan.unsettled)
        if plan.targeted:
            applied.diagnostics.append(
                warning(
                    "Applied changes may be incomplete",
                    "The plan was made with --target: some changes that the program asks for may be"
                    " left out, and outputs may not be up to date. Plan again without --target to"
                    " see which changes are pending.",
                )
            )
        left = any(item.mode == "managed" for item in state.addresses())
        # As in Terraform, outputs leave state although a deletion failed.
        gone = plan.mode == "destroy" and not (plan.targeted and left)
        if applied.complete or only_refreshes or gone:
            keep_outputs(None if gone else worker.evaluator, state, outputs)
        elif plan.mode == "normal":
            keep_known_outputs(worker.evaluator, state, outputs)
        return applied


def _catch_up(stack: OpenedStack, plan: Plan, providers: Providers) -> None:
    """Bring state to the plan's view: moves, the refresh, data sources."""
    state = stack.state
    if plan.moved:
        from opsconsole.reconcile.moves import carry_out_moves

        # Moves come first: the plan names its reads by the addresses after them.
        carry_out_moves(state, plan.moved)
    for item in plan.refreshed:
        address, deposed = split_deposed(item.address)
        stored = state.get(address, deposed)
        if item.values is None:
            state.remove(address, deposed)
        elif stored is not None:
            refreshed = stored._replace(attributes=item.values, private=item.private)
            state.put(address, refreshed, deposed)
    if plan.mode == "refresh-only":
        _add_dependencies(stack)
    for change in plan.changes:
        # No step writes an instance without a change. Its dependencies, the order of a replacement
        # and its provider reach state only here.
        if change.action is Action.NO_OP and change.provider_key:
            _keep_declaration(state, change, providers)
    for data in plan.data:
        provider = provider_in_state(stack.program, data.provider_key)
        paths = paths_to_state(data.sensitive_paths)
        state.put(data.address, InstanceObject(provider, data.values, sensitive_attributes=paths))
    for address in plan.dropped:
        state.remove(address)
    stack.state_session.record()


def _add_dependencies(stack: OpenedStack) -> None:
    """Add the declared dependencies to those in state, which a move may have renamed."""
    for address in stack.state.addresses():
        stored = stack.state.get(address) if address.mode == "managed" else None
        if stored is not None and address.config in stack.program.blocks:
            needed = {*stored.dependencies, *stack.graph.ancestors(address.config)}
            if needed != set(stored.dependencies):
                stack.state.put(address, stored._replace(dependencies=sorted(needed)))


def _keep_declaration(state: State, change: Change, providers: Providers) -> None:
    """Put provider, dependencies and replacement order of an unchanged instance into state."""
    stored = state.get(change.address)
    if stored is None:
        return
    same_dependencies = set(change.dependencies) == set(stored.dependencies)
    provider, key = stored.provider, provider_key_of(stored.provider)
    # A provider of another console does not know the object, which was read from the old one.
    if key != change.provider_key and providers.console_of(key) == providers.console_of(
        change.provider_key
    ):
        provider = provider_in_state(providers.program, change.provider_key)
    declared = stored._replace(
        provider=provider,
        dependencies=stored.dependencies if same_dependencies else change.dependencies,
        create_before_destroy=change.create_before_destroy,
    )
    if declared != stored:
        state.put(change.address, declared)


async def _carry_out(plan: Plan, worker: StepWorker, listener: ApplyListener) -> ApplyResult:
    providers = worker.providers
    for key in {change.provider_key for change in plan.acting() if change.provider_key}:
        # A write whose answer a crash cuts off is settled by its intent in the next run.
        providers.of(key).session.before_write = worker.note_intents
    # This precedes every creation, as no creation may get an object that is in state.
    _introduce_state(worker)
    for change in plan.changes:
        # Another address may take what this plan forgets.
        opened = providers.by_key.get(change.provider_key)
        if change.action is Action.FORGET and opened is not None and change.before is not None:
            opened.session.release(change.type_name, change.before["id"])
    limits = (item.session.settings.max_concurrency for item in providers.opened)
    ordered = order_steps(plan.changes, providers.console_of)
    applied = await Executor(ordered, worker, listener, min(limits, default=1)).run()
    if applied.rerouted and not providers.stopped:
        applied.diagnostics += await _read_rerouted(worker, applied.rerouted)
    # Before the outputs, which may refer to these values.
    _update_from_answers(worker)
    applied.diagnostics += _ignored_dry_run_errors(providers)
    return applied


def _introduce_state(worker: StepWorker) -> None:
    """Tell every provider which objects of its console are in state."""
    providers = worker.providers
    state = worker.state_session.state
    for address, deposed in state.objects():
        # A deposed object of another provider may be in state.
        is_known = address.mode == "managed" and address.type in RESOURCES
        stored = state.get(address, deposed) if is_known else None
        if stored is None:
            continue
        name = deposed_name(str(address), deposed)
        console = providers.console_of(provider_key_of(stored.provider))
        for key, provider in providers.by_key.items():
            if providers.console_of(key) == console:
                lifecycle = provider.lifecycles[address.type]
                lifecycle.note_existing(stored.attributes, name)


def _update_from_answers(worker: StepWorker) -> None:
    """Keep the values of other resources that the answers to writes showed."""
    providers = worker.providers
    answers = {
        (providers.console_of(key), *identity): (provider, answer)
        for key, provider in providers.by_key.items()
        for identity, answer in provider.session.answers_about_others.items()
    }
    for item in read_prior(worker.state_session.state).values() if answers else ():
        identity = providers.identity_of(item)
        if identity not in answers:
            continue
        provider, answer = answers[identity]
        request = ReadRequest(item.stored_values, item.stored.private, item.address)
        outcome = provider.lifecycles[item.type_name].update_from_answer(request, answer)
        if (outcome.state, outcome.private) != (item.stored_values, item.stored.private):
            values = outcome.state or {}
            worker.keep_instance(
                item.address, item.stored._replace(attributes=values, private=outcome.private)
            )


async def _read_rerouted(worker: StepWorker, rerouted: Collection[Identity]) -> list[Diagnostic]:
    """Read rerouted hosts again, and keep their changes."""
    providers = worker.providers
    prior = read_prior(worker.state_session.state).values()
    hosts = [item for item in prior if providers.identity_of(item) in rerouted]
    refreshed = await providers.refresh(hosts)
    diagnostics: list[Diagnostic] = []
    for item in refreshed.values():
        if item.values is None or item.values == item.stored_values:
            continue
        worker.keep_instance(
            item.address, item.stored._replace(attributes=item.values, private=item.private)
        )
        names = [name for name in item.values if item.values[name] != item.stored_values[name]]
        changed = warning(
            f"{item.address} was rerouted by the console",
            f"Changed there: {', '.join(names)}. The next plan shows the difference.",
        )
        diagnostics.append(changed.about(item.address))
    return diagnostics


def _ignored_dry_run_errors(providers: Providers) -> list[Diagnostic]:
    """Return an error if a console ignored a dry run."""
    if not any(item.session.dry_runs.ignored for item in providers.opened):
        return []
    # The error is about the run and names no host: on a host it would taint the host.
    diagnostic = error(
        "The console imported what was sent as a dry run",
        "What it created is kept in state, and no further host was sent. A dry run does not "
        "protect imports on this console: ask its operator.",
    )
    return [diagnostic]
