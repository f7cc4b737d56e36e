"""The rows of bulk imports: their dry runs, the verdict on each, and the outcome of its host.

The document: POST /api/v1/hosts/batch. Only its answer shows whether a console honours `dry_run`,
so the first dry run of a run goes alone, and nothing follows one that was not honoured. The
document does not show the base of `results[].index`, whether rows after a stop are listed, or any
status other than `created`: the matching needs none of these. An entry that matches no row settles
nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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
from opsconsole.lifecycle.answers import explain_mismatch, values_shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import CreateRequest, Outcome
from opsconsole.lifecycle.planning import fill_unknown
from opsconsole.lifecycle.private_state import PrivateState, is_sentinel
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.lifecycle.translate import diagnose
from opsconsole.lifecycle.writes import unread_warning, update_once
from opsconsole.resources import HOST
from opsconsole.resources.host.known import EmptyUpdateRefused, HostReader, HostsUnreadable
from opsconsole.values import Values, changed_fields

if TYPE_CHECKING:
    from opsconsole.v1.bodies import ImportResult, RowResult

CREATION_ONLY = tuple(a.name for a in HOST.settable if a.change is ChangeRule.REPLACE)
"""The attributes that can be set at creation only."""
DRY_RUN_IMPORTED = (
    "The console's answer to a dry run did not say dry_run: true, so its rows count as imported"
)


class RowVerdict(NamedTuple):
    """The verdict of an import on one row.

    Attributes:
        matched: Whether an entry of the answer belongs to the row.
        created: Whether its status is `created`, or the counts alone say so of every row; in a dry
            run: whether it would be created.
        is_shared: Whether the answer gives its id to another row too.
        of_dry_run: Whether nothing was imported.
    """

    matched: bool
    created: bool
    status: str = ""
    id: str | None = None
    error: str | None = None
    is_shared: bool = False
    of_dry_run: bool = False

    def shows_creation(self, dry_run_status: str) -> bool:
        """Return whether this verdict of a later dry run proves that the import created the host.

        The row must have an id now, and another status than in the dry run before the import; an
        unknown status (empty) settles nothing.
        """
        differs = bool(dry_run_status) and self.status != dry_run_status
        return differs and self.id is not None and not self.created


NO_VERDICT: Final = RowVerdict(matched=False, created=False)


def match_verdicts(result: ImportResult, rows: int) -> list[RowVerdict]:
    """Return the verdicts on `rows` rows, in the order of the request."""
    all_created = sum(result.counts.values()) == result.counts.get("created") == rows
    verdicts = [NO_VERDICT._replace(created=all_created, of_dry_run=result.dry_run)] * rows
    base = _index_base(result.results, rows)
    if base is None:
        return verdicts
    entries = [entry for entry in result.results if entry.index is not None]
    ids = Counter(entry.id for entry in entries)
    for entry in entries:
        verdicts[(entry.index or 0) - base] = RowVerdict(
            matched=True,
            created=all_created or entry.status == "created",
            status=entry.status or "",
            id=entry.id,
            error=entry.error,
            is_shared=ids[entry.id] > 1,
            of_dry_run=result.dry_run,
        )
    return verdicts


def _index_base(results: Sequence[RowResult], rows: int) -> int | None:
    """Return the index of the first row, or None if the results leave it open."""
    indexes = [entry.index for entry in results if entry.index is not None]
    if len(set(indexes)) != len(indexes) or not indexes:
        return None
    low, high = min(indexes), max(indexes)
    if low < 0 or high - low >= rows:
        return None
    # Every row has a verdict, so that the lowest index is that of the first row.
    if high - low == rows - 1:
        return low
    if low == 0:
        return 0
    # No row has this index if they are counted from 0.
    return 1 if high == rows else None


def error_of_dry_run_answer() -> ConsoleError:
    """Return the error for a real import answered as a dry run, whose verdicts mean nothing."""
    return ConsoleError(
        "The console's answer to a real import says dry_run: true, so whether it imported anything "
        "is not known.",
        "It may be in a mode in which nothing is changed: ask its operator.",
    )


class DryRunIgnored(NotSent):
    """Not sent: the console imported the rows of an earlier dry run."""


class GuardedImports:
    """The bulk imports of one run, and their dry runs.

    Attributes:
        chunk_size: Rows in one request; shrinks when the console refuses the size.
    """

    def __init__(self, session: ConsoleSession) -> None:
        self.chunk_size = session.settings.import_chunk_size
        self._console = session.console
        self._session = session

    async def dry_run(self, rows: Sequence[Mapping[str, Any]]) -> ImportResult:
        """Send rows of hosts as a dry run; raises as `send_dry_run`."""
        send = self._console.import_hosts
        return await self.send_dry_run(lambda: send(rows, on_error="continue", dry_run=True))

    async def send_dry_run(self, send: Callable[[], Awaitable[ImportResult]]) -> ImportResult:
        """Send a dry run, and note by its result's `dry_run` whether it was honoured.

        Raises:
            DryRunIgnored: An earlier one was not honoured, so this one was not sent.
            ConsoleError: `send` raised it.
        """
        # Until an answer shows that dry runs are honoured, they go one by one: a console that
        # imports the rows gets no second chunk.
        dry_runs = self._session.dry_runs
        async with nullcontext() if dry_runs.honoured else dry_runs.one_at_a_time:
            if dry_runs.ignored:
                raise DryRunIgnored(f"{DRY_RUN_IMPORTED}. Nothing more is sent.")
            result = await send()
            dry_runs.honoured = dry_runs.honoured or result.dry_run
            dry_runs.ignored = dry_runs.ignored or not result.dry_run
            return result

    def split_size(self, rows: int, problem: OpsconsoleError) -> int:
        """Return how many rows of a refused request to send first; 0 if splitting cannot help."""
        if rows == 1 or not may_pass_in_parts(problem):
            return 0
        half = rows // 2
        if isinstance(problem, TooLarge):
            # A size that the console refuses with 413 is not tried again in this run.
            self.chunk_size = min(self.chunk_size, half)
        return half


def may_pass_in_parts(problem: OpsconsoleError) -> bool:
    """Return whether fewer or other rows may pass where these did not."""
    if isinstance(problem, UnexpectedAnswer):
        # A gateway may refuse a size too, without the documented body.
        return problem.status == 400
    # A row that cannot be written as JSON is a UserError, before anything is sent.
    return isinstance(problem, BadRequest | TooLarge | UserError)


_DESTROY_FIRST: Final = (
    "leave create_before_destroy out, here and in all that depends on it, so that the old one is "
    "deleted first."
)


def explain_not_created(
    name: str,
    verdict: RowVerdict,
    holder: str | None,
    *,
    twin: str,
    replaces: bool,
) -> Diagnostic:
    """Explain why a row was not created, and the remedy.

    Args:
        holder: The address that has its id.
        twin: Another host of the run with the same name, by its address if the engine tells it.
        replaces: Whether its address holds another host, to be deleted after its creation.
    """
    if not verdict.matched:
        return error(
            f"The {name} was not imported: its verdict is unclear",
            "The console's import answer lists its rows in a way that matches no row of the "
            "request, so nothing was sent for this host. Create it in the console, then import it.",
        )
    run = "a dry run, which changes nothing," if verdict.of_dry_run else "the import"
    detail = f"In {run} the console gives its row the status {verdict.status or 'nothing'!r}"
    detail += f": {verdict.error}." if verdict.error else "."
    if verdict.id is None and twin:
        remedy = f"{twin} of this run has the same name. Declare each machine once."
    elif verdict.id is None and replaces:
        remedy = (
            "It exists already, or its row is wrong. If the host that it replaces is in its way, "
            f"{_DESTROY_FIRST}"
        )
    elif verdict.id is None:
        remedy = "It exists already, or its row is wrong. Import it if it exists."
    elif holder is not None:
        remedy = (
            f"It exists already as {verdict.id}, which is {holder}. Declare each machine once; to "
            f"replace it, {_DESTROY_FIRST}"
        )
    else:
        remedy = (
            f"It exists already as {verdict.id}: import it by that id, or set "
            'on_existing_host = "adopt".'
        )
    return error(f"The console would not create the {name}", f"{detail} {remedy}")


def refuse_dry_run_creation(name: str, outcome: Outcome) -> Outcome:
    """Refuse the outcome of a row that the console created in a dry run."""
    state = outcome.state or {}
    if state.get("id") is None:
        return outcome
    detail = f"It exists now as {state['id']}: import it by that id."
    if is_sentinel(state["id"]):
        detail = "It may exist now, and its id is not known: look it up in the console."
    diagnostic = error(
        f"The console created the {name} although it was asked for a dry run only",
        f"{detail} This console does not honour dry runs; plan without --preflight, and ask its "
        "operator.",
    )
    return Outcome(None, diagnostics=(diagnostic,))


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
    return Outcome(fill_unknown(row.request.planned, {"id": row.host_id}), private)


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
    except (Stopped, HostsUnreadable):
        reader = lifecycle.session.singleton(HostReader)
        return unread_outcome(row).with_diagnostics(*reader.refusal_warnings())
    except Exception as problem:
        # The host exists: an error would taint it, and the next apply would destroy it with its
        # agents.
        unread = unread_outcome(row)
        why = diagnose(problem, "read it", HOST)[0]
        name = lifecycle.describe(unread.state)
        return unread.with_diagnostics(unread_warning(name, "could not be read back", why))
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
    unobserved = [name for name in fixed if name not in shown]
    if unobserved:
        not_verified = warning(
            f"Not verified: {', '.join(unobserved)} of the {lifecycle.describe(state)}",
            "The console does not show these values, and no update changes them: state holds what "
            "is declared.",
            (unobserved[0],),
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
            return Outcome(None, diagnostics=(_adoption_error(title, fixed, planned, current),))
        changes = lifecycle.changes_to(current, row.request, lifecycle.updated_names)
        if changes:
            answer = await update_once(lifecycle, row.request, host_id, changes)
        diagnostics = (
            *lifecycle.session.singleton(HostReader).refusal_warnings(),
            _adoption_warning(title, list(changes), known=bool(current)),
        )
        # The deletion of a former declaration of this host must not delete it any more.
        lifecycle.session.adopted.add((HOST.type_name, host_id))
        return _outcome_of_answer(lifecycle, row, answer, diagnostics)
    except Stopped as problem:
        return lifecycle.failed_outcome("adopt", row.request, problem)
    except OpsconsoleError as problem:
        return Outcome(None, diagnostics=diagnose(problem, f"adopt the {title}", HOST))


def _adoption_warning(title: str, changed: list[str], *, known: bool) -> Diagnostic:
    listed = ", ".join(changed)
    if not known:
        detail = f"Hosts cannot be read, so everything declared was sent: {listed}."
    elif changed:
        detail = f"Changed to what is declared: {listed}."
    else:
        detail = "Nothing changed."
    return warning(f"The {title} existed already and is adopted", detail)


def _adoption_error(title: str, fixed: list[str], planned: Values, current: Values) -> Diagnostic:
    contrast = "; ".join(
        f"{name} is {current[name]!r} on the console and {planned[name]!r} in the program"
        for name in fixed
    )
    return error(
        f"The {title} exists already and differs in attributes that cannot be changed",
        f"{contrast}. Declare what the console holds, or delete the host there.",
        (fixed[0],),
    )
