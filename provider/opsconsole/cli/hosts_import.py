"""`opsconsole hosts import FILE`: the documented bulk import, with its verdict on every row.

The values of rows are sent as they are in the file, after a dry run of the same rows; nothing is
kept in state.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opsconsole.cli import arguments, opening
from opsconsole.cli.command_line import FAILED, INTERRUPTED, Parser
from opsconsole.cli.interrupts import Interrupts, make_runner, run_stoppable
from opsconsole.cli.standard_streams import coloured, write_surely
from opsconsole.errors import Stopped, UserError
from opsconsole.lifecycle.file_import import (
    CsvRows,
    FileImport,
    JsonRows,
    Report,
    ReportedRow,
    Rows,
)
from opsconsole.lifecycle.lifecycle import Lifecycle
from opsconsole.named_files import read_named
from opsconsole.phrases import plural
from opsconsole.reports.text import Pen, printable
from opsconsole.resources import HOST
from opsconsole.v1.settings import Settings


def register(parser: Parser) -> None:
    """Describe the command and add its verb."""
    example = "opsconsole hosts import fleet.csv --dry-run"
    parser.describe("Import hosts in bulk, without a program.", example=example)
    parser = parser.add_verb(
        "import",
        run,
        "Import the rows of a file. A CSV file whose first line names host fields is sent in "
        "several requests, any other CSV file as one; a JSON file is a list of rows, or an object "
        'with "rows". Nothing is kept in state.',
        codes={FAILED: "failed, or a row failed"},
        example=example,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="FILE.csv or FILE.json")
    parser.add_argument(
        "--on-error",
        choices=("stop", "continue"),
        help="what to do after a row that fails (JSON: continue by default; CSV: the console's)",
    )
    parser.add_argument(
        "--on-error-parameter",
        metavar="NAME",
        help="for CSV: the query parameter that takes --on-error; no document names it",
    )
    arguments.flag(parser, "dry-run", "let the console judge the rows, and import none")
    arguments.flag(parser, "json", "print a JSON object a line: one for each row, one at the end")
    arguments.flag(parser, "no-color", "print without colour")
    arguments.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Import a file; return the exit code."""
    rows = read_rows(args.file, args.on_error, args.on_error_parameter)
    if args.on_error and isinstance(rows, CsvRows) and not args.on_error_parameter:
        raise UserError(
            "The API document does not name the query parameter that says what to do after a "
            "row that fails, and CSV has no other place for it.",
            "Name it with --on-error-parameter, leave --on-error out, or import JSON rows.",
        )
    found, _ = opening.settings_of(args)
    printer = _JsonLines() if args.json else _Lines(args)
    with make_runner() as runner:
        done = run_stoppable(
            runner, lambda interrupts: _imported(args, found, rows, printer.report, interrupts)
        )
    printer.end(args, done, len(rows.names))
    if isinstance(done.problem, Stopped):
        return INTERRUPTED
    if done.imported_all_the_same:
        raise UserError(
            "The console's answer to a dry run does not say dry_run: true, so the rows in it may "
            "have been imported: their ids are above.",
            "Look at the console before anything is sent again. Nothing more was sent.",
        )
    if done.problem is not None:
        raise done.problem
    return FAILED if done.failed else 0


async def _imported(
    args: argparse.Namespace, found: Settings, rows: Rows, report: Report, interrupts: Interrupts
) -> FileImport:
    lifecycle = Lifecycle(found)
    interrupts.on_stop(lifecycle.stop)
    try:
        work = FileImport(lifecycle.session, args.dry_run, args.on_error == "stop", report)
        await work.run(rows)
        return work
    finally:
        await lifecycle.close()


def read_rows(path: Path, on_error: str | None = None, parameter: str | None = None) -> Rows:
    """Return the rows of a file, by the ending of its name.

    Args:
        path: FILE.csv or FILE.json.
        on_error: What the console does after a row that fails; None: it decides.
        parameter: The query parameter that tells it so for CSV.

    Raises:
        UserError: It cannot be read, or holds no rows.
    """
    try:
        text = read_named(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise UserError(f"Cannot read {path}: {reason}.") from problem
    return parse_rows(path, text, on_error, parameter)


def parse_rows(
    path: Path, text: str, on_error: str | None = None, parameter: str | None = None
) -> Rows:
    """Return the rows of the text of a file; as `read_rows`."""
    if path.suffix.lower() == ".csv":
        return _csv(path, text, on_error, parameter)
    return _json(path, text, on_error)


def _json(path: Path, text: str, on_error: str | None) -> JsonRows:
    if path.suffix.lower() != ".json":
        raise UserError(
            f"{path} is neither a .csv nor a .json file.", "Rename it to match its content."
        )
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise UserError(f"{path} is not JSON: {problem}.") from problem
    rows = found.get("rows") if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"{path} holds no list of rows.", 'Write [{"name": …}, …].')
    if not rows:
        raise UserError(f"{path} holds no rows.")
    return JsonRows(rows, on_error or "continue")


def _csv(path: Path, text: str, on_error: str | None, parameter: str | None) -> CsvRows:
    """Return the rows of a CSV file; they have names where its first line is a known header.

    A quoted field may hold line breaks: a row is what the reader takes for one.
    """
    if not text.strip():
        raise UserError(f"{path} holds no rows.")
    lines: list[str] = []
    fields: list[list[str]] = []
    source = iter(io.StringIO(text, newline=""))
    taken: list[str] = []

    def tracked() -> Iterator[str]:
        for line in source:
            taken.append(line)
            yield line

    try:
        for row in csv.reader(tracked()):
            if any(cell.strip() for cell in row):
                # A console may count an empty line or not: none is sent.
                fields.append(row)
                lines.append("".join(taken))
            taken.clear()
    except csv.Error as problem:
        raise UserError(f"{path} is not CSV: {problem}.") from problem
    if not fields:
        raise UserError(f"{path} holds no rows.")
    columns = [item.strip().lower() for item in fields[0]]
    known = "name" in columns and set(columns) <= set(HOST.names)
    if not known:
        return CsvRows("", lines, [""] * len(lines), on_error, parameter)
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"{path}:1: duplicate column {twice!r}.", "Keep one of the two.")
    place = columns.index("name")
    names = [row[place] if place < len(row) else "" for row in fields[1:]]
    header = lines[0] if lines[0].endswith("\n") else lines[0] + "\n"
    if not names:
        raise UserError(f"{path} holds no rows.")
    return CsvRows(header, lines[1:], names, on_error, parameter)


class _Lines:
    """Prints a line for each row as its verdict comes."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._pen = Pen(coloured(args))
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
        write_surely("".join(lines))
        sys.stdout.flush()

    def _line(self, *cells: str) -> str:
        widths = (6, 24, 10, 26, 0)
        fitted = (f"{printable(cell):<{width}}" for cell, width in zip(cells, widths, strict=True))
        return "  ".join(fitted).rstrip() + "\n"

    def end(self, args: argparse.Namespace, done: FileImport, total: int) -> None:
        """Print the totals."""
        counts = ", ".join(f"{count:,} {name}" for name, count in done.counts.items())
        opening = "Import"
        if args.dry_run:
            opening = "Dry run, nothing was imported"
            if done.imported_all_the_same:
                opening = "The console ignored the dry run and imported rows"
            elif not done.is_dry_run_sure:
                opening = "Dry run without an answer, so it is not known whether it imported rows"
        if done.unknown:
            sys.stdout.write(
                f"\nIt is not known whether {plural(done.unknown, 'row')} marked unknown were "
                "imported: the answer was lost. They are not sent again; --dry-run shows which "
                "of them the console knows.\n"
            )
        if done.stopped:
            sys.stdout.write("\nThe console stopped at a row that failed.\n")
        sys.stdout.write(f"\n{opening}: {counts or 'no counts'}.\n")
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

    def _write(self, *found: dict[str, Any]) -> None:
        write_surely("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in found))
        sys.stdout.flush()
