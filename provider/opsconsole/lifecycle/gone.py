"""Objects that leave: those in state that the console does not show, and those that are deleted.

A list that may not be whole proves presence, never absence: what it lacks is unchecked.

A deletion may have taken place though its answer was lost. A 404 may mean that the object is
gone, or that this key may read it and not delete it. One read of the object settles both.

What can only be adopted may be found gone by the very run that plans it. Terraform makes a plan
like any other before it destroys, and asks there for the creation of what its refresh has just
found gone. An error would forbid every destroy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, Severity, error, warning
from opsconsole.errors import ApiError, Cause, ConsoleError, Forbidden, NotFound
from opsconsole.lifecycle.answers import confirm_deleted
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    NOT_PERMITTED,
    DeleteRequest,
    Outcome,
    PlanOutcome,
    ReadRequest,
    Seen,
)
from opsconsole.lifecycle.session import Session
from opsconsole.resources import RESOURCES, owners_above
from opsconsole.v1.console import Listing
from opsconsole.values import UNKNOWN, Attributes

_WAY_OUT = (
    "\nTo destroy everything although this is gone already, run "
    "`{command} destroy -refresh=false`: it does not make this plan first."
)


PLUGINS_NOT_PERMITTED = (
    f"{NOT_PERMITTED}, the list of the agent's plugins; use a key that may read it"
)

BY_404 = "The console answers 404 in either case."
_UNSEEN = "deleted, or not visible to this key"


def missing(
    steps: BaseLifecycle,
    request: ReadRequest,
    how: str = BY_404,
    problem: NotFound | None = None,
) -> Outcome:
    """Return the outcome of reading what the console does not show: `on_missing` decides.

    It leaves state with a warning, never silently: an agent that is only hidden from this key would
    be created again, and run twice.

    Args:
        how: What showed that it is missing.
        problem: The answer that showed it, where it was one of its own.
    """
    definition = steps.definition
    summary = f"The {steps.name(request.prior)} is {_UNSEEN}"
    cause = None if problem is None else problem.cause
    kept = must_stay(steps, summary, how, cause)
    if kept is not None:
        return request.unchecked(_UNSEEN, kept, cause=cause)
    detail = f"{how} It is removed from state{_with_it(definition)}."
    if "create" in definition.operations:
        detail += (
            " If it is only hidden from this key, the next apply creates it again: "
            'on_missing = "error" keeps what is missing in state instead.'
        )
    return Outcome(None, diagnostics=(warning(summary, detail),), seen=Seen.GONE)


def _with_it(definition: ResourceDefinition) -> str:
    """Name what else leaves state, without a read and a warning of its own."""
    below = [item.plural for item in RESOURCES.values() if definition in owners_above(item)]
    return f", with those of its {' and '.join(below)} that state holds" if below else ""


def must_stay(
    steps: BaseLifecycle, summary: str, how: str, cause: Cause | None
) -> Diagnostic | None:
    """Return the error that keeps a missing object in state; None: it may leave (`on_missing`)."""
    policy, setting = steps.session.settings.on_missing_of(steps.definition.name)
    if policy != "error":
        return None
    return error(
        summary,
        f'{how} {setting} is "error", so it stays in state. Remove it from state by hand, or give '
        "the key access to it.",
        cause=cause,
    )


def plan_gone(session: Session, key: object, planned: Attributes, why: Diagnostic) -> PlanOutcome:
    """Return the plan of what cannot be adopted: an error, unless this run found it gone.

    Creating it still fails. Values that are not declared are taken from what state held,
    so that what refers to them is not replaced.

    Args:
        key: What state held is known by.
        why: Why it cannot be adopted.
    """
    if session.command == "opsconsole":
        return PlanOutcome(planned, diagnostics=(why,))
    gone = session.gone_adopted.get(str(key))
    if gone is None:
        way_out = _WAY_OUT.format(command=session.command)
        return PlanOutcome(planned, diagnostics=(replace(why, detail=why.detail + way_out),))
    held = {name: gone.get(name) if value is UNKNOWN else value for name, value in planned.items()}
    diagnostic = replace(
        why,
        severity=Severity.WARNING,
        detail="It was in state and is gone from the console. Applying fails here, because "
        f"nothing creates it again; destroying continues without it. {why.detail}",
    )
    return PlanOutcome(held, diagnostics=(diagnostic,))


def unchecked(steps: BaseLifecycle, request: ReadRequest, listed: str, listing: Listing) -> Outcome:
    """Return the outcome of reading what a list does not show and may leave out: state keeps it.

    Args:
        listed: What the list is of: "the agent's plugins".
    """
    reason, detail = explained(listed, listing)
    return request.unchecked(
        reason, warning(f"The {steps.name(request.prior)} was not checked", detail)
    )


def refused_read(
    steps: BaseLifecycle, request: ReadRequest, reason: str, problem: ApiError
) -> Outcome:
    """Return the outcome of reading what the console refuses to show: state keeps it."""
    return request.unchecked(
        reason, refusal(f"The {steps.name(request.prior)}", reason, problem), cause=problem.cause
    )


def refusal(what: str, reason: str, problem: ApiError) -> Diagnostic:
    """Warn that the console refuses to show something."""
    return warning(
        f"{what} was not checked", f"Its state is kept as it was: {reason}.", cause=problem.cause
    )


def not_permitted(
    steps: BaseLifecycle, request: ReadRequest, problem: Forbidden, reason: str
) -> Outcome:
    """Return the outcome of reading an agent or an attachment that this key may not read.

    Raises:
        Forbidden: It is being imported: state must not hold what nothing has shown.
    """
    known = (name for name, value in request.prior.items() if value is not None)
    if not request.private and {"id", "agent_id", "plugin_id"}.issuperset(known):
        raise problem
    return refused_read(steps, request, reason, problem)


def list_not_whole(
    summary: str, listed: str, listing: Listing, path: tuple[str, ...] = ()
) -> Diagnostic:
    """Return the error for what only a whole list could tell."""
    return error(summary, explained(listed, listing)[1], path)


def explained(listed: str, listing: Listing) -> tuple[str, str]:
    """Return why a list may not be whole, as part of a sentence, and with what can be done."""
    assert listing.gap is not None
    reason = f"the list of {listed} may not be whole: {listing.gap.value}"
    return reason, f"{reason[0].upper()}{reason[1:]}. {listing.gap.remedy}"


IsThere = Callable[[], Awaitable[bool]]
"""Reads the object once; raises NotFound where it is gone, and another ConsoleError where the read
fails."""


def abandoned(name: str, remains: str = "it stays on the console") -> Diagnostic:
    """Warn that an abandoned object leaves management; `remains` says what it continues to do."""
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
        result = confirm_deleted(steps.definition, name, answer)
    except ConsoleError as problem:
        return EndedDeletion(steps.failed("delete", request, problem), there=None)
    rerouted = tuple(result.rerouted_hosts)
    if not rerouted:
        return EndedDeletion(Outcome(None), there=False)
    diagnostic = warning(
        f"Deleting the {name} rerouted other hosts",
        f"The console names {', '.join(rerouted)}. The next read of these hosts shows what "
        "changed.",
    )
    return EndedDeletion(Outcome(None, diagnostics=(diagnostic,), rerouted=rerouted), there=False)


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
        return EndedDeletion(failed._replace(diagnostics=(diagnostic,), uncertain=False), None)
    if not isinstance(problem, NotFound):
        return EndedDeletion(failed._replace(uncertain=there is None), there)
    if there:
        diagnostic = _not_deletable(name, problem)
    else:
        summary = f"The {name} was deleted already, or is not visible to this key"
        kept = must_stay(steps, summary, BY_404, problem.cause)
        if kept is None:
            detail = f"{BY_404.removesuffix('.')}, and it cannot be read. It is removed from state."
            leaves = warning(summary, detail)
            return EndedDeletion(Outcome(None, diagnostics=(leaves,)), there=False)
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
        f"It is not known whether the {name} is being deleted",
        "Its deletion was sent, the console's answer does not say whether it was deleted, and a "
        "read right after the deletion still shows it. It stays in state. Plan again later: the "
        "plan shows whether it is gone.",
        cause=problem.cause,
    )


def _not_deletable(name: str, problem: NotFound) -> Diagnostic:
    return error(
        f"The {name} is still there, though its deletion was answered with 404",
        "A read right after the deletion shows it: this key may read it, but not delete it. "
        "Nothing was deleted.",
        cause=problem.cause,
    )
