"""Settles the writes of earlier runs (`lifecycle.writes` defines the words).

A crash leaves an open intent in the journal; a lost answer leaves a create in state under a
sentinel id. The lifecycle settles both. A create that it cannot settle is in state as a tainted
instance, and neither engine creates the object again until a later native run settles it or the
user states the outcome.

Reads settle deletes and updates. Objects that the interrupted run deleted leave the state before a
plan is made, so that the guard does not count them as lost. An update needs only the refresh at the
beginning of every plan.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import ConsoleError, Stopped, UserError
from opsconsole.lifecycle.interface import Outcome, ReadStatus, UnsettledCreate
from opsconsole.lifecycle.planning import fill_unknown
from opsconsole.lifecycle.private_state import PrivateState, new_sentinel
from opsconsole.lifecycle.writes import recall_create, unsettled_private
from opsconsole.reconcile.prior import Cascade, PriorInstance, read_all, unsettled_warning
from opsconsole.reconcile.providers import Providers, Watch, provider_key_of
from opsconsole.reconcile.stack import OpenedStack
from opsconsole.resources import RESOURCES
from opsconsole.state import InstanceObject, Intent, StateSession, instance_of, split_deposed
from opsconsole.text import plural
from opsconsole.values import UNKNOWN, Values

_log = logging.getLogger(__name__)


async def settle_earlier_writes(
    state_session: StateSession, providers: Providers
) -> list[Diagnostic]:
    """Settle the writes of earlier runs as far as possible; return diagnostics.

    Raises:
        UserError: The console cannot be asked, or the result cannot be made durable.
        Stopped: The run was told to stop.
    """
    diagnostics = await _settle_intents(state_session, providers)
    return diagnostics + await _settle_state(state_session, providers)


async def _settle_intents(state_session: StateSession, providers: Providers) -> list[Diagnostic]:
    intents = [intent for intent in state_session.open_intents if intent.id]
    if not intents:
        return []
    creates = [intent for intent in intents if intent.verb == "create"]
    others = [intent for intent in intents if intent.verb != "create"]
    diagnostics, settled = await _settle_writes(state_session, providers, others)
    # The list of intents is kept even if settling them is interrupted.
    unsettled = [
        _from_intent(intent)
        for intent in creates
        if intent.address not in state_session.state or _has_replaced_object(state_session, intent)
    ]
    for create, outcome in [
        pair async for pair in _ask_console(state_session, providers, unsettled)
    ]:
        diagnostics += _keep_settled(state_session, create, outcome)
    providers.check_stopped()
    # Until state is durable, only the list of open intents records their outcomes.
    await state_session.checkpoint()
    state_session.mark_settled(intent.id for intent in (*creates, *settled))
    return diagnostics


async def _settle_state(state_session: StateSession, providers: Providers) -> list[Diagnostic]:
    """Settle the creates that are in state under a sentinel id."""
    prior = read_all(state_session.state).values()
    creates = [_from_state(item) for item in prior if item.unsettled]
    diagnostics: list[Diagnostic] = []
    async for create, outcome in _ask_console(state_session, providers, creates):
        diagnostics += _keep_settled(state_session, create, outcome)
    if diagnostics:
        await state_session.checkpoint()
    return diagnostics


@dataclass(frozen=True, slots=True)
class _CreateToSettle:
    """A create to settle.

    Attributes:
        instance: The object to put into state, without its value.
        intent: The open intent; None if the create is in state under a sentinel id.
    """

    create: UnsettledCreate
    instance: InstanceObject
    intent: Intent | None

    @property
    def kind(self) -> tuple[str, str]:
        return self.instance.provider, instance_of(self.create.address).type


def _from_intent(intent: Intent) -> _CreateToSettle:
    details = intent.details
    planned, needed = details.get("planned"), details.get("dependencies")
    planned = dict(planned) if isinstance(planned, dict) else {}
    create = recall_create(planned, intent.address, details, intent.at)
    dependencies = tuple(map(str, needed)) if isinstance(needed, Iterable) else ()
    instance = InstanceObject(_provider(intent), {}, dependencies=dependencies)
    return _CreateToSettle(create, instance, intent)


def _from_state(item: PriorInstance) -> _CreateToSettle:
    facts = PrivateState.decode(item.stored.private).extra
    # No console knows a sentinel id.
    planned = {name: value for name, value in item.stored_values.items() if name != "id"}
    return _CreateToSettle(recall_create(planned, item.address, facts), item.stored, None)


def _provider(intent: Intent) -> str:
    return str(intent.details.get("provider", ""))


async def _ask_console(
    state_session: StateSession, providers: Providers, creates: Iterable[_CreateToSettle]
) -> AsyncIterator[tuple[_CreateToSettle, Outcome]]:
    """Settle creates, with one request for each provider and type; yield their outcomes.

    Raises:
        UserError: The console cannot be asked about an open intent.
    """
    groups: dict[tuple[str, str], list[_CreateToSettle]] = {}
    for item in creates:
        groups.setdefault(item.kind, []).append(item)
    # Two provider configurations may lead to one console: an object is found for one create only.
    found: dict[tuple[str, str], list[Values]] = {}
    for (provider, type_name), group in groups.items():
        lifecycle = providers.of(provider_key_of(provider)).lifecycles[type_name]
        existing = _list_existing(state_session, providers, provider, type_name)
        found_here = found.setdefault((lifecycle.session.settings.base_url, type_name), [])
        existing += found_here
        try:
            outcomes = await lifecycle.settle_creates([item.create for item in group], existing)
        except Stopped:
            # A stop is a ConsoleError too, and says nothing about the console.
            raise
        except ConsoleError as problem:
            # A create in state is not repeated. A create that is only in the journal would be.
            if group[0].intent is None:
                _log.warning("cannot settle what may have been created: %s", problem)
                continue
            raise UserError(
                "An earlier run may have created "
                f"{', '.join(item.create.address for item in group)}, "
                f"and the console cannot be asked: {problem.message}",
                problem.remedy or "Run again once it answers. Nothing was changed.",
            ) from problem
        found_here += (outcome.state for outcome in outcomes if outcome.state is not None)
        for pair in zip(group, outcomes, strict=True):
            yield pair


def _list_existing(
    state_session: StateSession, providers: Providers, provider: str, type_name: str
) -> list[Values]:
    """Return the objects of a type in state on a provider's console, the provider's own first."""
    console = providers.console_of(provider_key_of(provider))
    existing = [
        item
        for item in read_all(state_session.state).values()
        if item.type_name == type_name
        and not item.unsettled
        and providers.console_holding(item) == console
    ]
    existing.sort(key=lambda item: item.stored.provider != provider)
    return [item.stored_values for item in existing]


def _has_replaced_object(state_session: StateSession, intent: Intent) -> bool:
    """Return whether state still holds the object that a create was to replace."""
    stored = state_session.state.get(intent.address)
    replaced = intent.details.get("instead_of")
    return stored is not None and replaced is not None and stored.attributes.get("id") == replaced


def _keep_settled(
    state_session: StateSession, item: _CreateToSettle, outcome: Outcome
) -> list[Diagnostic]:
    """Put the outcome of a create into state; return diagnostics."""
    create, intent = item.create, item.intent
    address = create.address
    run = "an earlier run" if intent is None else "the run that was interrupted"
    never_created = outcome.state is None and not outcome.unsettled
    # For an open intent, "never created" counts at once, even if its create may still arrive: the
    # dry run before the next import shows a host that has arrived by then. An agent has no such
    # guard, so its lifecycle leaves it unsettled while it may arrive. A sentinel id waits.
    if never_created and not (intent is None and create.may_arrive):
        why = "The console was asked and does not show it."
        if intent is None:
            state_session.state.remove(*split_deposed(address))
            if create.dry_run_status:
                why = "A dry run of the same row shows that the console does not have it."
        return [warning(f"{address} was not created by {run}", why)]
    diagnostics: list[Diagnostic] = []
    if outcome.state is not None:
        instance = item.instance._replace(
            attributes=outcome.state, private=outcome.private, tainted=False
        )
        where = f"It is {outcome.state['id']}, and in state from now on."
        diagnostics = [warning(f"{address} was created by {run}", where), *outcome.diagnostics]
    elif intent is None:
        # State holds it already.
        return []
    else:
        planned = {a.name: create.planned.get(a.name, UNKNOWN) for a in RESOURCES[item.kind[1]]}
        state = fill_unknown(planned, {"id": new_sentinel(intent.id)})
        private = unsettled_private(create.dry_run_status, intent.at)
        instance = item.instance._replace(attributes=state, private=private, tainted=True)
    if intent is not None and _has_replaced_object(state_session, intent):
        # The old object still exists. It is put aside, and a later run deletes it.
        state_session.state.depose(address)
    own, deposed = split_deposed(address)
    state_session.state.put(own, instance, deposed)
    return diagnostics


async def _settle_writes(
    state_session: StateSession, providers: Providers, intents: Sequence[Intent]
) -> tuple[list[Diagnostic], list[Intent]]:
    """Settle deletes and updates; return diagnostics and the settled intents.

    Deleted objects leave the state.

    Raises:
        Stopped: The run was told to stop.
    """
    instances = read_all(state_session.state)
    identities = {item.address: providers.identity_of(item) for item in instances.values()}
    # By the object: after a replacement, the intent's address may hold the new object.
    by_identity = {identity: address for address, identity in identities.items()}
    deletes: dict[str, Intent] = {}
    for intent in intents:
        console = providers.console_of(provider_key_of(_provider(intent)))
        identity = console, instance_of(intent.address).type, str(intent.details.get("id"))
        if intent.verb == "delete" and identity in by_identity:
            deletes[by_identity[identity]] = intent
    leaving = [instances[address] for address in deletes]
    # A deletion that took place has archived the owned objects, too.
    deleted_by = Cascade(leaving, instances.values(), providers.console_holding).deleted_by
    refreshed = await providers.refresh(
        [item for item in instances.values() if identities[item.address] in deleted_by]
    )
    providers.check_stopped()
    gone = [address for address, item in refreshed.items() if item.values is None]
    for address in gone:
        state_session.state.remove(*split_deposed(address))
    unread = {
        address: read.why_unchecked
        for address, item in refreshed.items()
        if address in deletes and (read := item.read) and read.status is ReadStatus.UNCHECKED
    }
    # The intents for unread objects stay in the list, for a later run.
    open_ids = {deletes[address].id for address in unread}
    settled = [intent for intent in intents if intent.id not in open_ids]
    deleted = [address for address in gone if address in deletes]
    along = len(gone) - len(deleted)
    diagnostics: list[Diagnostic] = []
    if along and not deleted:
        summary = (
            f"{plural(along, 'resource')} left the state with what the interrupted run deleted"
        )
        diagnostics.append(warning(summary, "The console does not have them any more."))
    beside = f", and {along:,} that went with them" if along else ""
    diagnostics += _write_warnings(
        "The interrupted run deleted {} and did not learn the outcome",
        deleted,
        f"The console does not have them any more: they left the state{beside}.",
    )
    diagnostics += _write_warnings(
        "The interrupted run has not deleted {} so far",
        [address for address in deletes if address not in unread and address not in gone],
        "Their deletion was sent or about to be; the console still has them:",
    )
    diagnostics += _write_warnings(
        "It is not known whether the interrupted run deleted {}",
        unread,
        f"They cannot be read ({next(iter(unread.values()), '')}), so they stay in state:",
    )
    diagnostics += _write_warnings(
        "The interrupted run did not learn the outcome of {}",
        [intent.address for intent in intents if intent.verb == "update"],
        "Reading these resources shows what was changed:",
        noun="update",
    )
    return diagnostics, settled


def _write_warnings(
    summary: str, addresses: Collection[str], detail: str, noun: str = "resource"
) -> Iterator[Diagnostic]:
    """Yield a warning about writes, if there are any; `{}` in the summary is their number."""
    if addresses:
        listed = "\n".join([detail, *(f"  {address}" for address in sorted(addresses))])
        yield warning(summary.format(plural(len(addresses), noun)), listed)


async def settle_without_plan(stack: OpenedStack, watch: Watch) -> list[Diagnostic]:
    """Settle the writes of earlier runs without a plan; return diagnostics.

    Raises:
        UserError: The console cannot be asked, or the result cannot be made durable.
        Stopped: The run was told to stop.
    """
    async with stack.providers() as providers:
        watch(providers)
        diagnostics = await settle_earlier_writes(stack.state_session, providers)
    prior = read_all(stack.state).values()
    return [*diagnostics, *(unsettled_warning(item.address) for item in prior if item.unsettled)]
