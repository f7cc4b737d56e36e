"""Writes: each is sent once, and settled if its answer is lost.

An *intent* is a write that the journal notes before it is sent; it is *open* while its outcome is
not recorded. A write is *unsettled* while its outcome is not known. To *settle* it is to ask the
console for the outcome. A create that stays unsettled is in state under a *sentinel id*.

How each write is settled, and the result if it stays unsettled:

    create of a host    a dry run of its row (`creation.py` of     state, under a sentinel id
                        the host), at once or in a later run
    create of an agent  a list of all agents, in a later run      state, under a sentinel id
    other creates       nothing                                   state, under a sentinel id
    update              one read that shows the new values        an error
    delete              one read: 404, or the object              an error; it stays in state

No create is repeated blindly. A sentinel id stays in state until a later native run settles it, or
the user states the outcome: `state rm` (never created), or `state rm` and `import`. A created
object is kept even if its answer cannot be read: after an error, the next apply would make a
second one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from opsconsole.clock import timestamp, utc_now
from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import (
    ConfigurationError,
    ConsoleError,
    NotFound,
    OpsconsoleError,
    UnexpectedAnswer,
)
from opsconsole.lifecycle.answers import confirm_deleted, explain_mismatch
from opsconsole.lifecycle.interface import (
    CreateRequest,
    DeleteRequest,
    Outcome,
    ReadRequest,
    UnsettledCreate,
    UpdateRequest,
)
from opsconsole.lifecycle.missing import BY_404, keep_if_missing
from opsconsole.lifecycle.planning import fill_unknown
from opsconsole.lifecycle.private_state import PrivateState, new_sentinel
from opsconsole.lifecycle.translate import diagnose
from opsconsole.values import Values, unsatisfied_fields

if TYPE_CHECKING:
    from opsconsole.lifecycle.base import BaseLifecycle

Answer = Mapping[str, Any]

DRY_RUN_STATUS = "dry_run_status"
"""The fact, in an intent and beside a sentinel id, that holds the status that a dry run gave a row
before it was sent."""
_SENT_AT = "sent_at"
_ARRIVES_WITHIN = 900
"""Seconds after which a console no longer carries out a request."""


def unsettled_private(dry_run_status: str, sent: str = "") -> bytes:
    """Return the private bytes beside a sentinel id, by which a later run settles the create.

    Args:
        dry_run_status: The status from a dry run before it was sent, or empty.
        sent: In ISO 8601; empty: now.
    """
    facts = {DRY_RUN_STATUS: dry_run_status, _SENT_AT: sent or timestamp(utc_now())}
    return PrivateState(extra=facts).encode()


def recall_create(
    planned: Values, address: str, facts: Mapping[str, Any], sent: object = None
) -> UnsettledCreate:
    """Return an unsettled create from the `facts` in its intent or in its private bytes.

    Args:
        sent: When it was sent, if the facts do not say so.
    """
    status = facts.get(DRY_RUN_STATUS)
    may_arrive = may_still_arrive(sent or facts.get(_SENT_AT))
    return UnsettledCreate(planned, address, status if isinstance(status, str) else "", may_arrive)


def may_still_arrive(sent: object) -> bool:
    """Return whether a create sent at this time (ISO 8601, else unknown) may still take effect."""
    try:
        moment = datetime.fromisoformat(str(sent)).timestamp()
    except ValueError:
        return True
    return time.time() - moment < _ARRIVES_WITHIN


def unsettled_remedy(definition: ResourceDefinition, address: str, command: str) -> str:
    """Return the remedy for a create of unknown outcome; `command` is the engine's program."""
    where = f"'{address}'" if address else "ADDRESS"
    return (
        f"Look it up in the console. If it was never created: `{command} state rm {where}` and "
        f"apply again. If it was: `{command} state rm {where}` and "
        f"`{command} import {where} {definition.import_forms[0]}`."
    )


def unsettled_create_warning(lifecycle: BaseLifecycle, request: ReadRequest) -> Diagnostic:
    """Warn at plan time that the outcome of an earlier create is still not known."""
    return warning(
        f"It is not known whether the {lifecycle.describe(request.prior)} was created",
        "An earlier run ended before it knew; applying does not touch it. "
        + unsettled_remedy(lifecycle.definition, request.address, lifecycle.session.command),
    )


def replacement_error(lifecycle: BaseLifecycle, request: DeleteRequest) -> Diagnostic:
    return error(
        f"The {lifecycle.describe(request.prior)} may exist already",
        "An earlier run ended before it knew, so applying might create a second one. "
        + unsettled_remedy(lifecycle.definition, request.address, lifecycle.session.command),
    )


def unsettled_outcome(
    lifecycle: BaseLifecycle,
    request: CreateRequest,
    problem: OpsconsoleError,
    dry_run_status: str = "",
) -> Outcome:
    name = lifecycle.describe(request.config, request.address)
    # Only the native engine plans as a whole, and settles creates before it does.
    asked = "Run again: the console is asked first. If it is not known even then: "
    diagnostic = error(
        f"It is not known whether the {name} was created",
        "The create was sent, and no answer shows whether it took place. It is not sent again, so "
        f"that nothing is created twice. {asked if lifecycle.session.sees_whole_plan else ''}"
        + unsettled_remedy(lifecycle.definition, request.address, lifecycle.session.command),
        cause=problem.cause,
    )
    state = fill_unknown(request.planned, {"id": new_sentinel()})
    return Outcome(state, unsettled_private(dry_run_status), (diagnostic,), unsettled=True)


async def create_once(
    lifecycle: BaseLifecycle,
    request: CreateRequest,
    body: dict[str, Any],
    judge: Callable[[Answer], UnexpectedAnswer | None] = lambda answer: None,
) -> Outcome:
    """Send a create once; return its outcome, even if no answer shows whether it took place.

    Args:
        judge: Returns an error if an answer does not belong to `body`.

    Raises:
        OpsconsoleError: Nothing was created.
    """
    await lifecycle.session.before_write("create", [request])
    try:
        answer = await lifecycle.session.console.call(lifecycle.operation("create"), body=body)
    except ConsoleError as problem:
        if problem.had_no_effect:
            raise
        return unsettled_outcome(lifecycle, request, problem)
    if other := judge(answer) or explain_mismatch(lifecycle.definition, body, answer):
        return unsettled_outcome(lifecycle, request, other)
    try:
        return lifecycle.outcome_of_write(request, answer)
    except Exception as problem:
        # The object exists. After an error, the next apply would create a second one.
        state = fill_unknown(request.planned, {"id": answer["id"]})
        name = lifecycle.describe(state, request.address)
        why = diagnose(problem, "read the answer")[0]
        unread = unread_warning(name, "the console's answer cannot be read", why)
        private = PrivateState().with_declaration(request.config, ()).encode()
        return Outcome(state, private, (unread,))


def unread_warning(name: str, unread: str, why: Diagnostic) -> Diagnostic:
    """Warn of an object that was created, and of which no answer shows the values.

    Args:
        unread: The other half of the sentence, after `but`.
    """
    return warning(
        f"The {name} was created, but {unread}",
        f"State holds what was declared; a later refresh shows the rest. {why.detail}".strip(),
        cause=why.cause,
    )


async def update_once(
    lifecycle: BaseLifecycle,
    request: CreateRequest | UpdateRequest,
    object_id: str,
    changes: Values,
) -> Answer:
    """Update an object; after a lost answer, read it, and return it if it shows the update.

    If a success has no body and no read shows the object, the answer holds only the id.

    Args:
        request: An update, or a creation that adopts the object.

    Raises:
        ConsoleError: The update had no effect, or nothing shows that it had.
    """
    await lifecycle.session.before_write("update", [request])
    try:
        operation = lifecycle.operation("update")
        return lifecycle.check_answer(
            await lifecycle.session.console.call(operation, object_id, body=changes)
        )
    except ConsoleError as caught:
        if caught.had_no_effect:
            raise
        problem = caught
    try:
        answer = await lifecycle.fetch(object_id)
        differing = unsatisfied_fields(changes, lifecycle.values_of(answer), changes)
    except (ConsoleError, ConfigurationError):
        # A success without a body still says that the update was made.
        if isinstance(problem, UnexpectedAnswer) and problem.without_body:
            return {"id": object_id}
        raise problem from None
    if differing:
        raise problem
    return answer


async def delete_once(lifecycle: BaseLifecycle, request: DeleteRequest) -> Outcome:
    """Delete one object; return the outcome, even if no answer settles it."""
    await lifecycle.session.before_write("delete", [request])
    try:
        answer = await lifecycle.send_delete(request.prior)
    except ConsoleError as problem:
        return await _settle_deletion(lifecycle, request, problem)
    except OpsconsoleError as problem:
        # Nothing was sent. The caller may have more to say of an object that still exists.
        return lifecycle.failed_outcome("delete", request, problem)
    name = lifecycle.describe(request.prior)
    try:
        result = confirm_deleted(lifecycle.definition, name, answer)
    except ConsoleError as problem:
        return lifecycle.failed_outcome("delete", request, problem)._replace(may_be_gone=True)
    rerouted = tuple(result.rerouted_hosts)
    if not rerouted:
        return Outcome(None)
    diagnostic = warning(
        f"Deleting the {name} rerouted other hosts",
        f"The console names {', '.join(rerouted)}. The next read of these hosts shows what "
        "changed.",
    )
    return Outcome(None, diagnostics=(diagnostic,), rerouted=rerouted)


async def _settle_deletion(
    lifecycle: BaseLifecycle, request: DeleteRequest, problem: ConsoleError
) -> Outcome:
    """Return the outcome of a deletion whose answer was `problem`.

    An object that answers 404 and cannot be read stays in state if `on_missing` says so.
    """
    prior = request.prior
    name = lifecycle.describe(prior, request.address)
    failed = lifecycle.failed_outcome("delete", request, problem)
    if problem.had_no_effect and not isinstance(problem, NotFound):
        return failed
    exists: bool | None
    # A deletion may have taken place though its answer was lost, and a 404 may mean that this key
    # may read the object and not delete it. One read settles both.
    try:
        exists = await lifecycle.is_there(prior["id"])
    except NotFound:
        exists = False
    except ConsoleError:
        exists = None
    if exists is False:
        return Outcome(None)
    if exists and not problem.had_no_effect:
        diagnostic = error(
            f"It is not known whether the {name} is being deleted",
            "Its deletion was sent, the console's answer does not say whether it was deleted, and "
            "a read right after the deletion still shows it. It stays in state. Plan again later: "
            "the plan shows whether it is gone.",
            cause=problem.cause,
        )
        return failed._replace(diagnostics=(diagnostic,), unsettled=False, may_be_gone=True)
    if not isinstance(problem, NotFound):
        return failed._replace(may_be_gone=True)
    if not exists:
        return outcome_of_404(lifecycle, request, problem)
    diagnostic = error(
        f"The {name} is still there, though its deletion was answered with 404",
        "A read right after the deletion shows it: this key may read it, but not delete it. "
        "Nothing was deleted.",
        cause=problem.cause,
    )
    return Outcome(prior, request.private, (diagnostic,))


def outcome_of_404(lifecycle: BaseLifecycle, request: DeleteRequest, problem: NotFound) -> Outcome:
    """Return the outcome of a deletion answered 404 that no read settles: `on_missing` decides."""
    name = lifecycle.describe(request.prior, request.address)
    summary = f"The {name} was deleted already, or is not visible to this key"
    kept = keep_if_missing(lifecycle, summary, BY_404, problem.cause)
    if kept is not None:
        return Outcome(request.prior, request.private, (kept,), may_be_gone=True)
    detail = f"{BY_404.removesuffix('.')}, and it cannot be read. It is removed from state."
    return Outcome(None, diagnostics=(warning(summary, detail),))
