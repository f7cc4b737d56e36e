"""Objects in state that the console does not show.

An incomplete list proves presence, never absence: objects that it lacks are unchecked.

Terraform makes a normal plan before it destroys. That plan asks for the creation of an object that
the refresh has just found gone. If the object can only be adopted, an error there would forbid
every destroy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from opsconsole.diagnostics import Diagnostic, Severity, error, warning
from opsconsole.errors import ApiError, Cause, NotFound
from opsconsole.lifecycle.interface import (
    PlanOutcome,
    ReadOutcome,
    ReadRequest,
    ReadStatus,
)
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.text import join_words
from opsconsole.v1.console import Gap
from opsconsole.v1.operations import documented_for
from opsconsole.values import UNKNOWN, Values

if TYPE_CHECKING:
    from opsconsole.lifecycle.base import BaseLifecycle

BY_404 = "The console answers 404 in either case."

_WAY_OUT = (
    "\nTo destroy everything although this is gone already, run "
    "`{command} destroy -refresh=false`: it does not make this plan first."
)

_UNSEEN = "deleted, or not visible to this key"


class GoneAdoptable:
    """The objects that can only be adopted and that a run found gone.

    Attributes:
        values: The values in state of each, once by its key and once by its id.
    """

    def __init__(self, session: ConsoleSession) -> None:
        self.values: dict[str, Values] = {}


def outcome_of_missing(
    lifecycle: BaseLifecycle,
    request: ReadRequest,
    how: str = BY_404,
    problem: NotFound | None = None,
) -> ReadOutcome:
    """Return the outcome of reading an object that the console does not show: `on_missing` decides.

    If the object leaves state, a warning says so.

    Args:
        how: The evidence, as a sentence.
        problem: The answer that showed it, if it had one of its own.
    """
    definition = lifecycle.definition
    summary = f"The {lifecycle.describe(request.prior)} is {_UNSEEN}"
    cause = None if problem is None else problem.cause
    kept = keep_if_missing(lifecycle, summary, how, cause)
    if kept is not None:
        return request.leave_unchecked(_UNSEEN, kept, cause=cause)
    # The other objects that leave state, without a read and a warning of their own.
    below = [owned.plural for owned in lifecycle.session.owned_by(definition)]
    along = f", with those of its {join_words(below)} that state holds" if below else ""
    detail = f"{how} It is removed from state{along}."
    if documented_for(definition, "create") is None:
        # A declaration names the object by one of the two.
        keys = (request.prior.get(name) for name in ("key", "id"))
        gone = lifecycle.session.singleton(GoneAdoptable).values
        gone |= dict.fromkeys(map(str, filter(None, keys)), request.prior)
    else:
        detail += (
            " If it is only hidden from this key, the next apply creates it again: "
            'on_missing = "error" keeps what is missing in state instead.'
        )
    # Always warn: an agent that is only hidden from this key is created again, and runs twice.
    return ReadOutcome(None, diagnostics=(warning(summary, detail),), status=ReadStatus.GONE)


def keep_if_missing(
    lifecycle: BaseLifecycle, summary: str, how: str, cause: Cause | None
) -> Diagnostic | None:
    """Return the error that keeps a missing object in state (`on_missing`), or None."""
    policy, setting = lifecycle.session.settings.on_missing_of(lifecycle.definition.name)
    if policy != "error":
        return None
    return error(
        summary,
        f'{how} {setting} is "error", so it stays in state. Remove it from state by hand, or '
        "give the key access to it.",
        cause=cause,
    )


def plan_gone(
    session: ConsoleSession, key: object, planned: Values, why: Diagnostic
) -> PlanOutcome:
    """Return the plan of an object that cannot be adopted: an error, unless this run found it gone.

    Its creation fails in any case.

    Args:
        key: The key or id under which the session keeps the values that were in state.
        why: Why it cannot be adopted.
    """
    # The native engine makes no such plan before it destroys.
    if session.sees_whole_plan:
        return PlanOutcome(planned, diagnostics=(why,))
    gone = session.singleton(GoneAdoptable).values.get(str(key))
    if gone is None:
        way_out = _WAY_OUT.format(command=session.command)
        return PlanOutcome(planned, diagnostics=(replace(why, detail=why.detail + way_out),))
    # Undeclared values come from the former state: references to them replace nothing.
    former = {name: gone.get(name) for name, value in planned.items() if value is UNKNOWN}
    diagnostic = replace(
        why,
        severity=Severity.WARNING,
        detail="It was in state and is gone from the console. Applying fails here, because "
        f"nothing creates it again; destroying continues without it. {why.detail}",
    )
    return PlanOutcome(planned | former, diagnostics=(diagnostic,))


def outcome_of_unlisted(
    lifecycle: BaseLifecycle, request: ReadRequest, listed: str, gap: Gap
) -> ReadOutcome:
    """Return the outcome of an object that an incomplete list does not show: state keeps it.

    Args:
        listed: The name of the list: "the agent's plugins".
    """
    name = lifecycle.describe(request.prior)
    unchecked = warning(f"The {name} was not checked", gap.explain(listed))
    return request.leave_unchecked(gap.reason(listed), unchecked)


def outcome_of_refused_read(
    lifecycle: BaseLifecycle, request: ReadRequest, reason: str, problem: ApiError
) -> ReadOutcome:
    """Return the outcome of a refused read: state keeps the object."""
    return request.leave_unchecked(
        reason,
        not_checked_warning(f"The {lifecycle.describe(request.prior)}", reason, problem),
        cause=problem.cause,
    )


def not_checked_warning(what: str, reason: str, problem: ApiError) -> Diagnostic:
    return warning(
        f"{what} was not checked", f"Its state is kept as it was: {reason}.", cause=problem.cause
    )


def abandoned_warning(name: str, remains: str = "it stays on the console") -> Diagnostic:
    """Warn that an abandoned object leaves management; `remains` names its effects."""
    return warning(
        f"The {name} leaves management; {remains}",
        'Its deletion_policy is "abandon".',
    )
