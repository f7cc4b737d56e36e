"""Imports the rows of a file as they are, with the guard and the halving of every import."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from opsconsole.errors import ConsoleError, OpsconsoleError
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.resources.host.rows import (
    NO_VERDICT,
    GuardedImports,
    RowVerdict,
    error_of_dry_run_answer,
    match_verdicts,
    may_pass_in_parts,
)
from opsconsole.v1.console import Console

if TYPE_CHECKING:
    from opsconsole.v1.bodies import ImportResult


@dataclass(frozen=True)
class FileRows:
    """The rows of a file, or some consecutive ones.

    Attributes:
        rows: The fields of each row. In CSV all rows have the same ones, and their values are text.
        on_error: `stop`, `continue` or None: the console chooses.
        dry_run: The `dry_run` of the file's envelope, if any.
        is_csv: Whether they are sent as CSV.
        on_error_parameter: The query parameter for `on_error` beside CSV, which the document does
            not name.
    """

    rows: Sequence[Mapping[str, Any]]
    on_error: str | None
    dry_run: bool | None = None
    is_csv: bool = False
    on_error_parameter: str | None = None

    @property
    def names(self) -> Sequence[str]:
        """The name of each row, or empty."""
        names = (row.get("name") for row in self.rows)
        return ["" if name is None else str(name) for name in names]

    def part(self, start: int, end: int) -> Self:
        return replace(self, rows=self.rows[start:end])

    def of_org(self, org_id: str) -> Self:
        """Return the rows with this org in each that names none."""
        rows = [{**row, "org_id": row.get("org_id") or org_id} for row in self.rows]
        return replace(self, rows=rows)

    async def send(self, console: Console, *, dry_run: bool) -> ImportResult:
        if not self.is_csv:
            on_error = self.on_error or "continue"
            return await console.import_hosts(self.rows, on_error=on_error, dry_run=dry_run)
        # The document does not show the column layout: a first line of field names is sent.
        text = io.StringIO(newline="")
        lines = [[*self.rows[0]], *([*row.values()] for row in self.rows)]
        csv.writer(text, lineterminator="\n").writerows(lines)
        query = {self.on_error_parameter or "": self.on_error} if self.on_error else {}
        return await console.import_hosts_csv(text.getvalue(), query, dry_run=dry_run)


@dataclass(frozen=True, slots=True)
class ReportedRow:
    """The outcome of one row.

    Attributes:
        number: Its position in the file, from 1; empty lines are not counted.
        status: The console's word, `refused`, `not told` or `unknown`.
    """

    number: int
    name: str
    status: str
    id: str | None = None
    error: str | None = None
    created: bool = False
    failed: bool = False


ReportRows = Callable[[Sequence[ReportedRow]], None]


@dataclass
class FileImport:
    """One import of a file.

    Attributes:
        dry_run: Send nothing but dry runs.
        ends_at_failure: Send nothing after a request in which a row failed.
        report: Gets each row's verdict as it comes.
        counts: The console's counts, over all answers.
        problem: Why the rest was not sent.
        failed: Whether a row failed.
        stopped: Whether the console stopped at a row that failed.
        unknown: The number of rows whose outcome is not known.
        judged: The number of rows with a verdict; the others were not sent.
    """

    session: ConsoleSession
    dry_run: bool
    ends_at_failure: bool
    report: ReportRows
    counts: Counter[str] = field(default_factory=Counter)
    problem: OpsconsoleError | None = None
    failed: bool = False
    stopped: bool = False
    unknown: int = 0
    judged: int = 0

    def __post_init__(self) -> None:
        self._imports = self.session.singleton(GuardedImports)

    async def run(self, rows: FileRows) -> None:
        total = len(rows.rows)
        done = 0
        try:
            while done < total and not self._has_ended:
                # It is not known yet whether the console honours a dry run: if not, it imports only
                # one row.
                first = self.dry_run and not self.session.dry_runs.honoured
                size = 1 if first else self._imports.chunk_size
                await self._send_chunk(rows.part(done, done + size), done)
                done += size
        except OpsconsoleError as problem:
            self.problem = problem

    @property
    def is_dry_run_sure(self) -> bool:
        lost = isinstance(self.problem, ConsoleError) and not self.problem.had_no_effect
        dry_runs = self.session.dry_runs
        return not dry_runs.ignored and (dry_runs.honoured or not lost)

    @property
    def _has_ended(self) -> bool:
        return self.failed and self.ends_at_failure

    async def _send_chunk(self, rows: FileRows, start: int) -> None:
        """Send one chunk as a dry run, then for real unless only a dry run is wanted."""
        before: Sequence[RowVerdict] = ()
        console = self.session.console
        try:
            result = await self._imports.send_dry_run(lambda: rows.send(console, dry_run=True))
            verdicts = match_verdicts(result, len(rows.rows))
            if result.dry_run and not self.dry_run:
                # If the answer of the import is lost, a later dry run is compared with these.
                before = verdicts
                result = await rows.send(console, dry_run=False)
                if result.dry_run:
                    raise error_of_dry_run_answer()
                verdicts = await self._add_missing_ids(rows, before, result)
            self.counts.update(result.counts)
            self.stopped = self.stopped or result.stopped
            self.failed = self.failed or result.stopped or result.counts.get("failed", 0) > 0
            self._report(rows, start, verdicts)
        except OpsconsoleError as problem:
            if before and isinstance(problem, ConsoleError) and not problem.had_no_effect:
                created = await self._find_created(rows, before)
                # No answer has counted these.
                self.counts["created"] += len(created)
                unknown = NO_VERDICT._replace(status="unknown", error=str(problem))
                self._report(rows, start, [created.get(n, unknown) for n in range(len(before))])
            elif may_pass_in_parts(problem):
                await self._split_refused(rows, start, problem)
            else:
                raise

    async def _split_refused(self, rows: FileRows, start: int, problem: OpsconsoleError) -> None:
        """Halve a chunk that was refused for its content, until each refused row is alone."""
        count = len(rows.rows)
        half = self._imports.split_size(count, problem)
        if not half:
            refused = RowVerdict(matched=True, created=False, status="refused", error=str(problem))
            self._report(rows, start, [refused])
            return
        await self._send_chunk(rows.part(0, half), start)
        if not self._has_ended:
            await self._send_chunk(rows.part(half, count), start + half)

    async def _find_created(
        self, rows: FileRows, before: Sequence[RowVerdict]
    ) -> dict[int, RowVerdict]:
        """Return, by index, the rows whose host exists now according to a dry run.

        Args:
            before: The verdicts of the dry run before the import.
        """
        try:
            again = await self._imports.send_dry_run(
                lambda: rows.send(self.session.console, dry_run=True)
            )
        except ConsoleError:
            return {}  # nothing is known beyond the import's answer
        verdicts = match_verdicts(again, len(rows.rows))
        return {
            index: now._replace(created=True, status="created", error=None)
            for index, (earlier, now) in enumerate(zip(before, verdicts, strict=True))
            if now.shows_creation(earlier.status)
        }

    async def _add_missing_ids(
        self, rows: FileRows, before: Sequence[RowVerdict], result: ImportResult
    ) -> list[RowVerdict]:
        """Return the verdicts of an import; another dry run adds the ids that they lack."""
        verdicts = match_verdicts(result, len(rows.rows))
        # A row without a verdict may have been created too; after a stop the console left it out.
        without = {
            index
            for index, verdict in enumerate(verdicts)
            if verdict.id is None and (verdict.created or not (result.stopped or verdict.matched))
        }
        created = await self._find_created(rows, before) if without else {}
        for index in without.intersection(created):
            verdicts[index] = created[index]
        return verdicts

    def _report(self, rows: FileRows, start: int, verdicts: Sequence[RowVerdict]) -> None:
        reported = []
        for number, (name, verdict) in enumerate(zip(rows.names, verdicts, strict=True), start + 1):
            unknown = verdict.status == "unknown" and not verdict.matched
            self.unknown += unknown
            failed = bool(verdict.error) or not (verdict.matched or verdict.created)
            status = verdict.status if verdict.matched or unknown else "not told"
            reported.append(
                ReportedRow(
                    number, name, status, verdict.id, verdict.error, verdict.created, failed
                )
            )
            self.failed = self.failed or failed
        self.judged += len(reported)
        self.report(reported)
