"""`opsconsole hosts import FILE`: the documented bulk import, with its verdict on every row.

A dry run comes first. The values are sent as they are in the file. State is not involved.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from typing import Any

from opsconsole.cli import opening
from opsconsole.cli.host_rows import print_warning_of_override, read_rows
from opsconsole.cli.interrupts import Interrupts, make_runner, run_stoppable
from opsconsole.cli.standard_streams import pen_for, write_or_stderr
from opsconsole.cli.table import FAILED, INTERRUPTED
from opsconsole.errors import Stopped, UserError
from opsconsole.resources.host.file_import import FileImport, FileRows, ReportedRow, ReportRows
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.text import plural, printable
from opsconsole.v1.settings import Settings


def run(args: argparse.Namespace) -> int:
    rows = read_rows(args.file, args.on_error, args.on_error_parameter)
    if args.on_error and rows.is_csv and not args.on_error_parameter:
        raise UserError(
            "The API document does not name the query parameter that says what to do after a "
            "row that fails, and CSV has no other place for it.",
            "Name it with --on-error-parameter, leave --on-error out, or import JSON rows.",
        )
    if args.on_error_parameter and not rows.is_csv:
        raise UserError(
            f"--on-error-parameter is for CSV, and {args.file} is JSON, whose body has `on_error`.",
            "Leave it out.",
        )
    print_warning_of_override(args.file, "dry_run", rows.dry_run, args.dry_run)
    if args.dry_run is None:
        args.dry_run = bool(rows.dry_run)
    settings, _ = opening.read_settings(args)
    if settings.org_id:
        rows = rows.of_org(settings.org_id)
    printer = _JsonLines() if args.json else _Lines(args)
    with make_runner() as runner:
        done = run_stoppable(
            runner,
            lambda interrupts: _import_file(args, settings, rows, printer.report, interrupts),
        )
    printer.end(args, done, len(rows.names))
    if isinstance(done.problem, Stopped):
        return INTERRUPTED
    if done.session.dry_runs.ignored:
        raise UserError(
            "The console's answer to a dry run does not say dry_run: true, so the rows in it may "
            "have been imported: their ids are above.",
            "Look at the console before anything is sent again. Nothing more was sent.",
        )
    if done.problem is not None:
        if done.judged and not args.dry_run:
            # Some rows are imported already, so the import must not be retried.
            raise UserError(done.problem.message, done.problem.remedy) from done.problem
        raise done.problem
    return FAILED if done.failed else 0


async def _import_file(
    args: argparse.Namespace,
    settings: Settings,
    rows: FileRows,
    report: ReportRows,
    interrupts: Interrupts,
) -> FileImport:
    provider = ConfiguredProvider(settings)
    interrupts.watch(provider)
    try:
        work = FileImport(provider.session, args.dry_run, rows.on_error == "stop", report)
        await work.run(rows)
        return work
    finally:
        await provider.close()


class _Lines:
    def __init__(self, args: argparse.Namespace) -> None:
        self._pen = pen_for(args)
        self._begun = False

    def report(self, rows: Sequence[ReportedRow]) -> None:
        lines = []
        if not self._begun:
            self._begun = True
            lines.append(self._line("row", "name", "verdict", "id", "error"))
        for row in rows:
            colour = ("red",) if row.failed else ("green",) if row.created else ()
            line = self._line(
                str(row.number), row.name or "-", row.status, row.id or "-", row.error or ""
            )
            lines.append(self._pen.paint(line.rstrip("\n"), *colour) + "\n")
        write_or_stderr("".join(lines))
        sys.stdout.flush()

    def _line(self, *cells: str) -> str:
        widths = (6, 24, 10, 26, 0)
        fitted = (f"{printable(cell):<{width}}" for cell, width in zip(cells, widths, strict=True))
        return "  ".join(fitted).rstrip() + "\n"

    def end(self, args: argparse.Namespace, done: FileImport, total: int) -> None:
        counts = ", ".join(f"{count:,} {name}" for name, count in done.counts.items())
        title = "Import"
        if args.dry_run:
            title = "Dry run, nothing was imported"
            if done.session.dry_runs.ignored:
                title = "The console ignored the dry run and imported rows"
            elif not done.is_dry_run_sure:
                title = "Dry run without an answer, so it is not known whether it imported rows"
        if done.unknown:
            sys.stdout.write(
                f"\nIt is not known whether {plural(done.unknown, 'row')} marked unknown were "
                "imported: the answer was lost. They are not sent again; --dry-run shows which "
                "of them the console knows.\n"
            )
        if done.stopped:
            sys.stdout.write("\nThe console stopped at a row that failed.\n")
        sys.stdout.write(f"\n{title}: {counts or 'no counts'}.\n")
        if total > done.judged:
            sys.stdout.write(f"Not sent: {total - done.judged:,} of {plural(total, 'row')}.\n")
        sys.stdout.flush()


class _JsonLines:
    """Prints a JSON object for each row as its verdict comes, and one at the end."""

    def report(self, rows: Sequence[ReportedRow]) -> None:
        self._write(*({"object": "row", **dataclasses.asdict(row)} for row in rows))

    def end(self, args: argparse.Namespace, done: FileImport, total: int) -> None:
        self._write(
            {
                "object": "import",
                "dry_run": args.dry_run and done.is_dry_run_sure,
                "counts": dict(done.counts),
                "rows": total,
                "not_sent": total - done.judged,
            }
        )

    def _write(self, *documents: dict[str, Any]) -> None:
        write_or_stderr("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in documents))
        sys.stdout.flush()
