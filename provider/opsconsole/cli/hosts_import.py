"""`opsconsole hosts import FILE`: the documented bulk import, with its verdict on every row.

A dry run of the rows comes first. The values are sent exactly as they are in the file. Nothing is
kept in state.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from opsconsole.cli import opening
from opsconsole.cli.interrupts import Interrupts, make_runner, run_stoppable
from opsconsole.cli.standard_streams import pen_for, write_or_stderr
from opsconsole.cli.table import FAILED, INTERRUPTED
from opsconsole.errors import Stopped, UserError
from opsconsole.named_files import read_named
from opsconsole.resources import HOST
from opsconsole.resources.host.file_import import (
    CsvRows,
    FileImport,
    JsonRows,
    Report,
    ReportedRow,
    Rows,
)
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.text import did_you_mean, plural, printable
from opsconsole.v1.settings import Settings

_ON_ERROR: Final = ("stop", "continue")
_ENVELOPE: Final = ("rows", "on_error", "dry_run")
"""The documented members of the JSON body of an import."""


def run(args: argparse.Namespace) -> int:
    """Import a file; return the exit code."""
    rows = read_rows(args.file, args.on_error, args.on_error_parameter)
    if args.on_error and isinstance(rows, CsvRows) and not args.on_error_parameter:
        raise UserError(
            "The API document does not name the query parameter that says what to do after a "
            "row that fails, and CSV has no other place for it.",
            "Name it with --on-error-parameter, leave --on-error out, or import JSON rows.",
        )
    _outrank(args.file, "dry_run", rows.dry_run, args.dry_run)
    if args.dry_run is None:
        args.dry_run = bool(rows.dry_run)
    settings, _ = opening.settings_of(args)
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
    args: argparse.Namespace, settings: Settings, rows: Rows, report: Report, interrupts: Interrupts
) -> FileImport:
    provider = ConfiguredProvider(settings)
    interrupts.on_stop(provider.stop)
    try:
        work = FileImport(provider.session, args.dry_run, rows.on_error == "stop", report)
        await work.run(rows)
        return work
    finally:
        await provider.close()


def read_rows(path: Path, on_error: str | None = None, parameter: str | None = None) -> Rows:
    """Return the rows of a file, whose format follows from its extension.

    Args:
        path: FILE.csv or FILE.json.
        on_error: `stop` or `continue` after a row that fails; with None the console decides.
        parameter: The query parameter that carries `on_error` for CSV.

    Raises:
        UserError: The file cannot be read, or has no rows.
    """
    try:
        # Excel begins a CSV file in UTF-8 with a byte order mark.
        text = read_named(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise UserError(f"Cannot read {path}: {reason}.") from problem
    return parse_rows(path, text, on_error, parameter)


def parse_rows(
    path: Path, text: str, on_error: str | None = None, parameter: str | None = None
) -> Rows:
    """Return the rows in the text of a file, as `read_rows` does."""
    if path.suffix.lower() == ".csv":
        return _csv(path, text, on_error, parameter)
    return _json(path, text, on_error)


def _json(path: Path, text: str, on_error: str | None) -> JsonRows:
    if path.suffix.lower() != ".json":
        raise UserError(
            f"{path} is neither a .csv nor a .json file.", "Rename it to match its content."
        )
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise UserError(f"{path} is not JSON: {problem}.") from problem
    envelope = document if isinstance(document, dict) else {"rows": document}
    for name in envelope:
        if name not in _ENVELOPE:
            raise UserError(f"{path}: {name!r} is no part of it.", did_you_mean(name, _ENVELOPE))
    rows, in_file, dry_run = (envelope.get(name) for name in _ENVELOPE)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"{path} holds no list of rows.", 'Write [{"name": …}, …].')
    if not rows:
        raise UserError(f"{path} holds no rows.")
    if in_file not in (None, *_ON_ERROR):
        raise UserError(f'{path}: on_error is "stop" or "continue", not {in_file!r}.')
    if not isinstance(dry_run, bool | None):
        raise UserError(f"{path}: dry_run is true or false, not {dry_run!r}.")
    _outrank(path, "on_error", in_file, on_error)
    return JsonRows(rows, on_error or in_file, dry_run)


def _outrank(path: Path, name: str, in_file: Any, given: Any) -> None:
    """Warn that an option overrides a different value in the file."""
    if None not in (in_file, given) and in_file != given:
        option = f"--{name.replace('_', '-')}={json.dumps(given)}".replace('"', "")
        sys.stderr.write(f"{path} says {name} {json.dumps(in_file)}; {option} outranks it.\n")


def _csv(path: Path, text: str, on_error: str | None, parameter: str | None) -> CsvRows:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    cells: list[list[str]] = []
    try:
        for row in reader:
            # Consoles may differ in counting empty lines, so no empty line is sent.
            if any(cell.strip() for cell in row):
                cells.append(row)
                if len(row) != len(cells[0]):
                    raise UserError(
                        f"{path}:{reader.line_num}: this row has {plural(len(row), 'cell')}, and "
                        f"the first line names {plural(len(cells[0]), 'column')}."
                    )
    except csv.Error as problem:
        raise UserError(f"{path}:{reader.line_num}: this is not CSV: {problem}.") from problem
    if not cells:
        raise UserError(f"{path} holds no rows.")
    columns = [item.strip().lower() for item in cells.pop(0)]
    fields = [attribute.name for attribute in HOST if attribute.creatable]
    unknown = [name for name in columns if name not in fields]
    if unknown or "name" not in columns:
        wrong = f"an import does not set {', '.join(map(repr, unknown))}"
        raise UserError(
            f"{path}:1: {wrong if unknown else 'there is no column name'}.",
            f"The first line names the columns, separated by commas: name, and of "
            f"{', '.join(sorted({*fields} - {'name'}))} those that the file holds. For a console "
            "that takes another layout, write JSON rows.",
        )
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"{path}:1: duplicate column {twice!r}.", "Keep one of the two.")
    if not cells:
        raise UserError(f"{path} holds no rows.")
    rows = [dict(zip(columns, row, strict=True)) for row in cells]
    return CsvRows(rows, on_error, on_error_parameter=parameter)


class _Lines:
    """Prints a line for each row as its verdict comes."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._pen = pen_for(args)
        self._begun = False

    def report(self, rows: Sequence[ReportedRow]) -> None:
        """Print the verdicts of some rows."""
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
        """Print the totals."""
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
    """Prints a JSON object on a line for each row as its verdict comes, and one at the end."""

    def report(self, rows: Sequence[ReportedRow]) -> None:
        """Print the verdicts of some rows."""
        self._write(*({"object": "row", **dataclasses.asdict(row)} for row in rows))

    def end(self, args: argparse.Namespace, done: FileImport, total: int) -> None:
        """Print the totals."""
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
