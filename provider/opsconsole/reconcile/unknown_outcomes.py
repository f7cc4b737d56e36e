"""Creates whose outcome is not known: settled by every run that can settle them.

A crash leaves one in the journal, a lost answer leaves one in state. How one is settled is the
lifecycle's affair. What it cannot settle is in state as a tainted instance under an id that
means "not known", so that neither engine creates it again until the user says which it was.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import ConsoleError, Stopped, UserError
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import CreateOutcome, LostCreate, Outcome, SettledCreate
from opsconsole.lifecycle.planning import settle
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.lifecycle.sentinel import (
    dry_run_status_of,
    is_sentinel,
    may_still_arrive,
    new_sentinel,
    remedy,
    sent_now,
    was_noted_lately,
    was_sent_lately,
)
from opsconsole.reconcile.declaration import PriorInstance, instance_of
from opsconsole.reconcile.prior import read_prior
from opsconsole.reconcile.providers import Providers, key_of
from opsconsole.reconcile.unknown_writes import settle_writes, verb_of
from opsconsole.resources import RESOURCES
from opsconsole.state import Address, InstanceObject, Intent, StateSession
from opsconsole.values import UNKNOWN, Attributes


async def settle_unknown(session: StateSession, providers: Providers) -> list[Diagnostic]:
    """Settle what can be settled of the unknown outcomes of earlier runs; return diagnostics.

    Raises:
        UserError: The console cannot be asked, or what was found cannot be made durable.
        Stopped: The run was told to stop.
    """
    diagnostics = await _settle_calls(session, providers)
    return diagnostics + await _settle_sentinels(session, providers)


async def _settle_calls(session: StateSession, providers: Providers) -> list[Diagnostic]:
    """Settle calls that earlier runs left; state is durable before a call leaves the list."""
    calls = [call for call in session.unresolved if call.id]
    if not calls:
        return []
    creates = [call for call in calls if verb_of(call) == "create"]
    others = [call for call in calls if verb_of(call) != "create"]
    diagnostics, settled = await settle_writes(session, providers, others)
    settling = _Settling(session, diagnostics)
    open_calls = [call for call in creates if settling.is_open(call)]
    for call, found in await _settled(session, providers, open_calls):
        settling.keep(call, found)
    providers.check_stopped()
    session.record()
    await session.checkpoint()
    session.resolve(call.id for call in (*creates, *settled))
    return settling.diagnostics


def _type_name(call: Intent) -> str:
    return Address.parse(call.address).type


async def _settled(
    session: StateSession, providers: Providers, calls: Sequence[Intent]
) -> list[tuple[Intent, SettledCreate]]:
    """Ask the console what became of creations, all of one provider and type at once."""
    groups: dict[tuple[str, str], list[Intent]] = {}
    for call in calls:
        groups.setdefault((_provider(call), _type_name(call)), []).append(call)
    found: list[tuple[Intent, SettledCreate]] = []
    for (provider, type_name), group in groups.items():
        steps = providers.of(key_of(provider)).resources[type_name]
        lost = [
            LostCreate(
                _planned(call), call.address, _dry_run_status(call), was_sent_lately(call.at)
            )
            for call in group
        ]
        existing = _existing(session, providers, provider, type_name)
        try:
            outcomes = await steps.settle_creates(lost, existing)
        except Stopped:
            raise
        except ConsoleError as problem:
            raise UserError(
                f"An earlier run may have created {', '.join(call.address for call in group)}, "
                f"and the console cannot be asked: {problem.message}",
                problem.remedy or "Run again once it answers. Nothing was changed.",
            ) from problem
        found += zip(group, outcomes, strict=True)
    return found


def _existing(
    session: StateSession, providers: Providers, provider: str, type_name: str
) -> list[Attributes]:
    """Return what state holds of a type on the console of a provider, its own before others'."""
    console = providers.console_of(key_of(provider))
    found = [
        item
        for item in read_prior(session.state).values()
        if item.type_name == type_name
        and not is_sentinel(item.before.get("id"))
        and providers.console_holding(item) == console
    ]
    return [item.before for item in sorted(found, key=lambda item: item.held.provider != provider)]


def _provider(call: Intent) -> str:
    return str(call.details.get("provider", ""))


def _planned(call: Intent) -> Attributes:
    planned = call.details.get("planned")
    return dict(planned) if isinstance(planned, dict) else {}


def _dry_run_status(call: Intent) -> str:
    return str(call.details.get("dry_run_said", ""))


@dataclass
class _Settling:
    """Puts what was found into the state of a session, and says so."""

    session: StateSession
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def is_open(self, call: Intent) -> bool:
        """Return whether state says nothing yet of what a call created.

        The list of calls outlives their settling if that is interrupted, too.
        """
        held = self.session.state.get(call.address)
        return held is None or self._stands_aside(call)

    def _stands_aside(self, call: Intent) -> bool:
        """Return whether state still holds what a call was to create a substitute for."""
        held = self.session.state.get(call.address)
        replaced = call.details.get("instead_of")
        return held is not None and replaced is not None and held.attributes.get("id") == replaced

    def keep(self, call: Intent, found: SettledCreate) -> None:
        """Put what became of a call into state."""
        address = call.address
        if found.result is CreateOutcome.NEVER:
            self.diagnostics.append(
                warning(
                    f"{address} was not created by the run that was interrupted",
                    "The console was asked and does not show it.",
                )
            )
            return
        if found.outcome is not None and found.outcome.state is not None:
            self._put(call, found.outcome)
            self.diagnostics.append(
                warning(
                    f"{address} was created by the run that was interrupted",
                    f"It is {found.outcome.state['id']}, and in state from now on.",
                )
            )
            self.diagnostics += found.outcome.diagnostics
            return
        definition = RESOURCES[_type_name(call)]
        unknown = {a.name: UNKNOWN for a in definition if a.name not in _planned(call)}
        state = settle(definition, _planned(call) | unknown, {"id": new_sentinel()})
        private = PrivateState(extra=sent_now(_dry_run_status(call))).encode()
        self._put(call, Outcome(state, private), tainted=True)

    def _put(self, call: Intent, outcome: Outcome, *, tainted: bool = False) -> None:
        state = self.session.state
        if self._stands_aside(call):
            state.depose(call.address)
        assert outcome.state is not None
        state.put(
            call.address,
            InstanceObject(
                provider=_provider(call),
                attributes=outcome.state,
                private=outcome.private,
                dependencies=_texts(call.details.get("dependencies")),
                tainted=tainted,
            ),
        )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, Iterable) else ()


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _LostInState:
    """An instance in state under an id that stands for "not known"."""

    known: PriorInstance

    @property
    def lost(self) -> LostCreate:
        """The create, as the console can settle it."""
        before = {name: value for name, value in self.known.before.items() if name != "id"}
        remembered = self._remembered
        return LostCreate(
            before, self.known.address, dry_run_status_of(remembered), was_noted_lately(remembered)
        )

    @property
    def may_still_arrive(self) -> bool:
        """Whether the create may yet take effect."""
        return may_still_arrive(self._remembered)

    @property
    def _remembered(self) -> dict[str, object]:
        return dict(PrivateState.decode(self.known.held.private).extra)


async def _settle_sentinels(session: StateSession, providers: Providers) -> list[Diagnostic]:
    """Settle what state holds under an id that stands for "not known"."""
    groups: dict[tuple[str, str], list[PriorInstance]] = {}
    for item in read_prior(session.state).values():
        groups.setdefault((item.held.provider, item.type_name), []).append(item)
    diagnostics: list[Diagnostic] = []
    for (provider, type_name), items in sorted(groups.items()):
        group = [_LostInState(item) for item in items if is_sentinel(item.before.get("id"))]
        if group:
            steps = providers.of(key_of(provider)).resources[type_name]
            existing = _existing(session, providers, provider, type_name)
            for lost, found in await _found(steps, group, existing):
                diagnostics += _kept(session, lost, found)
    if diagnostics:
        session.record()
        await session.checkpoint()
    return diagnostics


async def _found(
    steps: BaseLifecycle, group: Sequence[_LostInState], existing: Sequence[Attributes]
) -> list[tuple[_LostInState, SettledCreate]]:
    """Ask the console; where it cannot be asked, everything stays as it stands."""
    lost = [item.lost for item in group]
    try:
        results = await steps.settle_creates(lost, existing)
    except Stopped:
        raise
    except ConsoleError as problem:
        _log.warning("cannot settle what may have been created: %s", problem)
        return []
    return list(zip(group, results, strict=True))


def _kept(session: StateSession, item: _LostInState, found: SettledCreate) -> list[Diagnostic]:
    """Put what was found into state, and say so."""
    address = item.known.address
    outcome = found.outcome
    if outcome is not None and outcome.state is not None:
        held = replace(
            item.known.held,
            attributes=outcome.state,
            private=outcome.private,
            tainted=False,
        )
        session.state.put(address, held)
        return [
            warning(
                f"{address} was created by an earlier run",
                f"It is {outcome.state['id']}, and in state from now on.",
            ),
            *outcome.diagnostics,
        ]
    if found.result is CreateOutcome.NEVER and not item.may_still_arrive:
        session.state.remove(address)
        return [
            warning(
                f"{address} was not created by an earlier run",
                "The console was asked by a dry run and does not know it.",
            )
        ]
    return []


def unsettled_warnings(known: Iterable[PriorInstance]) -> list[tuple[str, Diagnostic]]:
    """Say of each instance whose creation is not settled how the user settles it."""
    return [
        (
            item.address,
            warning(
                f"Nobody knows whether {item.address} was created",
                "An earlier run ended before it knew; no apply is complete until this is settled. "
                + _way_out(item.address),
            ),
        )
        for item in known
        if is_sentinel(item.before.get("id"))
    ]


def still_unknown(addresses: Sequence[str]) -> list[tuple[str, Diagnostic]]:
    """Say of each creation whose outcome stays unknown that an apply is not complete beside it."""
    return [
        (
            address,
            error(
                f"Nobody knows whether {address} was created",
                "An earlier run ended before it knew; nothing was done with it. "
                + _way_out(address),
            ),
        )
        for address in addresses
    ]


def _way_out(address: str) -> str:
    definition = RESOURCES[instance_of(address).type]
    return remedy(definition.import_id.split(" or ")[0], address, "opsconsole")
