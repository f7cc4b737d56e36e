"""A requested host with its import row, and its outcome: created and read back, or adopted."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from opsconsole.definition import ChangeRule
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import OpsconsoleError, Stopped
from opsconsole.lifecycle.answers import explain_mismatch, values_shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import CreateRequest, Outcome
from opsconsole.lifecycle.planning import fill_unknown
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.lifecycle.translate import diagnose
from opsconsole.lifecycle.writes import update_once, warn_unread
from opsconsole.resources import HOST
from opsconsole.resources.host.known import EmptyUpdateRefused, HostReader, HostsUnreadable
from opsconsole.resources.host.verdicts import NO_VERDICT, RowVerdict
from opsconsole.values import Values, changed_fields

CREATION_ONLY = tuple(a.name for a in HOST.settable if a.change is ChangeRule.REPLACE)
"""The attributes that can be set at creation only."""


@dataclass(slots=True, eq=False)
class ImportRow:
    """A requested host, and its import row."""

    request: CreateRequest
    fields: dict[str, Any]
    verdict: RowVerdict = NO_VERDICT
    """The last verdict on this row."""
    dry_run_status: str = ""
    """The status that the dry run gave this row, which meant "would be created"; or empty."""
    notes: tuple[Diagnostic, ...] = ()
    """The diagnostics that its outcome has beside its own."""

    @property
    def host_id(self) -> str:
        assert self.verdict.id is not None
        return self.verdict.id


def unread_outcome(row: ImportRow) -> Outcome:
    """Return the outcome of a host that was created and not read yet."""
    private = PrivateState().with_declaration(row.request.config, CREATION_ONLY).encode()
    return Outcome(fill_unknown(HOST, row.request.planned, {"id": row.host_id}), private)


async def read_back(lifecycle: BaseLifecycle, row: ImportRow) -> Outcome | None:
    """Return the outcome of a host that the console has created; None if it is another host's.

    Nothing is an error here. Planned values go into state, and unread ones are null. A field that
    the console stored otherwise is a warning, and the next refresh shows the difference.
    """
    try:
        answer = await lifecycle.fetch(row.host_id)
        # The import's verdict gave the id: another org means that the console did not keep it.
        sent = {name: value for name, value in row.fields.items() if name != "org_id"}
        other = explain_mismatch(HOST, sent, answer)
        if other is None:
            return _outcome_of_answer(lifecycle, row, answer)
    except Stopped:
        return unread_outcome(row)
    except HostsUnreadable:
        reader = lifecycle.session.singleton(HostReader)
        return unread_outcome(row).with_diagnostics(*reader.warn_of_refusals())
    except Exception as problem:
        # The host exists: an error would taint it, and the next apply would destroy it with its
        # agents.
        unread = unread_outcome(row)
        why = diagnose(problem, "read it", HOST)[0]
        name = lifecycle.describe(unread.state)
        return unread.with_diagnostics(warn_unread(name, "could not be read back", why))
    name = lifecycle.describe(row.request.config, row.request.address)
    lifecycle.log(other, f"take {row.host_id} for {name}")
    return None


def _outcome_of_answer(
    lifecycle: BaseLifecycle,
    row: ImportRow,
    answer: Mapping[str, Any],
    diagnostics: tuple[Diagnostic, ...] = (),
) -> Outcome:
    """Return the outcome of a host, as the console's answer shows it."""
    config = row.request.config
    declared = [name for name in HOST.names if config.get(name) is not None]
    outcome = lifecycle.outcome_of_write(row.request, answer, declared, {"id": row.host_id})
    state = outcome.state or {}
    fixed = [name for name in CREATION_ONLY if name in declared]
    shown = values_shown(map(HOST.by_name.__getitem__, fixed), answer)
    not_kept = {name: shown[name] for name in changed_fields(state, shown, shown)}
    private = outcome.private
    if not_kept:
        private = PrivateState.decode(private).with_not_kept(not_kept).encode()
    outcome = Outcome(state, private, (*diagnostics, *outcome.diagnostics))
    unshown = [name for name in fixed if name not in shown]
    if unshown:
        not_verified = warning(
            f"Not verified: {', '.join(unshown)} of the {lifecycle.describe(state)}",
            "The console does not show these values, and no update changes them: state holds what "
            "is declared.",
            (unshown[0],),
        )
        outcome = outcome.with_diagnostics(not_verified)
    return outcome


async def adopt(lifecycle: BaseLifecycle, row: ImportRow) -> Outcome:
    """Read a host, update the fields that differ, and take it into state.

    A difference that only a new host could remove is refused. If hosts cannot be read, all declared
    values are sent, and the answer is compared.
    """
    config, planned, host_id = row.request.config, row.request.planned, row.host_id
    title = lifecycle.describe(config | {"id": host_id}, row.request.address)
    declared = [name for name in CREATION_ONLY if config.get(name) is not None]
    answer: Mapping[str, Any] = {}
    try:
        with suppress(HostsUnreadable, EmptyUpdateRefused):
            answer = await lifecycle.fetch(host_id)
        current = lifecycle.values_of(answer)
        fixed = [name for name in changed_fields(current, planned, declared) if name in current]
        # Adopting replaces nothing, and no update changes these.
        if fixed:
            return Outcome(None, diagnostics=(_refuse_adoption(title, fixed, planned, current),))
        changes = lifecycle.changes_to(current, row.request, lifecycle.updated_names)
        if changes:
            answer = await update_once(lifecycle, row.request, host_id, changes)
        diagnostics = (
            *lifecycle.session.singleton(HostReader).warn_of_refusals(),
            _warn_adopted(title, list(changes), known=bool(current)),
        )
        # The deletion of a former declaration of this host must not delete it any more.
        lifecycle.session.adopted.add((HOST.type_name, host_id))
        return _outcome_of_answer(lifecycle, row, answer, diagnostics)
    except Stopped as problem:
        return lifecycle.failed_outcome("adopt", row.request, problem)
    except OpsconsoleError as problem:
        return Outcome(None, diagnostics=diagnose(problem, f"adopt the {title}", HOST))


def _warn_adopted(title: str, changed: list[str], *, known: bool) -> Diagnostic:
    listed = ", ".join(changed)
    if not known:
        detail = f"Hosts cannot be read, so everything declared was sent: {listed}."
    elif changed:
        detail = f"Changed to what is declared: {listed}."
    else:
        detail = "Nothing changed."
    return warning(f"The {title} existed already and is adopted", detail)


def _refuse_adoption(title: str, fixed: list[str], planned: Values, current: Values) -> Diagnostic:
    contrast = "; ".join(
        f"{name} is {current[name]!r} on the console and {planned[name]!r} in the program"
        for name in fixed
    )
    return error(
        f"The {title} exists already and differs in attributes that cannot be changed",
        f"{contrast}. Declare what the console holds, or delete the host there.",
        (fixed[0],),
    )
