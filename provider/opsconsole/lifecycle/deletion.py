"""Deletions whose answer does not settle them are settled by one read of the object.

A deletion may have taken place though its answer was lost. A 404 may mean that the object is
gone, or that this key may read it and not delete it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import ConsoleError, NotFound
from opsconsole.lifecycle.answers import confirm_deleted
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.gone import BY_404, must_stay
from opsconsole.lifecycle.interface import DeleteRequest, Outcome
from opsconsole.values import Attributes

IsThere = Callable[[], Awaitable[bool]]
"""Reads the object once; raises NotFound where it is gone, and another ConsoleError where the read
fails."""


def is_abandoned(values: Attributes) -> bool:
    """Return whether a removal leaves the object on the console (`deletion_policy`)."""
    return values.get("deletion_policy") == "abandon"


def abandoned(name: str, remains: str = "it stays on the console") -> Diagnostic:
    """Say that an abandoned object leaves management; `remains` says what it goes on doing."""
    return warning(
        f"The {name} leaves management; {remains}",
        'Its deletion_policy is "abandon".',
    )


@dataclass(frozen=True, slots=True)
class EndedDeletion:
    """How a deletion ended; `there` is None where it is not known whether the object is there."""

    outcome: Outcome
    there: bool | None


async def delete_once(
    steps: BaseLifecycle,
    request: DeleteRequest,
    send: Callable[[], Awaitable[Mapping[str, Any]]],
    is_there: IsThere,
) -> EndedDeletion:
    """Delete one object; return how that ended, also where its answer does not settle it."""
    try:
        answer = await send()
    except ConsoleError as problem:
        return await settle_deletion(steps, request, problem, is_there)
    except Exception as problem:
        return EndedDeletion(steps.failed("delete", request, problem), there=True)
    name = steps.name(request.prior)
    try:
        confirm_deleted(steps.definition, name, answer)
    except ConsoleError as problem:
        return EndedDeletion(steps.failed("delete", request, problem), there=None)
    return EndedDeletion(_rerouting(name, answer), there=False)


def _rerouting(name: str, answer: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a deletion; only a host's reroutes other hosts (Delete results)."""
    named = answer.get("rerouted_hosts")
    ids = named if isinstance(named, list) else ()
    rerouted = tuple(item for item in ids if isinstance(item, str))
    if not rerouted:
        return Outcome(None)
    diagnostic = warning(
        f"Deleting the {name} rerouted other hosts",
        f"The console names {', '.join(rerouted)}. What that changed is seen when they are "
        "read again.",
    )
    return Outcome(None, diagnostics=(diagnostic,), rerouted=rerouted)


async def settle_deletion(
    steps: BaseLifecycle,
    request: DeleteRequest,
    problem: ConsoleError,
    is_there: IsThere,
) -> EndedDeletion:
    """Return how a deletion ended that was answered with `problem`.

    What answers 404 and cannot be read stays in state where `on_missing` says so.
    """
    prior = request.prior
    name = steps.name(prior, request.address)
    failed = steps.failed("delete", request, problem)
    if problem.safe_to_repeat and not isinstance(problem, NotFound):
        return EndedDeletion(failed, there=True)
    there = await _read(is_there)
    if there is False:
        return EndedDeletion(Outcome(None), there=False)
    if there and not problem.safe_to_repeat:
        diagnostic = _perhaps_under_way(name, problem)
        return EndedDeletion(replace(failed, diagnostics=(diagnostic,), uncertain=False), None)
    if not isinstance(problem, NotFound):
        return EndedDeletion(replace(failed, uncertain=there is None), there)
    if there:
        diagnostic = _not_deletable(name, problem)
    else:
        summary = f"The {name} was deleted already, or is not visible to this key"
        kept = must_stay(steps, summary, BY_404, problem.cause)
        if kept is None:
            return EndedDeletion(Outcome(None, diagnostics=(_not_visible(summary),)), there=False)
        diagnostic = kept
    return EndedDeletion(Outcome(prior, request.private, (diagnostic,)), there)


async def _read(is_there: IsThere) -> bool | None:
    try:
        return await is_there()
    except NotFound:
        return False
    except ConsoleError:
        return None


def _perhaps_under_way(name: str, problem: ConsoleError) -> Diagnostic:
    return error(
        f"Nobody knows whether the {name} is being deleted",
        "Its deletion was sent, the console's answer does not say whether it was deleted, and a "
        "read right after still shows it. It stays in state. Plan again later: the plan shows "
        "whether it is gone.",
        cause=problem.cause,
    )


def _not_deletable(name: str, problem: NotFound) -> Diagnostic:
    return error(
        f"The {name} is still there, though its deletion was answered with 404",
        "A read right after it shows it: this key may read it and not delete it. Nothing was "
        "deleted.",
        cause=problem.cause,
    )


def _not_visible(summary: str) -> Diagnostic:
    return warning(
        summary,
        "The console answers 404 in either case, and it cannot be read. It is removed from state.",
    )
