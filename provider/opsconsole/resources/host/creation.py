"""Creates hosts by bulk imports, each guarded by a dry run of its rows, and reads each host back.

Also settles the creates that an earlier run left unsettled, by a dry run of their rows.

The document: POST /api/v1/hosts/batch. After the console says `created`, nothing is an error any
more. An error would taint the host, and the next apply would destroy it with all its agents.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import BadRequest, ConsoleError, OpsconsoleError, TooLarge
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    BULK_CREATES_AT_A_TIME,
    NEVER_CREATED,
    STILL_UNSETTLED,
    CreateRequest,
    Outcome,
    ReportOutcomes,
    UnsettledCreate,
)
from opsconsole.lifecycle.planning import creation_fields, request_of
from opsconsole.lifecycle.session import map_limited
from opsconsole.lifecycle.writes import unsettled_outcome
from opsconsole.resources import HOST
from opsconsole.resources.host.known import HostDeletions
from opsconsole.resources.host.rows import (
    DRY_RUN_IMPORTED,
    DryRunIgnored,
    GuardedImports,
    ImportRow,
    adopt,
    error_of_dry_run_answer,
    explain_not_created,
    match_verdicts,
    read_back,
    refuse_dry_run_creation,
    unread_outcome,
)
from opsconsole.values import Values

if TYPE_CHECKING:
    from opsconsole.v1.bodies import ImportResult


_NOTHING_MORE_SENT = error(DRY_RUN_IMPORTED, "Nothing more is sent in this run.")
_CREATED_BY_DRY_RUN = warning(
    DRY_RUN_IMPORTED,
    "What was created is kept in state, and no further host is sent in this run. A dry run does "
    "not protect imports on this console: ask its operator.",
)
_ID_UNKNOWN = ConsoleError(
    "The import answer says that hosts were created, but not which of them this one is."
)
_FieldNames = frozenset[str]


class BulkCreate:
    """The guarded imports of one creation.

    Each row is reported once its outcome is known. With `dry_run_only`, it ends where the real
    import would begin, and reports only rows that would not be created.
    """

    def __init__(
        self, lifecycle: BaseLifecycle, report: ReportOutcomes, *, dry_run_only: bool = False
    ) -> None:
        self._lifecycle = lifecycle
        self._report = report
        self._dry_run_only = dry_run_only
        self._session = lifecycle.session
        self._deletions = lifecycle.session.singleton(HostDeletions)
        self._imports = lifecycle.session.singleton(GuardedImports)
        self._named: dict[str, list[ImportRow]] = {}

    async def run(self, requests: Sequence[CreateRequest]) -> None:
        """Create a host for each request; one bad row never fails its neighbours."""
        org_id = self._session.settings.org_id
        rows = [ImportRow(item, creation_fields(HOST, item.config, org_id)) for item in requests]
        for row in rows:
            self._named.setdefault(row.fields["name"], []).append(row)
        size = self._imports.chunk_size
        chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
        await map_limited(chunks, self._create_chunk, BULK_CREATES_AT_A_TIME)

    async def _create_chunk(self, rows: Sequence[ImportRow]) -> None:
        """Send one chunk as a dry run, then import the rows that pass."""
        # Noted before the dry run: a deletion that ends while the dry run is under way may change
        # its verdicts.
        ended = frozenset(self._deletions.ended)
        try:
            result = await self._imports.dry_run([row.fields for row in rows])
        except DryRunIgnored:
            await self._report_reason(rows, _NOTHING_MORE_SENT)
            return
        except OpsconsoleError as problem:
            await self._split_refused(rows, problem, self._create_chunk)
            return
        _take_verdicts(rows, result)
        if not result.dry_run:
            # A warning, not an error: an error would taint a created host.
            rows[0].notes = () if self._dry_run_only else (_CREATED_BY_DRY_RUN,)
            await self._report_imported(rows)
            return
        await map_limited(rows, self._judge, self._session.settings.max_concurrency)
        # Listed before the import, which gives new verdicts.
        passing = [row for row in rows if row.verdict.created]
        refused = [row for row in rows if not row.verdict.created]
        if self._session.dry_runs.ignored:
            await self._report_reason(passing, _NOTHING_MORE_SENT)
        elif passing and not self._dry_run_only:
            await self._send_import(passing)
        if not self._session.sees_whole_plan:
            await map_limited(
                refused, partial(self._create_after_deletion, ended=ended), len(refused)
            )

    async def _judge(self, row: ImportRow) -> None:
        """Keep a row's verdict of the dry run; adopt or refuse the row if it is final."""
        row.dry_run_status = row.verdict.status
        # Natively, a host in the place of a new one is deleted before. Terraform may delete it
        # while other rows are imported.
        if self._session.sees_whole_plan and not row.verdict.created:
            await self._adopt_or_refuse(row)

    async def _create_after_deletion(self, row: ImportRow, ended: Collection[str]) -> None:
        """Create a host once the deletion of the one in its place has ended, or refuse its row.

        Args:
            ended: The deletions that had ended before the dry run.
        """
        if await self._deletions.wait_for_host(row.verdict.id, ended):
            await self._create_chunk([row])
        else:
            await self._adopt_or_refuse(row)

    async def _send_import(self, rows: Sequence[ImportRow]) -> None:
        statuses = {row.request.address: row.dry_run_status for row in rows}
        await self._session.before_write("create", [row.request for row in rows], statuses)
        fields = [row.fields for row in rows]
        send = self._session.console.import_hosts
        try:
            result = await send(fields, on_error="continue", dry_run=False)
            if result.dry_run:
                raise error_of_dry_run_answer()
        except ConsoleError as problem:
            if problem.had_no_effect:
                await self._split_refused(rows, problem, self._send_import)
            else:
                await self._settle_by_dry_run(rows, problem)
            return
        _take_verdicts(rows, result)
        await self._report_imported(rows)

    async def _split_refused(
        self,
        rows: Sequence[ImportRow],
        problem: OpsconsoleError,
        step: Callable[[Sequence[ImportRow]], Awaitable[None]],
    ) -> None:
        """Halve a chunk that was refused for its content, until each refused row is alone."""
        half = self._imports.split_size(len(rows), problem)
        if not half:
            for row in rows:
                await self._report_row(
                    row, self._lifecycle.failed_outcome("create", row.request, problem)
                )
            return
        await step(rows[:half])
        await step(rows[half:])

    async def _adopt_or_refuse(self, row: ImportRow) -> None:
        """Adopt the host that prevents a creation, or report it."""
        adopting = self._session.settings.on_existing_host == "adopt"
        if not adopting or row.verdict.id is None:
            await self._report_reason([row], self._not_created(row))
        elif refusal := self._claim(row):
            await self._report_reason([row], refusal)
        elif not self._dry_run_only:
            await self._report_row(row, await adopt(self._lifecycle, row))
        else:
            would_adopt = warning(
                f"The {self._name(row)} exists already and would be adopted",
                f"Its id is {row.host_id}; attributes that are declared otherwise would be "
                "changed there.",
            )
            await self._report_reason([row], would_adopt)

    async def _report_imported(self, rows: Sequence[ImportRow]) -> None:
        """Report rows by the verdicts of a real import."""
        created: list[ImportRow] = []
        unknown: list[ImportRow] = []
        for row in rows:
            verdict = row.verdict
            if not verdict.matched or (verdict.created and verdict.id is None):
                unknown.append(row)
            elif not verdict.created:
                await self._adopt_or_refuse(row)
            elif refusal := self._claim(row):
                await self._report_reason([row], refusal)
            else:
                created.append(row)
        unknown += await self._read_back(created)
        if unknown:
            await self._settle_by_dry_run(unknown, _ID_UNKNOWN)

    async def _read_back(self, created: Sequence[ImportRow]) -> list[ImportRow]:
        """Report hosts that were created, then read each and report it again.

        Returns:
            The rows whose id belongs to another host, as an answer may swap the ids.
        """
        # Once its id is durable, a host is not created again if the run ends while it is read back.
        if created:
            unread = [(row.request, unread_outcome(row)) for row in created]
            await self._report(unread, final=False)

        others: list[ImportRow] = []

        async def read_one(row: ImportRow) -> None:
            outcome = await read_back(self._lifecycle, row)
            if outcome is not None:
                await self._report_row(row, outcome)
                return
            # The id was claimed for this row, and belongs to another host.
            self._session.release(HOST.type_name, row.host_id)
            others.append(row)

        await map_limited(created, read_one, self._session.settings.max_concurrency)
        return others

    async def _settle_by_dry_run(self, rows: Sequence[ImportRow], problem: ConsoleError) -> None:
        """Settle an import whose answer was lost, by a dry run whose answer carries the ids."""
        try:
            result = await self._imports.dry_run([row.fields for row in rows])
        except ConsoleError as unanswered:
            self._lifecycle.log(unanswered, "settle an import whose answer was lost")
            for row in rows:
                await self._report_row(row, self._outcome_lost(row, problem))
            return
        _take_verdicts(rows, result)
        imported = not result.dry_run
        created: list[ImportRow] = []
        for row in rows:
            # The earlier dry run gave the row the status of a new host. Another status now shows
            # that this import created it. The same status settles nothing, as the import may still
            # be under way. If this dry run was not honoured, its hosts are ours.
            verdict = row.verdict
            ours = verdict.shows_creation(row.dry_run_status) or (imported and verdict.created)
            if verdict.id is None or not ours:
                await self._report_row(row, self._outcome_lost(row, problem))
            elif refusal := self._claim(row):
                await self._report_reason([row], refusal)
            else:
                created.append(row)
                row.notes = (_CREATED_BY_DRY_RUN,) if imported else ()
        for row in await self._read_back(created):
            row.notes = ()
            await self._report_row(row, self._outcome_lost(row, problem))

    def _outcome_lost(self, row: ImportRow, problem: ConsoleError) -> Outcome:
        return unsettled_outcome(self._lifecycle, row.request, problem, row.dry_run_status)

    def _not_created(self, row: ImportRow) -> Diagnostic:
        holders = self._session.holders[HOST.type_name]
        twins = (item for item in self._named[row.fields["name"]] if item is not row)
        diagnostic = explain_not_created(
            self._name(row),
            row.verdict,
            holders.get(row.verdict.id or ""),
            twin=next((item.request.address or "Another host" for item in twins), ""),
            replaces=f"{row.request.address} in state" in holders.values(),
        )
        if self._session.sees_whole_plan or not self._session.removals_begun:
            return diagnostic
        again = "If it is a host that this run deletes, apply again: it is gone by then."
        return replace(diagnostic, detail=f"{diagnostic.detail} {again}")

    def _claim(self, row: ImportRow) -> Diagnostic | None:
        """Claim the id of a row's verdict, or refuse one that stands for two declarations."""
        session, host_id = self._session, row.host_id
        holder: str | None
        if row.verdict.is_shared:
            holder = session.holders[HOST.type_name].get(host_id, "")
        else:
            holder = session.claim(HOST.type_name, host_id, row.request.address, self._name(row))
        if holder is None:
            return None
        other = f" It is held by {holder} already." if holder else ""
        return error(
            f"The console gave the {self._name(row)} an id that another host holds",
            f"{host_id} would stand for two declarations, so it is not added to state "
            f"again.{other} Declare each machine once, and import it by its id.",
        )

    def _name(self, row: ImportRow) -> str:
        return self._lifecycle.describe(row.request.config, row.request.address)

    async def _report_reason(self, rows: Sequence[ImportRow], diagnostic: Diagnostic) -> None:
        for row in rows:
            await self._report_row(row, Outcome(None, diagnostics=(diagnostic,)))

    async def _report_row(self, row: ImportRow, outcome: Outcome) -> None:
        outcome = outcome.with_diagnostics(*row.notes) if row.notes else outcome
        if self._dry_run_only:
            outcome = refuse_dry_run_creation(self._name(row), outcome)
        await self._report([(row.request, outcome)])


def _take_verdicts(rows: Sequence[ImportRow], result: ImportResult) -> None:
    for row, verdict in zip(rows, match_verdicts(result, len(rows)), strict=True):
        row.verdict = verdict


async def settle_host_creates(
    lifecycle: BaseLifecycle, creates: Sequence[UnsettledCreate], existing: Sequence[Values]
) -> list[Outcome]:
    """Settle creates, in order, which fit into one dry run with as many control rows.

    A dry run that shows an id for a row proves that the host was created. A dry run that would
    create the host proves the contrary only if it also recognises a control row: the row of a host
    that certainly exists, cut to the same fields.

    Args:
        existing: Hosts that are known to exist.
    """
    org_id = lifecycle.session.settings.org_id
    rows = []
    for item in creates:
        request = request_of(item, HOST)
        fields = creation_fields(HOST, request.config, org_id)
        rows.append(ImportRow(request, fields, dry_run_status=item.dry_run_status))
    control = _control_rows(rows, existing)
    try:
        sent = [row.fields for row in rows] + [fields for _, fields in control.values()]
        result = await lifecycle.session.singleton(GuardedImports).dry_run(sent)
    except (BadRequest, TooLarge, DryRunIgnored) as problem:
        lifecycle.log(problem, "settle what an earlier run may have created")
        return [STILL_UNSETTLED] * len(rows)
    verdicts = match_verdicts(result, len(sent))
    in_state = {host.get("id") for host in existing}
    created = []
    for row, verdict in zip(rows, verdicts, strict=False):
        row.verdict = verdict
        # An id that several rows share, or that is in state, proves no creation.
        is_new = not verdict.is_shared and verdict.id not in in_state
        is_shown = is_new and verdict.shows_creation(row.dry_run_status)
        # A dry run that was not honoured has created the host itself.
        if verdict.id is not None and (is_shown if result.dry_run else verdict.created):
            created.append(row)
    recognised: set[_FieldNames] = set()
    if result.dry_run:
        recognised.update(frozenset(row.fields) for row in created)
        answers = zip(control.items(), verdicts[len(rows) :], strict=True)
        recognised.update(names for (names, (host_id, _)), it in answers if it.id == host_id)
    outcomes: list[Outcome] = []
    for row in rows:
        if row in created:
            outcomes.append(await read_back(lifecycle, row) or STILL_UNSETTLED)
            continue
        status = row.dry_run_status
        would_create = row.verdict.created or (bool(status) and row.verdict.status == status)
        never = would_create and frozenset(row.fields) in recognised
        outcomes.append(NEVER_CREATED if never else STILL_UNSETTLED)
    return outcomes


def _control_rows(
    rows: Sequence[ImportRow], existing: Sequence[Values]
) -> Mapping[_FieldNames, tuple[str, dict[str, object]]]:
    """Return the id and the row of an existing host, for each set of fields in `rows`."""
    control: dict[_FieldNames, tuple[str, dict[str, object]]] = {}
    # In the order of the row, so that the same run sends the same bytes.
    for fields, names in {frozenset(row.fields): [*row.fields] for row in rows}.items():
        shown = (it for it in existing if all(it.get(name) is not None for name in names))
        if host := next(shown, None):
            control[fields] = (host["id"], {name: host[name] for name in names})
    return control
