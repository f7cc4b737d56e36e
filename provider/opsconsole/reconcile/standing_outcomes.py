"""Creates whose outcome stands as unknown in state: settled by every run that can settle them.

How one is settled is the lifecycle's affair. Of what it cannot settle, the user says which it was.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import ConsoleError, Stopped
from opsconsole.lifecycle.interface import CreateOutcome, Fate, LostCreate, NativeLifecycle
from opsconsole.lifecycle.memory import Memory
from opsconsole.lifecycle.sentinel import is_sentinel, may_still_arrive, said_of
from opsconsole.reconcile.declaration import Known
from opsconsole.reconcile.prior import read_prior
from opsconsole.reconcile.providers import Providers, key_of
from opsconsole.state import StateSession

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Standing:
    """An instance in state under an id that stands for "not known"."""

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
    groups: dict[tuple[str, str], list[Known]] = {}
    for item in read_prior(session.state).values():
        groups.setdefault((item.held.provider, item.type_name), []).append(item)
    told: list[Diagnostic] = []
    for (provider, type_name), items in sorted(groups.items()):
        group = [_Standing(item) for item in items if is_sentinel(item.before.get("id"))]
        existing = [item for item in items if not is_sentinel(item.before.get("id"))]
        if group:
            steps = providers.of(key_of(provider)).resources[type_name]
            for standing, found in await _found(steps, group, existing):
                told += _kept(session, standing, found)
    if told:
        session.record()
        await session.checkpoint()
    return told


async def _found(
    steps: NativeLifecycle, group: Sequence[_Standing], existing: Sequence[Known]
) -> list[tuple[_Standing, CreateOutcome]]:
    """Ask the console; where it cannot be asked, everything stays as it stands."""
    lost = [item.lost for item in group]
    try:
        fates = await steps.settle_creates(lost, [item.before for item in existing])
    except Stopped:
        raise
    except ConsoleError as problem:
        _log.warning("cannot settle what may have been created: %s", problem)
        return []
    return list(zip(group, fates, strict=True))


def _kept(session: StateSession, item: _Standing, found: CreateOutcome) -> list[Diagnostic]:
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
