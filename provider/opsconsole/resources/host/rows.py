"""A requested host with the import row that is sent for it, and its state once it exists."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opsconsole.definition import ChangeRule
from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import BadRequest, ConsoleError, Stopped
from opsconsole.lifecycle.answers import PrivateState, explain_mismatch, values_shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import CreateRequest, Outcome
from opsconsole.lifecycle.planning import fill_unknown
from opsconsole.lifecycle.translate import diagnose
from opsconsole.resources import HOST
from opsconsole.resources.host.reading import HostReader
from opsconsole.values import changed_fields

CREATION_ONLY = tuple(a.name for a in HOST.settable if a.change is ChangeRule.REPLACE)
"""The attributes that can be set at creation only."""

UPDATABLE = tuple(a.name for a in HOST.settable if a.change is ChangeRule.UPDATE)
"""The attributes that a partial update carries."""

_numbers = itertools.count(1)


@dataclass(slots=True, eq=False)
class HostRow:
    """A requested host, and the row that is sent for it."""

    request: CreateRequest
    fields: dict[str, Any]
    dry_run_status: str = ""
    """The status that the dry run gave this row, which meant "would be created"; or empty."""
    notes: tuple[Diagnostic, ...] = ()
    """The diagnostics that its outcome has beside its own."""
    number: int = field(default_factory=_numbers.__next__)
    """Tells it from every other row of the process."""

    @property
    def holder(self) -> str:
        """What messages call the declaration that holds the host."""
        return self.request.address or f"{self.fields['name']} (row {self.number})"


def unread_outcome(row: HostRow, host_id: str) -> Outcome:
    """Return the outcome of a host that the console has created and that was not read yet."""
    private = PrivateState().with_declaration(row.request.config, CREATION_ONLY).encode()
    return Outcome(fill_unknown(HOST, row.request.planned, {"id": host_id}), private)


class OtherHost(ConsoleError):
    """Reading a host shows that it is not the one of a row."""


async def read_back(lifecycle: BaseLifecycle, row: HostRow, host_id: str) -> Outcome:
    """Return the outcome of a host that the console has created.

    Nothing is an error here. Planned values go into state, and unread ones are null. A field that
    the console stored with another value is a warning, and the next refresh shows the difference.

    Raises:
        OtherHost: The host is not the one of this row.
    """
    reader = lifecycle.session.get(HostReader)
    if not reader.operation:
        return unread_outcome(row, host_id)
    try:
        answer = await reader.read(host_id)
        # The import's verdict gave the id: another org means that the console did not keep it.
        sent = {name: value for name, value in row.fields.items() if name != "org_id"}
        if other := explain_mismatch(HOST, sent, answer):
            raise OtherHost(other.message, other.remedy)
        return outcome_of_answer(lifecycle, row, host_id, answer)
    except OtherHost:
        raise
    except Stopped:
        return unread_outcome(row, host_id)
    except Exception as problem:
        # The host exists: an error would taint it, and the next apply would destroy it with its
        # agents.
        bare = unread_outcome(row, host_id)
        if isinstance(problem, BadRequest) and not lifecycle.session.console.has("host_get"):
            diagnostics = reader.note_refusal(host_id, problem)
            if reader.refused:
                return bare.with_diagnostics(*diagnostics)
        why = diagnose(problem, "read it", HOST)[0]
        not_read = warning(
            f"The {lifecycle.name(bare.state)} was created, but could not be read back",
            f"State holds what was declared; a later refresh shows the rest. {why.detail}".strip(),
            cause=why.cause,
        )
        return bare.with_diagnostics(not_read)


def outcome_of_answer(
    lifecycle: BaseLifecycle,
    row: HostRow,
    host_id: str,
    answer: Mapping[str, Any],
    diagnostics: tuple[Diagnostic, ...] = (),
) -> Outcome:
    """Return the outcome of a host that exists now, as an answer of the console shows it.

    Raises:
        UnexpectedAnswer: a field is of another type than the document says.
    """
    values, config = values_shown(HOST.answer_fields, answer), row.request.config
    declared = [name for name in HOST.names if config.get(name) is not None]
    outcome = lifecycle.outcome_of_write(row.request, answer, declared, {"id": host_id})
    state = outcome.state or {}
    fixed = [name for name in CREATION_ONLY if name in declared]
    differing = changed_fields(state, values, [name for name in fixed if name in values])
    not_kept = {name: values[name] for name in differing}
    private = PrivateState.decode(outcome.private).with_not_kept(not_kept).encode()
    outcome = Outcome(state, private, (*diagnostics, *outcome.diagnostics))
    unshown = [name for name in fixed if name not in values]
    if unshown:
        not_verified = warning(
            f"Not verified: {', '.join(unshown)} of the {lifecycle.name(state)}",
            "The console does not show these values, and no update changes them: state holds what "
            "is declared.",
            (unshown[0],),
        )
        outcome = outcome.with_diagnostics(not_verified)
    return outcome
