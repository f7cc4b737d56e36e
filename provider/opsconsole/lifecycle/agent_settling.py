"""Settling creations of agents whose outcome a crash left unknown, by a list of all agents.

The document shows no such list: only where `agent_list` is named, there is anything to ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from opsconsole.lifecycle.created import mismatch
from opsconsole.lifecycle.interface import CreateOutcome, LostCreate
from opsconsole.resources import AGENT
from opsconsole.v1.console import Listing
from opsconsole.values import Attributes

Found = tuple[CreateOutcome, Mapping[str, Any] | None]
_UNKNOWN: Found = (CreateOutcome.UNKNOWN, None)


def settle_by_list(
    listing: Listing, lost: Sequence[LostCreate], existing: Sequence[Attributes]
) -> list[Found]:
    """Return what became of each creation, in order, with the agent where it was created.

    One agent that is in no state, and of which nothing is shown that contradicts what was sent, is
    the one. None of a whole list shows that it was never created, once it cannot come any more:
    nothing keeps the console from creating a second agent of the same name.

    Args:
        existing: The agents that are in state.
    """
    held = {item.get("id") for item in existing}
    free = [
        entry
        for entry in listing.entries
        if entry.get("id") not in held and entry.get("status") != "archived"
    ]
    possible = [_possible(item, free) for item in lost]
    claims = Counter(str(entry.get("id")) for entries in possible for entry in entries)
    return [
        _judged(item, entries, claims, complete=listing.complete)
        for item, entries in zip(lost, possible, strict=True)
    ]


def _possible(item: LostCreate, free: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [entry for entry in free if mismatch(AGENT, item.planned, entry) is None]


def _judged(
    item: LostCreate,
    entries: Sequence[Mapping[str, Any]],
    claims: Mapping[str, int],
    *,
    complete: bool,
) -> Found:
    if not isinstance(item.planned.get("host_id"), str):
        return _UNKNOWN
    if not entries:
        is_proof = complete and not item.may_arrive
        return (CreateOutcome.NEVER, None) if is_proof else _UNKNOWN
    [first, *others] = entries
    certain = all(first.get(name) == item.planned.get(name) for name in ("host_id", "specialty_id"))
    if others or not certain or claims[str(first.get("id"))] > 1:
        return _UNKNOWN
    return CreateOutcome.CREATED, first
