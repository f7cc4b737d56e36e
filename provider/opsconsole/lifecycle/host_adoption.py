"""Adopting a host that the console already has (`on_existing_host = "adopt"`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsconsole.compare import changed_fields
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import BadRequest, OpsconsoleError, Stopped
from opsconsole.lifecycle.answers import shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.host_row import REPLACING, UPDATABLE, HostRow, taken
from opsconsole.lifecycle.interface import Outcome
from opsconsole.lifecycle.session import Session
from opsconsole.lifecycle.translate import diagnose
from opsconsole.resources import HOST


async def adopt(steps: BaseLifecycle, row: HostRow, host_id: str) -> Outcome:
    """Read the host, compare, update what is declared otherwise, and take it into state.

    What only a new host could have otherwise is refused: nothing is replaced by adopting. Where
    hosts cannot be read, everything declared is sent, and the answer to that is compared.
    """
    name = steps.name(row.request.config | {"id": host_id}, row.request.address)
    declared = [
        item for item in (*UPDATABLE, *REPLACING) if row.request.config.get(item) is not None
    ]
    try:
        answer, diagnostics = await _held(steps.session, host_id)
        held = shown(HOST.answered, answer)
        differing = changed_fields(held, row.request.planned, declared)
        fixed = [item for item in differing if item in REPLACING and item in held]
        if fixed:
            return Outcome(None, diagnostics=(_cannot_adopt(name, fixed, row, held),))
        changes = {item: row.request.planned[item] for item in differing if item in UPDATABLE}
        if changes:
            await steps.session.before_write("update", [row.request])
            answer = await steps.session.console.update_host(host_id, changes)
        diagnostics = (*diagnostics, _adopted(name, list(changes), known=bool(held)))
        unseen = [item for item in declared if item in REPLACING and item not in answer]
        if unseen:
            diagnostics = (*diagnostics, _not_verified(name, unseen))
        return taken(steps, row, host_id, answer, diagnostics)
    except Stopped as problem:
        return steps.failed("adopt", row.request, problem)
    except OpsconsoleError as problem:
        return Outcome(None, diagnostics=diagnose(problem, f"adopt the {name}", HOST))


async def _held(session: Session, host_id: str) -> tuple[Mapping[str, Any], tuple[Diagnostic, ...]]:
    """Read the host; nothing where hosts cannot be read, with what there is to say of that."""
    if not session.can_read_hosts:
        return {}, ()
    try:
        return await session.read_host(host_id), ()
    except BadRequest as problem:
        if session.console.has("host_get"):
            raise
        return {}, session.note_refused_read(host_id, problem)


def _adopted(name: str, changed: list[str], *, known: bool) -> Diagnostic:
    listed = ", ".join(changed)
    if not known:
        detail = f"Hosts cannot be read, so everything declared was sent: {listed}."
    elif changed:
        detail = f"Changed to what is declared: {listed}."
    else:
        detail = "Nothing changed."
    return warning(f"The {name} was there already and is adopted", detail)


def _not_verified(name: str, unseen: list[str]) -> Diagnostic:
    return warning(
        f"Not verified: {', '.join(unseen)} of the {name}",
        "The console does not show what it holds there, and no update changes it: state holds "
        "what is declared.",
        (unseen[0],),
    )


def _cannot_adopt(name: str, fixed: list[str], row: HostRow, held: dict[str, object]) -> Diagnostic:
    shown_values = "; ".join(
        f"{item} is {held[item]!r} there and {row.request.planned[item]!r} here" for item in fixed
    )
    return error(
        f"The {name} is there already and differs in what cannot be changed",
        f"{shown_values}. Declare what the console holds, or delete the host there.",
        (fixed[0],),
    )
