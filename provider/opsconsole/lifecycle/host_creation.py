"""Creating hosts: bulk imports, each guarded by a dry run of the same rows, then one read a host.

The document: POST /api/v1/hosts/batch. Once the console says `created`, nothing is an error any
more: an error would taint the host, and the next apply would destroy it with all its agents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import ConsoleError, OpsconsoleError, TooLarge
from opsconsole.lifecycle.concurrency import each
from opsconsole.lifecycle.host_adoption import adopt
from opsconsole.lifecycle.host_matching import match_by_name
from opsconsole.lifecycle.host_refusals import (
    blames_the_rows,
    created_all_the_same,
    not_created,
    shared_id,
    would_adopt,
)
from opsconsole.lifecycle.host_row import Row, import_row, read_back
from opsconsole.lifecycle.interface import ApplyRequest, Outcome
from opsconsole.lifecycle.one_by_one import OneByOne
from opsconsole.lifecycle.translate import diagnose
from opsconsole.lifecycle.verdicts import Verdict, all_created, came_to_be, verdicts
from opsconsole.resources import HOST
from opsconsole.v1.console import ImportResult

_CHUNKS_AT_A_TIME = 2
"""While one chunk is read back the next is imported; more would only queue at the console."""

_IGNORED = (
    "The console's answer to a dry run did not say dry_run: true, so its rows count as imported"
)


class HostCreation:
    """One bulk creation; `steps` are the host's steps, whose names and messages it shares.

    A rehearsal ends where the real import would begin.
    """

    def __init__(self, steps: OneByOne, *, rehearsal: bool = False) -> None:
        self._steps = steps
        self._rehearsal = rehearsal
        self._session = steps.session

    async def run(self, requests: Sequence[ApplyRequest]) -> list[Outcome]:
        """Create a host for each request; one bad row never fails its neighbours."""
        org_id = self._session.settings.org_id
        rows = [Row(request, import_row(request, org_id)) for request in requests]
        await self._in_chunks(rows, self._guarded)
        return [row.settled for row in rows]

    async def rehearse(self, requests: Sequence[ApplyRequest]) -> list[Outcome]:
        """Say of each request what creating it would meet; one without a diagnostic would pass.

        The first row goes alone: a console that ignores the dry run then creates one host and not
        five hundred.
        """
        org_id = self._session.settings.org_id
        rows = [Row(request, import_row(request, org_id)) for request in requests]
        await self._in_chunks(rows[:1], self._guarded)
        await self._in_chunks(rows[1:], self._guarded)
        return [row.outcome or Outcome(None) for row in rows]

    async def _in_chunks(
        self, rows: Sequence[Row], step: Callable[[Sequence[Row]], Awaitable[None]]
    ) -> None:
        size = self._session.import_chunk_size
        chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
        await each(chunks, step, _CHUNKS_AT_A_TIME)

    async def _guarded(self, rows: Sequence[Row]) -> None:
        """Send one chunk as a dry run, and what passes it for real."""
        if self._session.dry_run_ignored:
            self._fail(rows, _NO_MORE)
            return
        try:
            result = await self._send(rows, dry_run=True)
        except OpsconsoleError as problem:
            await self._refused(rows, problem, self._guarded)
            return
        if not result.dry_run:
            await self._unguarded(rows, result)
            return
        await self._judge(rows, result)
        passing = [row for row in rows if row.outcome is None]
        if self._session.dry_run_ignored:
            self._fail(passing, _NO_MORE)
        elif passing and not self._rehearsal:
            await self._for_real(passing)

    async def _for_real(self, rows: Sequence[Row]) -> None:
        """Import rows that passed the dry run."""
        said = {row.request.address: row.guard_word or "" for row in rows}
        await self._session.before_create([row.request for row in rows], said)
        try:
            result = await self._send(rows, dry_run=False)
        except ConsoleError as problem:
            if problem.safe_to_repeat:
                await self._refused(rows, problem, self._for_real)
            else:
                await self._settle(rows, problem)
        else:
            await self._imported(rows, result)

    async def _send(self, rows: Sequence[Row], *, dry_run: bool) -> ImportResult:
        fields = [row.fields for row in rows]
        return await self._session.console.import_hosts(
            fields, on_error="continue", dry_run=dry_run
        )

    async def _refused(
        self,
        rows: Sequence[Row],
        problem: OpsconsoleError,
        step: Callable[[Sequence[Row]], Awaitable[None]],
    ) -> None:
        """Halve a chunk that was refused for what it holds, until the culprits stand alone."""
        if len(rows) == 1 or not blames_the_rows(problem):
            self._fail_all(rows, problem)
            return
        half = (len(rows) + 1) // 2
        if isinstance(problem, TooLarge):
            self._session.import_chunk_size = min(self._session.import_chunk_size, half)
        await step(rows[:half])
        await step(rows[half:])

    async def _judge(self, rows: Sequence[Row], result: ImportResult) -> None:
        """Settle the rows that a dry run does not pass: they exist, or they fail."""
        judged = verdicts(result, len(rows))
        passing = await self._passing(rows, judged, result)
        adopting = self._session.settings.on_existing_host == "adopt"
        found = zip(rows, judged, strict=True)
        ids = Counter(verdict.id for row, verdict in found if row not in passing)

        async def settle_one(pair: tuple[Row, Verdict]) -> None:
            row, verdict = pair
            row.guard_word = verdict.status if verdict.matched else None
            if row in passing or row.outcome is not None:
                return
            if not adopting or verdict.id is None:
                self._fail([row], (self._not_created(row, verdict),))
            elif ids[verdict.id] > 1 or not self._holds(row, verdict.id):
                self._fail([row], (shared_id(self._name(row), verdict.id),))
            else:
                row.outcome = await self._adopted(row, verdict.id)

        await each(list(zip(rows, judged, strict=True)), settle_one, self._session.limit)

    async def _adopted(self, row: Row, host_id: str) -> Outcome:
        if self._rehearsal:
            return Outcome(None, diagnostics=(would_adopt(self._name(row), host_id),))
        return await adopt(self._steps, row, host_id)

    async def _passing(
        self, rows: Sequence[Row], judged: Sequence[Verdict], result: ImportResult
    ) -> set[Row]:
        """Return the rows that a dry run passes, by their own words or by the counts.

        A console may call passing rows something else than `created`. Where the counts say that
        such rows are among others, those of one word are sent again as a dry run of their own, in
        which the counts are certain.
        """
        if all_created(result, len(rows)):
            return set(rows)
        passing = {row for row, verdict in zip(rows, judged, strict=True) if verdict.created}
        hidden = result.counts.get("created", 0) - len(passing)
        words: dict[str, list[Row]] = {}
        for row, verdict in zip(rows, judged, strict=True):
            if verdict.matched and not verdict.created:
                words.setdefault(verdict.status, []).append(row)
        for group in words.values():
            if len(group) > hidden:
                continue
            try:
                alone = await self._send(group, dry_run=True)
            except ConsoleError as problem:
                self._steps.log(problem, "dry-run rows apart from their neighbours")
                continue
            if not alone.dry_run:
                await self._unguarded(group, alone)
                break
            if all_created(alone, len(group)):
                passing.update(group)
        return passing

    async def _imported(self, rows: Sequence[Row], result: ImportResult) -> None:
        """Settle rows by the verdicts of a real import."""
        judged = verdicts(result, len(rows))
        if any(not verdict.matched for verdict in judged):
            judged = await match_by_name(self._steps, rows, result, judged)
        passed = all_created(result, len(rows))
        ids = Counter(verdict.id for verdict in judged if verdict.id is not None)

        async def settle_one(pair: tuple[Row, Verdict]) -> None:
            row, verdict = pair
            if not verdict.matched:
                row.outcome = self._steps.lost(row.request, _UNMATCHED)
            elif not (verdict.created or passed):
                self._fail([row], (self._not_created(row, verdict),))
            elif verdict.id is None:
                row.outcome = self._steps.lost(row.request, _NO_ID)
            elif ids[verdict.id] > 1 or not self._holds(row, verdict.id):
                self._fail([row], (shared_id(self._name(row), verdict.id),))
            else:
                row.outcome = await read_back(self._steps, row, verdict.id)

        await each(list(zip(rows, judged, strict=True)), settle_one, self._session.limit)

    async def _settle(self, rows: Sequence[Row], problem: ConsoleError) -> None:
        """Settle an import whose answer was lost, by a dry run whose answer carries the ids.

        The dry run before the import said that the row did not exist: one of which it says
        otherwise now, with an id, is ours. A row of which it says the same settles nothing, as
        the import may yet be under way. Where this dry run was not heeded, what it created is ours.
        """
        told: tuple[Diagnostic, ...] = ()

        try:
            result = await self._send(rows, dry_run=True)
        except ConsoleError:
            judged: Sequence[Verdict] = ()
        else:
            judged = verdicts(result, len(rows))
            if not result.dry_run:
                self._session.dry_run_ignored = True
                told = (_KEPT,)
        found = dict(zip(rows, judged, strict=False))
        ids = Counter(verdict.id for verdict in judged)
        for row in rows:
            verdict = found.get(row)
            ours = verdict is not None and (
                came_to_be(verdict, row.guard_word) or (bool(told) and verdict.created)
            )
            if verdict is None or verdict.id is None or not ours:
                row.outcome = self._steps.lost(row.request, problem)
            elif ids[verdict.id] > 1 or not self._holds(row, verdict.id):
                self._fail([row], (shared_id(self._name(row), verdict.id),))
            else:
                row.outcome = await read_back(self._steps, row, verdict.id, told)

    async def _unguarded(self, rows: Sequence[Row], result: ImportResult) -> None:
        """Take rows as imported by a console that ignored the dry run; send nothing again.

        The one error stands on a row that was not created, or on the next that would be sent: on
        a created one it would taint the host.
        """
        self._session.dry_run_ignored = True
        await self._imported(rows, result)
        if self._rehearsal:
            for row in rows:
                row.outcome = created_all_the_same(self._name(row), row.settled)
            return
        rows[0].outcome = rows[0].settled.with_diagnostics(_KEPT)

    def _not_created(self, row: Row, verdict: Verdict) -> Diagnostic:
        holder = self._session.held_hosts.get(verdict.id) if verdict.id is not None else None
        return not_created(self._name(row), verdict, holder)

    def _holds(self, row: Row, host_id: str) -> bool:
        """Claim an id for a row; false where another row or resource of the run holds it."""
        holder = row.request.address or f"{row.fields['name']} (row {row.number})"
        return self._session.held_hosts.setdefault(host_id, holder) == holder

    def _name(self, row: Row) -> str:
        return self._steps.name(row.config, row.request.address)

    def _fail_all(self, rows: Sequence[Row], problem: OpsconsoleError) -> None:
        for row in rows:
            doing = f"create the {self._name(row)}"
            self._fail([row], diagnose(problem, doing, HOST))

    def _fail(self, rows: Sequence[Row], told: tuple[Diagnostic, ...]) -> None:
        for row in rows:
            row.outcome = Outcome(None, diagnostics=told)


_NO_MORE = (error(_IGNORED, "Nothing more is sent in this run."),)
_KEPT = warning(
    _IGNORED,
    "What was created is kept in state, and nothing more is sent in this run. This console's "
    "import cannot be guarded: ask its operator.",
)
_UNMATCHED = ConsoleError("The import answer lists its rows in a way that matches no row sent.")
_NO_ID = ConsoleError("The import answer says that the host was created, but not its id.")
