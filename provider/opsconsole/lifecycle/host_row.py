"""One host on its way into the console: its import row, which result of an import is its own, and
its state once it was created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from opsconsole.compare import changed_fields
from opsconsole.definition import ChangeRule
from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import BadRequest, ConsoleError, Stopped
from opsconsole.lifecycle.answers import merge, shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.bulk_import import RowVerdict
from opsconsole.lifecycle.created import mismatch, plain_name
from opsconsole.lifecycle.interface import CreateRequest, Outcome
from opsconsole.lifecycle.planning import creation_fields, settle
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.lifecycle.translate import diagnose
from opsconsole.resources import HOST
from opsconsole.v1.console import ImportResult
from opsconsole.values import Attributes

_numbers = count(1)

REPLACING = tuple(a.name for a in HOST.settable if a.change is ChangeRule.REPLACE)
"""The attributes of which only a new host can have another value."""

UPDATABLE = tuple(a.name for a in HOST.settable if a.change is ChangeRule.UPDATE)
"""The attributes that a partial update carries."""


@dataclass(slots=True, eq=False)
class HostRow:
    """A requested host, the row that is sent for it, and its outcome once there is one."""

    request: CreateRequest
    fields: dict[str, Any]
    outcome: Outcome | None = None
    dry_run_status: str | None = None
    """What the dry run called this row, which meant "would be created"."""
    number: int = field(default_factory=_numbers.__next__)
    """Tells it from every other row of the process."""


def import_row(request: CreateRequest, org_id: str | None) -> dict[str, Any]:
    """Return the import row of a declaration, in `org_id` unless it names an org."""
    row = creation_fields(HOST, request.config)
    if org_id is not None:
        row.setdefault("org_id", org_id)
    return row


def created_as(row: HostRow, host_id: str) -> Outcome:
    """Return the outcome of a host that the console has created and that was not read yet."""
    private = PrivateState().having_declared(row.request.config, REPLACING).encode()
    return Outcome(settle(HOST, row.request.planned, {"id": host_id}), private)


class OtherHost(ConsoleError):
    """Reading a host shows that it is not the one of a row; `answer` is what was read."""

    def __init__(self, problem: ConsoleError, answer: Mapping[str, Any]) -> None:
        super().__init__(problem.message, problem.remedy)
        self.answer = answer


async def read_back(
    steps: BaseLifecycle, row: HostRow, host_id: str, *, exactly: bool = False
) -> Outcome:
    """Return the outcome of a host that the console has created.

    Nothing is an error here: planned values go into state, unread ones are null, and a field that
    the console stored otherwise is a warning; the next refresh shows the difference.

    Args:
        exactly: Whether the name must be equal, because that of another row is almost the same.

    Raises:
        OtherHost: The host is not the one of this row.
    """
    if not steps.session.can_read_hosts:
        return created_as(row, host_id)
    try:
        answer = await steps.session.read_host(host_id)
        if other := mismatch(HOST, row.fields, answer):
            raise OtherHost(other, answer)
        if exactly and answer.get("name", row.fields["name"]) != row.fields["name"]:
            raise OtherHost(ConsoleError("The console answered with another name."), answer)
        return taken(steps, row, host_id, answer)
    except OtherHost:
        raise
    except Stopped:
        return created_as(row, host_id)
    except Exception as problem:
        bare = created_as(row, host_id)
        if isinstance(problem, BadRequest) and not steps.session.console.has("host_get"):
            found = list(steps.session.note_refused_read(host_id, problem))
            if not steps.session.host_reading_refused:
                found = _not_read_back(steps, bare.state or {}, problem)
        else:
            found = _not_read_back(steps, bare.state or {}, problem)
        return bare.with_diagnostics(*found)


def taken(
    steps: BaseLifecycle,
    row: HostRow,
    host_id: str,
    answer: Mapping[str, Any],
    diagnostics: tuple[Diagnostic, ...] = (),
) -> Outcome:
    """Return the outcome of a host that exists now, as an answer of the console shows it.

    Raises:
        UnexpectedAnswer: a field is of another type than the document says.
    """
    private_state = PrivateState().having_declared(row.request.config, REPLACING)
    values = shown(HOST.answered, answer)
    state = settle(HOST, row.request.planned, values | {"id": host_id})
    _, private_state, _ = merge(HOST.answered, state, private_state, answer)
    declared = [name for name in values if row.request.config.get(name) is not None]
    differing = changed_fields(state, values, declared)
    private_state = private_state.dropping(
        name for name in differing if name in REPLACING and values[name] is None
    )
    otherwise = steps.kept_otherwise(differing, state, values, creating=True)
    return Outcome(state, private_state.encode(), (*diagnostics, *otherwise))


def _not_read_back(steps: BaseLifecycle, state: Attributes, problem: Exception) -> list[Diagnostic]:
    return [
        warning(
            f"The {steps.name(state)} was created, but could not be read back",
            f"State holds what was declared; a later refresh shows the rest. {item.detail}".strip(),
            cause=item.cause,
        )
        for item in diagnose(problem, "read it", HOST)[:1]
    ]


async def match_by_name(
    steps: BaseLifecycle,
    rows: Sequence[HostRow],
    result: ImportResult,
    judged: Sequence[RowVerdict],
) -> list[RowVerdict]:
    """Read the hosts that an import created without saying for which row, and match by name."""
    names = Counter(row.fields["name"] for row in rows)
    matched = {verdict.id for verdict in judged if verdict.matched}
    by_name: dict[str, RowVerdict] = {}
    for entry in result.results:
        if entry.id is None or entry.id in matched or entry.status != "created":
            continue
        try:
            name = (await steps.session.read_host(entry.id)).get("name")
        except ConsoleError as problem:
            steps.log(problem, f"match the created host {entry.id} to its row")
            continue
        if isinstance(name, str):
            by_name[name] = RowVerdict(matched=True, created=True, id=entry.id)
    return [
        verdict
        if verdict.matched or names[row.fields["name"]] > 1
        else by_name.get(row.fields["name"], verdict)
        for row, verdict in zip(rows, judged, strict=True)
    ]


def tie_by_name(answers: Mapping[HostRow, Mapping[str, Any]]) -> dict[HostRow, Mapping[str, Any]]:
    """Return the host of each row, as far as its name shows it, for rows that got others' ids.

    Names that differ in case alone may be two hosts', so equal names are tied first. A console may
    also store names otherwise: a host that is left is the one of its row if nothing contradicts it.

    Args:
        answers: The host that was read under the id that each row got.
    """
    tied: dict[HostRow, Mapping[str, Any]] = {}
    for form in (str, plain_name):
        used = {answer["id"] for answer in tied.values()}
        free = [answer for answer in answers.values() if answer["id"] not in used]
        tied |= _tied([row for row in answers if row not in tied], free, form)
    used = {answer["id"] for answer in tied.values()}
    for row, answer in answers.items():
        is_own = answer["id"] not in used and mismatch(HOST, row.fields, answer) is None
        if row not in tied and is_own:
            tied[row] = answer
    return tied


def _tied(
    rows: Collection[HostRow], answers: Collection[Mapping[str, Any]], form: Callable[[str], str]
) -> dict[HostRow, Mapping[str, Any]]:
    """Return the host of each row that is the only one of its name, in some form of names."""
    wanted = Counter(form(row.fields["name"]) for row in rows)
    shown = Counter(form(str(answer.get("name"))) for answer in answers)
    by_name = {form(str(answer.get("name"))): answer for answer in answers}
    return {
        row: by_name[name]
        for row in rows
        if wanted[name := form(row.fields["name"])] == shown[name] == 1
        and mismatch(HOST, row.fields, by_name[name]) is None
    }
