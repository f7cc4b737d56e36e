"""Adopts an existing host: gives it the declared values, and takes it into state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import BadRequest, OpsconsoleError, Stopped
from opsconsole.lifecycle.answers import values_shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import Outcome
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.lifecycle.translate import diagnose
from opsconsole.lifecycle.writes import update_once
from opsconsole.resources import HOST
from opsconsole.resources.host.reading import HostReader
from opsconsole.resources.host.rows import CREATION_ONLY, UPDATABLE, HostRow, outcome_of_answer
from opsconsole.values import changed_fields


async def adopt(lifecycle: BaseLifecycle, row: HostRow, host_id: str) -> Outcome:
    """Read the host, update the fields that differ, and take it into state.

    A difference that only a new host could remove is refused. If hosts cannot be read, all declared
    values are sent, and the answer is compared.
    """
    name = lifecycle.name(row.request.config | {"id": host_id}, row.request.address)
    declared = [
        item for item in (*UPDATABLE, *CREATION_ONLY) if row.request.config.get(item) is not None
    ]
    try:
        answer, diagnostics = await _read_held(lifecycle.session, host_id)
        held = values_shown(HOST.answer_fields, answer)
        differing = changed_fields(held, row.request.planned, declared)
        fixed = [item for item in differing if item in CREATION_ONLY and item in held]
        # Adopting replaces nothing, and no update changes these.
        if fixed:
            return Outcome(None, diagnostics=(_cannot_adopt(name, fixed, row, held),))
        changes = {item: row.request.planned[item] for item in differing if item in UPDATABLE}
        if changes:
            answer = await update_once(lifecycle, row.request, host_id, changes)
        diagnostics = (*diagnostics, _warn_adopted(name, list(changes), known=bool(held)))
        # The deletion of a former declaration of this host must not delete it any more.
        lifecycle.session.adopted.add((HOST.type_name, host_id))
        return outcome_of_answer(lifecycle, row, host_id, answer, diagnostics)
    except Stopped as problem:
        return lifecycle.failed_outcome("adopt", row.request, problem)
    except OpsconsoleError as problem:
        return Outcome(None, diagnostics=diagnose(problem, f"adopt the {name}", HOST))


async def _read_held(
    session: ConsoleSession, host_id: str
) -> tuple[Mapping[str, Any], tuple[Diagnostic, ...]]:
    """Read the host, with diagnostics; empty where hosts cannot be read."""
    reader = session.get(HostReader)
    if not reader.operation:
        return {}, ()
    try:
        return await reader.read(host_id), ()
    except BadRequest as problem:
        if session.console.has("host_get"):
            raise
        return {}, reader.note_refusal(host_id, problem)


def _warn_adopted(name: str, changed: list[str], *, known: bool) -> Diagnostic:
    listed = ", ".join(changed)
    if not known:
        detail = f"Hosts cannot be read, so everything declared was sent: {listed}."
    elif changed:
        detail = f"Changed to what is declared: {listed}."
    else:
        detail = "Nothing changed."
    return warning(f"The {name} existed already and is adopted", detail)


def _cannot_adopt(name: str, fixed: list[str], row: HostRow, held: dict[str, object]) -> Diagnostic:
    shown_values = "; ".join(
        f"{item} is {held[item]!r} on the console and {row.request.planned[item]!r} in the program"
        for item in fixed
    )
    return error(
        f"The {name} exists already and differs in attributes that cannot be changed",
        f"{shown_values}. Declare what the console holds, or delete the host there.",
        (fixed[0],),
    )
