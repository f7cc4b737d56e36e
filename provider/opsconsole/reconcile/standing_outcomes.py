"""Creates whose outcome stands as unknown in state: settled by every run that can settle them.

A host is settled by a dry run whose answer carries its id. Nothing else can be told under the
documented operations; the user says which it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import ConsoleError, Stopped
from opsconsole.lifecycle.host import HostLifecycle
from opsconsole.lifecycle.host_settling import Fate, Found, LostCreate
from opsconsole.lifecycle.memory import Memory
from opsconsole.lifecycle.sentinel import is_sentinel, may_still_arrive, said_of
from opsconsole.reconcile.declaration import Known
from opsconsole.reconcile.prior import read_prior
from opsconsole.reconcile.providers import Providers, key_of
from opsconsole.resources import HOST
from opsconsole.state.writer import StateSession


@dataclass(frozen=True, slots=True)
class _Standing:
    """A host in state under an id that stands for "not known"."""

    known: Known

    @property
    def lost(self) -> LostCreate:
        """The create, as a dry run can settle it."""
        before = {name: value for name, value in self.known.before.items() if name != "id"}
        return LostCreate(before, self.known.address, said_of(self._remembered))

    @property
    def may_still_arrive(self) -> bool:
        """Whether the create may yet take effect."""
        return may_still_arrive(self._remembered)

    @property
    def _remembered(self) -> dict[str, object]:
        return dict(Memory.decode(self.known.held.private).extra)


async def settle_standing(session: StateSession, providers: Providers) -> list[Diagnostic]:
    """Settle what can be settled of the unknown outcomes in state; return what the user is told.

    Raises:
        UserError: What was found cannot be made durable.
        Stopped: The run was told to stop.
    """
    hosts = [
        item for item in read_prior(session.state).values() if item.type_name == HOST.type_name
    ]
    standing = [_Standing(item) for item in hosts if is_sentinel(item.before.get("id"))]
    existing = [item for item in hosts if not is_sentinel(item.before.get("id"))]
    told: list[Diagnostic] = []
    for provider in sorted({item.known.held.provider for item in standing}):
        group = [item for item in standing if item.known.held.provider == provider]
        witnesses = [item for item in existing if item.held.provider == provider]
        for item, found in await _found(providers, provider, group, witnesses):
            told += _kept(session, item, found)
    if told:
        session.record()
        await session.checkpoint()
    return told


async def _found(
    providers: Providers, provider: str, group: Sequence[_Standing], witnesses: Sequence[Known]
) -> list[tuple[_Standing, Found]]:
    """Ask the console; where it cannot be asked, everything stays as it stands."""
    steps = providers.of(key_of(provider)).resources[HOST.type_name]
    assert isinstance(steps, HostLifecycle)
    lost = [item.lost for item in group]
    try:
        fates = await steps.find_lost(lost, [item.before for item in witnesses])
    except Stopped:
        raise
    except ConsoleError as problem:
        steps.log(problem, "settle what may have been created")
        return []
    return list(zip(group, fates, strict=True))


def _kept(session: StateSession, item: _Standing, found: Found) -> list[Diagnostic]:
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
    if found.fate is Fate.NEVER and not item.may_still_arrive:
        session.state.remove(address)
        return [
            warning(
                f"{address} was not created by an earlier run",
                "The console was asked by a dry run and does not know it.",
            )
        ]
    return []


def still_unknown(addresses: Sequence[str]) -> list[tuple[str, Diagnostic]]:
    """Say of each creation whose outcome stays unknown that an apply is not complete beside it."""
    return [
        (
            address,
            error(
                f"Nobody knows whether {address} was created",
                "An earlier run ended before it knew; nothing was done with it. Look it up in the "
                f"console. If it was never created: `opsconsole state rm '{address}'`, and apply "
                f"again. If it was: `opsconsole import '{address}' ID`.",
            ),
        )
        for address in addresses
    ]
