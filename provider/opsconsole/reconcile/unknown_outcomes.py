"""Writes whose outcome a crash left unknown: settled where they can be.

A create that cannot be settled stands in state as a tainted instance under an id that means "not
known", so that neither engine creates it a second time until the user says which it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import ConsoleError, Stopped, UserError
from opsconsole.lifecycle.interface import CreateOutcome, Fate, LostCreate, Outcome
from opsconsole.lifecycle.memory import Memory
from opsconsole.lifecycle.planning import settle
from opsconsole.lifecycle.sentinel import is_sentinel, new_sentinel, sent_now
from opsconsole.reconcile.prior import read_prior
from opsconsole.reconcile.providers import Providers, key_of
from opsconsole.reconcile.unknown_writes import settle_writes, verb_of
from opsconsole.resources import RESOURCES
from opsconsole.state import Address, InstanceObject, Intent, StateSession
from opsconsole.values import UNKNOWN, Attributes


async def settle_unknown(session: StateSession, providers: Providers) -> list[Diagnostic]:
    """Settle what can be settled of the calls that earlier runs left; return what the user is told.

    State is durable before a call is struck off the list.

    Raises:
        UserError: The console cannot be asked, or what was found cannot be made durable.
        Stopped: The run was told to stop.
    """
    calls = [call for call in session.unresolved if call.id]
    if not calls:
        return []
    creates = [call for call in calls if verb_of(call) == "create"]
    others = [call for call in calls if verb_of(call) != "create"]
    told, settled = await settle_writes(session, providers, others)
    settling = _Settling(session, told)
    open_calls = [call for call in creates if settling.is_open(call)]
    for call, found in await _settled(session, providers, open_calls):
        settling.keep(call, found)
    providers.check_stopped()
    session.record()
    await session.checkpoint()
    session.resolve(call.id for call in (*creates, *settled))
    return settling.told


def _type_name(call: Intent) -> str:
    return Address.parse(call.address).type


async def _settled(
    session: StateSession, providers: Providers, calls: Sequence[Intent]
) -> list[tuple[Intent, CreateOutcome]]:
    """Ask the console what became of creations, all of one provider and type at once."""
    groups: dict[tuple[str, str], list[Intent]] = {}
    for call in calls:
        groups.setdefault((_provider(call), _type_name(call)), []).append(call)
    found: list[tuple[Intent, CreateOutcome]] = []
    for (provider, type_name), group in groups.items():
        steps = providers.of(key_of(provider)).resources[type_name]
        lost = [LostCreate(_planned(call), call.address, _said(call)) for call in group]
        existing = [
            item.before
            for item in read_prior(session.state).values()
            if (item.held.provider, item.type_name) == (provider, type_name)
            and not is_sentinel(item.before.get("id"))
        ]
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


def _provider(call: Intent) -> str:
    return str(call.details.get("provider", ""))


def _planned(call: Intent) -> Attributes:
    planned = call.details.get("planned")
    return dict(planned) if isinstance(planned, dict) else {}


def _said(call: Intent) -> str:
    return str(call.details.get("dry_run_said", ""))


@dataclass
class _Settling:
    """Puts what was found into the state of a session, and says so."""

    session: StateSession
    told: list[Diagnostic] = field(default_factory=list)

    def is_open(self, call: Intent) -> bool:
        """Tell whether state says nothing yet of what a call created.

        The list of calls outlives their settling if that is interrupted, too.
        """
        held = self.session.state.get(call.address)
        return held is None or self._stands_aside(call)

    def _stands_aside(self, call: Intent) -> bool:
        """Tell whether state still holds what a call was to create a substitute for."""
        held = self.session.state.get(call.address)
        replaced = call.details.get("instead_of")
        return held is not None and replaced is not None and held.attributes.get("id") == replaced

    def keep(self, call: Intent, found: CreateOutcome) -> None:
        """Put the fate of a call into state."""
        address = call.address
        if found.fate is Fate.NEVER:
            self.told.append(
                warning(
                    f"{address} was not created by the run that was interrupted",
                    "The console was asked and does not show it.",
                )
            )
            return
        if found.outcome is not None and found.outcome.state is not None:
            self._put(call, found.outcome)
            self.told.append(
                warning(
                    f"{address} was created by the run that was interrupted",
                    f"It is {found.outcome.state['id']}, and in state from now on.",
                )
            )
            self.told += found.outcome.diagnostics
            return
        definition = RESOURCES[_type_name(call)]
        unknown = {a.name: UNKNOWN for a in definition if a.name not in _planned(call)}
        state = settle(definition, _planned(call) | unknown, {"id": new_sentinel()})
        private = Memory(extra=sent_now(_said(call))).encode()
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
