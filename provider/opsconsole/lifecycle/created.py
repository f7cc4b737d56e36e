"""Keeps what a create made, even where its answer cannot be read.

An error would leave it out of state, or taint it: either way the next apply makes a second one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from opsconsole.diagnostics import warning
from opsconsole.errors import ConsoleError, UnexpectedAnswer
from opsconsole.lifecycle.answers import PrivateState, mismatch
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    CreateOutcome,
    CreateRequest,
    LostCreate,
    Outcome,
    SettledCreate,
    fill_unknown,
)
from opsconsole.lifecycle.translate import diagnose
from opsconsole.resources import AGENT
from opsconsole.v1.console import Listing
from opsconsole.values import Attributes

Answer = Mapping[str, Any]


async def create_once(
    steps: BaseLifecycle,
    request: CreateRequest,
    body: dict[str, Any],
    send: Callable[[dict[str, Any]], Awaitable[Answer]],
    outcome_of: Callable[[Answer], Outcome],
    judge: Callable[[Answer], UnexpectedAnswer | None] = lambda answer: None,
) -> Outcome:
    """Send a create once; return its outcome, also where no answer settles whether it took place.

    Args:
        send: Sends `body`; its answer has an `id`.
        outcome_of: Makes the outcome of the answer; may raise.
        judge: Returns why an answer is not the answer to `body`, beside what the answer shows.

    Raises:
        OpsconsoleError: nothing was created.
    """
    await steps.session.before_write("create", [request])
    try:
        answer = await send(body)
    except ConsoleError as problem:
        if problem.safe_to_repeat:
            raise
        return steps.lost(request, problem)
    if other := judge(answer) or mismatch(steps.definition, body, answer):
        return steps.lost(request, other)
    return _kept(steps, request, answer, outcome_of)


def _kept(
    steps: BaseLifecycle,
    request: CreateRequest,
    answer: Answer,
    outcome_of: Callable[[Answer], Outcome],
) -> Outcome:
    """Return the outcome of a create by its answer, or by the answer's id where that fails."""
    try:
        return outcome_of(answer)
    except Exception as problem:
        state = fill_unknown(steps.definition, request.planned, {"id": answer["id"]})
        name = steps.name(state, request.address)
        why = diagnose(problem, "read the answer")[0]
        diagnostic = warning(
            f"The {name} was created, but the console's answer cannot be read",
            f"State holds what was declared; a later refresh shows the rest. {why.detail}".strip(),
            cause=why.cause,
        )
        private = PrivateState().having_declared(request.config, ()).encode()
        return Outcome(state, private, (diagnostic,))


def settle_by_list(
    listing: Listing,
    lost: Sequence[LostCreate],
    existing: Sequence[Attributes],
    taken: Callable[[LostCreate, Answer], Outcome],
) -> list[SettledCreate]:
    """Return the outcome of each creation of an agent, in order.

    The document shows no list of all agents: only where `agent_list` is named, there is one.

    One agent that is in no state, and of which nothing is shown that contradicts what was sent, is
    the one. None of a whole list shows that it was never created, once it cannot come any more:
    nothing keeps the console from creating a second agent of the same name.

    Args:
        existing: The agents that are in state.
        taken: Makes the outcome of a creation of the agent that was found.
    """
    held = {item.get("id") for item in existing}
    free = [
        entry
        for entry in listing.entries
        if entry.get("id") not in held and entry.get("status") != "archived"
    ]
    possible = [
        [entry for entry in free if mismatch(AGENT, item.planned, entry) is None] for item in lost
    ]
    claims = Counter(str(entry.get("id")) for entries in possible for entry in entries)
    found: list[SettledCreate] = []
    for item, entries in zip(lost, possible, strict=True):
        if _is_certain(item, entries) and claims[str(entries[0].get("id"))] == 1:
            outcome = taken(item, entries[0])
            found.append(SettledCreate(CreateOutcome.CREATED, outcome))
            continue
        can_tell = isinstance(item.planned.get("host_id"), str) and listing.complete
        never = can_tell and not entries and not item.may_arrive
        found.append(SettledCreate(CreateOutcome.NEVER if never else CreateOutcome.UNKNOWN))
    return found


def _is_certain(item: LostCreate, entries: Sequence[Answer]) -> bool:
    """Return whether there is one agent, and it shows the host and specialty that were sent."""
    if len(entries) != 1 or not isinstance(item.planned.get("host_id"), str):
        return False
    return all(entries[0].get(n) == item.planned.get(n) for n in ("host_id", "specialty_id"))
