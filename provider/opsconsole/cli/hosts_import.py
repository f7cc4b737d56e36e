"""`opsconsole hosts import FILE`: the documented bulk import, with its verdict on every row.

Rows are sent as they stand in the file; nothing is kept in state.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import dataclasses
import io
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opsconsole.cli import arguments, planning, settings
from opsconsole.errors import ConsoleError, UserError
from opsconsole.lifecycle.verdicts import UNMATCHED, Verdict, verdicts
from opsconsole.reports import table
from opsconsole.v1.client import Client
from opsconsole.v1.console import Console, ImportResult
from opsconsole.v1.settings import Settings

FAILED = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The console's answer to one request, and the names of the rows that were in it."""

    result: ImportResult
    names: tuple[str, ...]


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of `opsconsole`."""
    hosts = subparsers.add_parser("hosts", help="import hosts in bulk, beside any program")
    verbs = hosts.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True)
    parser = verbs.add_parser(
        "import",
        help="import the rows of a file",
        description="Import hosts from a CSV file, which is sent as it is, or from a JSON file: a "
        'list of rows, or an object with "rows". Exits with 1 if any row failed.',
        epilog=arguments.DASHES,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="FILE.csv or FILE.json")
    arguments.option(
        parser,
        "on-error",
        choices=("stop", "continue"),
        help="what to do after a row that fails (JSON: continue by default; CSV: the console's)",
    )
    arguments.option(
        parser,
        "on-error-parameter",
        metavar="NAME",
        help="for CSV: the query parameter that takes --on-error, which no document names",
    )
    arguments.flag(parser, "dry-run", "have the rows judged only")
    arguments.flag(parser, "json", "print the answers as JSON")
    arguments.flag(parser, "no-color", "print without colour")
    settings.add_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Import a file; return the exit code."""
    text = _text(args.file)
    is_csv = args.file.suffix.lower() == ".csv"
    if is_csv and not text.strip():
        raise UserError(f"{args.file} holds no rows.")
    rows = [] if is_csv else _rows(args.file, text)
    found, _ = settings.settings_of(args)
    work = _import_csv(args, found, text) if is_csv else _import_rows(args, found, rows)
    answers = asyncio.run(work)
    if args.json:
        sys.stdout.write(_as_json(answers))
    else:
        sys.stdout.write(_as_text(args, answers))
    if args.dry_run and not all(answer.result.dry_run for answer in answers):
        raise UserError(
            "The console's answer does not say dry_run: true, so the rows may have been imported.",
            "Look at the console before anything is sent again.",
        )
    return FAILED if any(map(_has_failed, answers)) else 0


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is no UTF-8 text"
        raise UserError(f"Cannot read {path}: {reason}.") from problem


def _rows(path: Path, text: str) -> list[dict[str, Any]]:
    if path.suffix.lower() != ".json":
        raise UserError(f"{path} is neither a .csv nor a .json file.", "Name it by its content.")
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise UserError(f"{path} is no JSON: {problem}.") from problem
    rows = found.get("rows") if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"{path} holds no list of rows.", 'Write [{"name": …}, …].')
    if not rows:
        raise UserError(f"{path} holds no rows.")
    return rows


async def _import_rows(
    args: argparse.Namespace, found: Settings, rows: Sequence[dict[str, Any]]
) -> list[Answer]:
    on_error = args.on_error or "continue"
    size = found.import_chunk_size
    answers: list[Answer] = []
    async with _connected(found) as console:
        for start in range(0, len(rows), size):
            chunk = rows[start : start + size]
            try:
                result = await console.import_hosts(chunk, on_error=on_error, dry_run=args.dry_run)
            except ConsoleError as problem:
                if args.dry_run or problem.safe_to_repeat:
                    raise
                raise _lost(problem, start, len(chunk)) from problem
            answers.append(Answer(result, tuple(str(row.get("name", "")) for row in chunk)))
            if on_error == "stop" and _has_failed(answers[-1]):
                break
    return answers


async def _import_csv(args: argparse.Namespace, found: Settings, text: str) -> list[Answer]:
    names = [str(row.get("name") or "") for row in csv.DictReader(io.StringIO(text, newline=""))]
    async with _connected(found) as console:
        try:
            result = await console.import_hosts_csv(
                text,
                dry_run=args.dry_run,
                on_error=args.on_error,
                on_error_parameter=args.on_error_parameter,
            )
        except ConsoleError as problem:
            if args.dry_run or problem.safe_to_repeat:
                raise
            raise _lost(problem, 0, len(names)) from problem
    return [Answer(result, tuple(names))]


class _connected:
    """A console for the length of a block."""

    def __init__(self, found: Settings) -> None:
        self._client = Client(found)
        self._console = Console(self._client, found)

    async def __aenter__(self) -> Console:
        return self._console

    async def __aexit__(self, *problem: object) -> None:
        await self._client.aclose()


def _lost(problem: ConsoleError, start: int, count: int) -> UserError:
    return UserError(
        f"Nobody knows whether rows {start + 1} to {start + count} were imported: {problem}",
        "They are not sent again. Run with --dry-run to see which of them the console knows.",
    )


def _has_failed(answer: Answer) -> bool:
    result = answer.result
    told = any(entry.error for entry in result.results)
    return result.counts.get("failed", 0) > 0 or result.stopped or told


def _as_json(answers: Sequence[Answer]) -> str:
    results = []
    for answer in answers:
        found = dataclasses.asdict(answer.result)
        results.append({"object": "import_result", **found, "rows": len(answer.names)})
    return json.dumps(results, ensure_ascii=False) + "\n"


def _as_text(args: argparse.Namespace, answers: Sequence[Answer]) -> str:
    rows: list[tuple[str, ...]] = []
    styles = []
    for answer in answers:
        for name, verdict in zip(answer.names, _verdicts(answer), strict=True):
            rows.append(_row(len(rows) + 1, name, verdict))
            styles.append(_style(verdict))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    colour = planning.coloured(args)
    text = table.render(
        ("row", "name", "verdict", "id", "error"), rows, styles=styles, width=width, colour=colour
    )
    return f"{text}\n{_summary(args, answers)}"


def _verdicts(answer: Answer) -> list[Verdict]:
    return verdicts(answer.result, len(answer.names))


def _row(number: int, name: str, verdict: Verdict) -> tuple[str, ...]:
    told = verdict.status if verdict is not UNMATCHED else "not told"
    return (str(number), name, told, verdict.id or "", verdict.error or "")


def _style(verdict: Verdict) -> str:
    if verdict.error:
        return "red"
    return "green" if verdict.created else "" if verdict.matched else "yellow"


def _summary(args: argparse.Namespace, answers: Sequence[Answer]) -> str:
    counts: dict[str, int] = {}
    for answer in answers:
        for name, count in answer.result.counts.items():
            counts[name] = counts.get(name, 0) + count
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "no counts told"
    stopped = " The console stopped at a row that failed." if _stopped(answers) else ""
    opening = "Dry run, nothing was imported" if args.dry_run else "Import"
    return f"{opening}: {told}.{stopped}\n"


def _stopped(answers: Sequence[Answer]) -> bool:
    return any(answer.result.stopped for answer in answers)
