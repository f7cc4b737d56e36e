"""One host on its way into the console: its import row, and its state once it was created."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from opsconsole.compare import changed_fields
from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import BadRequest, ConsoleError, Stopped
from opsconsole.lifecycle.answers import merge, shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.created import stranger
from opsconsole.lifecycle.host_calls import REPLACING, is_readable, look, reading_refused
from opsconsole.lifecycle.interface import CreateRequest, Outcome
from opsconsole.lifecycle.planning import settle
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.lifecycle.translate import diagnose
from opsconsole.resources import HOST
from opsconsole.values import Attributes

_numbers = count(1)


@dataclass(slots=True, eq=False)
class Row:
    """A requested host, the row that is sent for it, and its outcome once there is one."""

    request: CreateRequest
    fields: dict[str, Any]
    outcome: Outcome | None = None
    guard_word: str | None = None
    """What the dry run called this row, which stood for "would be created"."""
    number: int = field(default_factory=_numbers.__next__)
    """Tells it from every other row of the process."""


def import_row(request: CreateRequest, org_id: str | None) -> dict[str, Any]:
    """Return the import row of a declaration: the fields that are set, and no others."""
    config = request.config
    row = {
        attribute.name: config[attribute.name]
        for attribute in HOST.settable
        if attribute.creatable and config.get(attribute.name) is not None
    }
    if org_id is not None:
        row.setdefault("org_id", org_id)
    return row


def created_as(row: Row, host_id: str) -> Outcome:
    """Return the outcome of a host that the console has created and that was not read yet."""
    private = PrivateState().having_declared(row.request.config, REPLACING).encode()
    return Outcome(settle(HOST, row.request.planned, {"id": host_id}), private)


class OtherHost(ConsoleError):
    """Reading a host shows that it is not the one of a row; `answer` is what was read."""

    def __init__(self, problem: ConsoleError, answer: Mapping[str, Any]) -> None:
        super().__init__(problem.message, problem.remedy)
        self.answer = answer


async def read_back(steps: BaseLifecycle, row: Row, host_id: str) -> Outcome:
    """Return the outcome of a host that the console has created.

    Nothing is an error here: planned values go into state, unread ones are null, and a field that
    the console stored otherwise is a warning; the next refresh shows the difference.

    Raises:
        OtherHost: The host is not the one of this row.
    """
    bare = created_as(row, host_id)
    if not is_readable(steps.session):
        return bare
    try:
        answer = await look(steps.session, host_id)
        if other := stranger(HOST, row.fields, answer):
            raise OtherHost(other, answer)
        return taken(steps, row, host_id, answer)
    except OtherHost:
        raise
    except Stopped:
        return bare
    except Exception as problem:
        if isinstance(problem, BadRequest) and not steps.session.console.has("host_get"):
            found = list(reading_refused(steps.session, host_id, problem))
            if not steps.session.host_reading_refused:
                found = _not_read_back(steps, bare.state or {}, problem)
        else:
            found = _not_read_back(steps, bare.state or {}, problem)
        return bare.with_diagnostics(*found)


def taken(
    steps: BaseLifecycle,
    row: Row,
    host_id: str,
    answer: Mapping[str, Any],
    told: tuple[Diagnostic, ...] = (),
) -> Outcome:
    """Return the outcome of a host that exists now, as an answer of the console shows it.

    Raises:
        UnexpectedAnswer: a field is of another type than the document says.
    """
    memory = PrivateState().having_declared(row.request.config, REPLACING)
    values = shown(HOST.answered, answer)
    state = settle(HOST, row.request.planned, values | {"id": host_id})
    _, memory, _ = merge(HOST.answered, state, memory, answer)
    declared = [name for name in values if row.request.config.get(name) is not None]
    differing = changed_fields(state, values, declared)
    memory = memory.dropping(
        name for name in differing if name in REPLACING and values[name] is None
    )
    otherwise = steps.kept_otherwise(differing, state, values, creating=True)
    return Outcome(state, memory.encode(), (*told, *otherwise))


def _not_read_back(steps: BaseLifecycle, state: Attributes, problem: Exception) -> list[Diagnostic]:
    return [
        warning(
            f"The {steps.name(state)} was created, but could not be read back",
            f"State holds what was declared; a later refresh shows the rest. {item.detail}".strip(),
            cause=item.cause,
        )
        for item in diagnose(problem, "read it", HOST)[:1]
    ]
