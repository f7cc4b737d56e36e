"""One host on its way into the console: its import row, sending rows as a dry run, the verdict of a
bulk import on each row, the host's state once it exists, and the reason if it was not created.

The document: POST /api/v1/hosts/batch. Only its answer shows whether a console honours `dry_run`,
so the first dry run of a run goes alone, and nothing follows one that was not honoured. The base of
`results[].index`, whether rows after a stop are listed and every status other than `created` are
not shown, so verdicts are matched in a way that needs none of them; a row that cannot be matched
has an unmatched verdict: nothing is guessed.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from opsconsole.definition import ChangeRule
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import (
    BadRequest,
    ConsoleError,
    NotSent,
    OpsconsoleError,
    Stopped,
    TooLarge,
    UnexpectedAnswer,
    UserError,
)
from opsconsole.lifecycle.answers import PrivateState, explain_mismatch, values_shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import CreateRequest, Outcome, fill_unknown
from opsconsole.lifecycle.session import Session
from opsconsole.lifecycle.translate import diagnose
from opsconsole.lifecycle.uncertain import update_once
from opsconsole.resources import HOST
from opsconsole.resources.host.reading import note_refused_read, read_host, reading_operation
from opsconsole.values import changed_fields

if TYPE_CHECKING:
    from opsconsole.v1.bodies import ImportResult, RowResult

IGNORED = "The console's answer to a dry run did not say dry_run: true"
ROWS_COUNT = f"{IGNORED}, so its rows count as imported"
UNPROTECTED = "A dry run does not protect imports on this console: ask its operator."

CREATION_ONLY = tuple(a.name for a in HOST.settable if a.change is ChangeRule.REPLACE)
"""The attributes of which only a new host can have another value."""

UPDATABLE = tuple(a.name for a in HOST.settable if a.change is ChangeRule.UPDATE)
"""The attributes that a partial update carries."""

_numbers = itertools.count(1)


class RowVerdict(NamedTuple):
    """The verdict of an import on one row; `matched` is false where no verdict belongs to it."""

    matched: bool
    created: bool
    status: str = ""
    id: str | None = None
    error: str | None = None


UNMATCHED = RowVerdict(matched=False, created=False)


def verdicts(result: ImportResult, rows: int) -> list[RowVerdict]:
    """Return the verdict of each of `rows` rows, in the order in which they were sent."""
    base = _index_base(result.results, rows)
    if base is None:
        return [UNMATCHED] * rows
    found = [UNMATCHED] * rows
    for entry in result.results:
        if entry.index is None:
            continue
        found[entry.index - base] = RowVerdict(
            matched=True,
            created=entry.status == "created",
            status=entry.status or "",
            id=entry.id,
            error=entry.error,
        )
    return found


def all_created(result: ImportResult, rows: int) -> bool:
    """Return whether the counts alone say that every row passed."""
    counts = result.counts
    others = sum(count for name, count in counts.items() if name != "created")
    return counts.get("created") == rows and others == 0


def was_created(verdict: RowVerdict, dry_run_status: str | None) -> bool:
    """Return whether a dry run gives a row another status than the one before its import did.

    None: the status before is not known, which settles nothing.
    """
    return dry_run_status is not None and not verdict.created and verdict.status != dry_run_status


def _index_base(results: Sequence[RowResult], rows: int) -> int | None:
    """Return the index of the first row, or None where the results leave it open.

    Results without an index are left out.
    """
    known = [entry.index for entry in results if entry.index is not None]
    if len(set(known)) != len(known) or not known:
        return None
    low, high = min(known), max(known)
    if low < 0 or high - low >= rows:
        return None
    if high - low == rows - 1:
        return low
    if low == 0:
        return 0
    return 1 if high == rows else None


def answered_as_dry_run() -> ConsoleError:
    """Return the error for a real import that was answered as a dry run.

    Its verdicts say nothing.
    """
    return ConsoleError(
        "The console's answer to a real import says dry_run: true, so whether it imported anything "
        "is not known.",
        "It may be in a mode in which nothing is changed: ask its operator.",
    )


class DryRunIgnored(NotSent):
    """Not sent: the console imported the rows of an earlier dry run."""


async def send_guarded(
    session: Session, send: Callable[[], Awaitable[ImportResult]]
) -> ImportResult:
    """Send a dry run, and note by its result's `dry_run` whether it was honoured.

    Args:
        send: Sends it.

    Raises:
        DryRunIgnored: an earlier one was not honoured, so this one was not sent.
        ConsoleError: what `send` raised.
    """
    async with nullcontext() if session.dry_run_honoured else session.first_dry_run:
        if session.dry_run_ignored:
            raise DryRunIgnored(f"{ROWS_COUNT}. Nothing more is sent.")
        result = await send()
        session.dry_run_honoured = session.dry_run_honoured or result.dry_run
        session.dry_run_ignored = session.dry_run_ignored or not result.dry_run
        return result


async def dry_run(session: Session, rows: Sequence[Mapping[str, Any]]) -> ImportResult:
    """Have rows of hosts judged; raises as `send_guarded`."""
    console = session.console
    return await send_guarded(
        session, lambda: console.import_hosts(rows, on_error="continue", dry_run=True)
    )


def half_of_refused(session: Session, rows: int, problem: OpsconsoleError) -> int:
    """Return how many of the refused rows to send first, and then the rest; 0: send none again.

    A size that the console refuses with 413 is not tried again in this run.
    """
    if rows == 1 or not blames_the_rows(problem):
        return 0
    half = (rows + 1) // 2
    if isinstance(problem, TooLarge):
        session.import_chunk_size = min(session.import_chunk_size, half)
    return half


def blames_the_rows(problem: OpsconsoleError) -> bool:
    """Return whether fewer or other rows may pass where these did not.

    A gateway may refuse a size too, without the documented body; and a row that cannot be written
    as JSON is refused before anything is sent.
    """
    if isinstance(problem, UnexpectedAnswer):
        return problem.status == 400
    return isinstance(problem, BadRequest | TooLarge | UserError)


@dataclass(slots=True, eq=False)
class HostRow:
    """A requested host, the row that is sent for it, and its outcome once there is one."""

    request: CreateRequest
    fields: dict[str, Any]
    outcome: Outcome | None = None
    dry_run_status: str | None = None
    """What the dry run called this row, which meant "would be created"."""
    notes: tuple[Diagnostic, ...] = ()
    """What its outcome says beside its own diagnostics."""
    number: int = field(default_factory=_numbers.__next__)
    """Tells it from every other row of the process."""

    @property
    def holder(self) -> str:
        """How messages call the declaration that holds the host."""
        return self.request.address or f"{self.fields['name']} (row {self.number})"


def unread_outcome(row: HostRow, host_id: str) -> Outcome:
    """Return the outcome of a host that the console has created and that was not read yet."""
    private = PrivateState().with_declaration(row.request.config, CREATION_ONLY).encode()
    return Outcome(fill_unknown(HOST, row.request.planned, {"id": host_id}), private)


class OtherHost(ConsoleError):
    """Reading a host shows that it is not the one of a row."""


async def read_back(steps: BaseLifecycle, row: HostRow, host_id: str) -> Outcome:
    """Return the outcome of a host that the console has created.

    Nothing is an error here: planned values go into state, unread ones are null, and a field that
    the console stored otherwise is a warning; the next refresh shows the difference.

    Raises:
        OtherHost: The host is not the one of this row.
    """
    if not reading_operation(steps.session):
        return unread_outcome(row, host_id)
    try:
        answer = await read_host(steps.session, host_id)
        # The import's verdict gave the id: another org means that the console did not keep it.
        sent = {name: value for name, value in row.fields.items() if name != "org_id"}
        if other := explain_mismatch(HOST, sent, answer):
            raise OtherHost(other.message, other.remedy)
        return outcome_of_answer(steps, row, host_id, answer)
    except OtherHost:
        raise
    except Stopped:
        return unread_outcome(row, host_id)
    except Exception as problem:
        bare = unread_outcome(row, host_id)
        if isinstance(problem, BadRequest) and not steps.session.console.has("host_get"):
            found = note_refused_read(steps.session, host_id, problem)
            if steps.session.host_reading_refused:
                return bare.with_diagnostics(*found)
        why = diagnose(problem, "read it", HOST)[0]
        not_read = warning(
            f"The {steps.name(bare.state)} was created, but could not be read back",
            f"State holds what was declared; a later refresh shows the rest. {why.detail}".strip(),
            cause=why.cause,
        )
        return bare.with_diagnostics(not_read)


def outcome_of_answer(
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
    values, config = values_shown(HOST.answer_fields, answer), row.request.config
    declared = [name for name in HOST.names if config.get(name) is not None]
    outcome = steps.outcome_of_write(row.request, answer, declared, {"id": host_id}, CREATION_ONLY)
    state = outcome.state or {}
    fixed = [name for name in CREATION_ONLY if name in declared]
    differing = changed_fields(state, values, [name for name in fixed if name in values])
    dropped = PrivateState.decode(outcome.private).with_not_kept({n: values[n] for n in differing})
    outcome = Outcome(state, dropped.encode(), (*diagnostics, *outcome.diagnostics))
    unshown = [name for name in fixed if name not in values]
    if unshown:
        not_verified = warning(
            f"Not verified: {', '.join(unshown)} of the {steps.name(state)}",
            "The console does not show these values, and no update changes them: state holds what "
            "is declared.",
            (unshown[0],),
        )
        outcome = outcome.with_diagnostics(not_verified)
    return outcome


async def adopt(steps: BaseLifecycle, row: HostRow, host_id: str) -> Outcome:
    """Read the host, update the fields that differ, and take it into state.

    A difference that only a new host could remove is refused: adopting replaces nothing. Where
    hosts cannot be read, everything declared is sent, and the answer to that is compared.
    """
    name = steps.name(row.request.config | {"id": host_id}, row.request.address)
    declared = [
        item for item in (*UPDATABLE, *CREATION_ONLY) if row.request.config.get(item) is not None
    ]
    try:
        answer, diagnostics = await _read_held(steps.session, host_id)
        held = values_shown(HOST.answer_fields, answer)
        differing = changed_fields(held, row.request.planned, declared)
        fixed = [item for item in differing if item in CREATION_ONLY and item in held]
        if fixed:
            return Outcome(None, diagnostics=(_cannot_adopt(name, fixed, row, held),))
        changes = {item: row.request.planned[item] for item in differing if item in UPDATABLE}
        if changes:
            await steps.session.before_write("update", [row.request])
            answer = await update_once(steps, "host_update", host_id, changes)
        diagnostics = (*diagnostics, _warn_adopted(name, list(changes), known=bool(held)))
        steps.session.adopted_hosts.add(host_id)
        return outcome_of_answer(steps, row, host_id, answer, diagnostics)
    except Stopped as problem:
        return steps.failed_outcome("adopt", row.request, problem)
    except OpsconsoleError as problem:
        return Outcome(None, diagnostics=diagnose(problem, f"adopt the {name}", HOST))


async def _read_held(
    session: Session, host_id: str
) -> tuple[Mapping[str, Any], tuple[Diagnostic, ...]]:
    """Read the host, with diagnostics; empty where hosts cannot be read."""
    if not reading_operation(session):
        return {}, ()
    try:
        return await read_host(session, host_id), ()
    except BadRequest as problem:
        if session.console.has("host_get"):
            raise
        return {}, note_refused_read(session, host_id, problem)


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


def not_created(
    name: str, verdict: RowVerdict, holder: str | None = None, *, rehearsed: bool, twin: str = ""
) -> Diagnostic:
    """Say why a row was not created, and what can be done about it.

    Args:
        holder: The address that has its id.
        rehearsed: Whether the verdict is that of a dry run, which changed nothing.
        twin: The address of another host of the run that is declared with the same name.
    """
    if not verdict.matched:
        return error(
            f"The {name} was not imported: its verdict is unclear",
            "The console's import answer lists its rows in a way that matches no row of the "
            "request, so nothing was sent for this host. Create it in the console, then import it.",
        )
    run = "a dry run, which changes nothing," if rehearsed else "the import"
    detail = f"In {run} the console gives its row the status {verdict.status or 'nothing'!r}"
    detail += f": {verdict.error}." if verdict.error else "."
    if verdict.id is None and twin:
        remedy = f"{twin} of this run has the same name. Declare each machine once."
    elif verdict.id is None:
        remedy = "It exists already, or its row is wrong. Import it if it exists."
    elif holder is not None:
        remedy = (
            f"It exists already as {verdict.id}, which is {holder}. Declare each machine once; to "
            "replace it, leave create_before_destroy out, here and in all that depends on it, so "
            "that the old one is deleted first."
        )
    else:
        remedy = (
            f"It exists already as {verdict.id}: import it by that id, or set "
            'on_existing_host = "adopt".'
        )
    return error(f"The console would not create the {name}", f"{detail} {remedy}")


def created_by_dry_run(name: str, outcome: Outcome) -> Outcome:
    """Return the outcome of a row that the console created in a dry run."""
    state = outcome.state or {}
    if state.get("id") is None:
        return outcome
    diagnostic = error(
        f"The console created the {name} although it was asked for a dry run only",
        f"It exists now as {state['id']}: import it by that id. This console does not honour "
        "dry runs; plan without --preflight, and ask its operator.",
    )
    return Outcome(None, diagnostics=(diagnostic,))
