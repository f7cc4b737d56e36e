"""Reads a file of hosts, CSV or JSON, with the columns and members of the bulk import."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, Final, NoReturn

from opsconsole import user_files
from opsconsole.errors import UserError
from opsconsole.resources import HOST
from opsconsole.resources.host.file_import import FileRows
from opsconsole.text import did_you_mean
from opsconsole.user_files import NotATable, read_table

_ON_ERROR: Final = ("stop", "continue")
_ENVELOPE: Final = ("rows", "on_error", "dry_run")
"""The documented members of the JSON body of an import."""


def read_rows(path: Path, on_error: str | None = None, parameter: str | None = None) -> FileRows:
    """Return the rows of a .csv or .json file; raise UserError if there are none.

    Args:
        on_error: `stop` or `continue` after a row that fails; with None the console decides.
        parameter: The query parameter that carries `on_error` for CSV.
    """
    text = read_text(path)
    if path.suffix.lower() == ".csv":
        return FileRows(_parse_csv(path, text), on_error, is_csv=True, on_error_parameter=parameter)
    if path.suffix.lower() == ".json":
        return _parse_json(path, text, on_error)
    raise UserError(
        f"{path} is neither a .csv nor a .json file.", "Rename it to match its content."
    )


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file; raise UserError if it cannot be read."""
    try:
        return user_files.read_text(path)
    except OSError as problem:
        raise UserError(f"Cannot read {path}: {problem.strerror}.") from problem


def _parse_json(path: Path, text: str, on_error: str | None) -> FileRows:
    def refuse_number(written: str) -> NoReturn:
        raise UserError(
            f"{path}: no request can carry the number {written}.", "Correct it in the file."
        )

    def read_number(written: str) -> float:
        number = float(written)
        if math.isinf(number):
            refuse_number(written)
        return number

    try:
        # Python takes NaN and Infinity for JSON, and 1e999 for infinity.
        document = json.loads(text, parse_float=read_number, parse_constant=refuse_number)
    except (ValueError, RecursionError) as problem:
        raise UserError(f"{path} is not JSON: {problem}.") from problem
    envelope = document if isinstance(document, dict) else {"rows": document}
    for name in envelope:
        if name not in _ENVELOPE:
            raise UserError(f"{path}: {name!r} is no part of it.", did_you_mean(name, _ENVELOPE))
    rows, in_file, dry_run = (envelope.get(name) for name in _ENVELOPE)
    if not isinstance(rows, list):
        raise UserError(f"{path} holds no list of rows.", 'Write [{"name": …}, …].')
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise UserError(f"{path}: row {number} is not an object.", 'Write {"name": …}.')
    if not rows:
        raise UserError(f"{path} holds no rows.")
    if in_file not in (None, *_ON_ERROR):
        raise UserError(f'{path}: on_error is "stop" or "continue", not {in_file!r}.')
    if not isinstance(dry_run, bool | None):
        raise UserError(f"{path}: dry_run is true or false, not {dry_run!r}.")
    print_warning_of_override(path, "on_error", in_file, on_error)
    return FileRows(rows, on_error or in_file, dry_run)


def print_warning_of_override(path: Path, name: str, in_file: Any, given: Any) -> None:
    """Warn that an option overrides a different value in the file."""
    if None not in (in_file, given) and in_file != given:
        option = f"--{name.replace('_', '-')}={json.dumps(given)}".replace('"', "")
        sys.stderr.write(f"{path} says {name} {json.dumps(in_file)}; {option} overrides it.\n")


def _parse_csv(path: Path, text: str) -> list[dict[str, str]]:
    try:
        # Consoles may differ in counting empty lines, so no empty line is sent.
        lines = list(read_table(text))
    except NotATable as problem:
        raise UserError(f"{path}:{problem}.") from problem
    if not lines:
        raise UserError(f"{path} holds no rows.")
    first, names = lines.pop(0)
    columns = [item.strip().lower() for item in names]
    fields = [attribute.name for attribute in HOST if attribute.creatable]
    unknown = [name for name in columns if name not in fields]
    if unknown or "name" not in columns:
        wrong = f"an import does not set {', '.join(map(repr, unknown))}"
        raise UserError(
            f"{path}:{first}: {wrong if unknown else 'there is no column name'}.",
            f"The first line names the columns, separated by commas: name, and of "
            f"{', '.join(sorted({*fields} - {'name'}))} those that the file holds. For a console "
            "that takes another layout, write JSON rows.",
        )
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"{path}:{first}: duplicate column {twice!r}.", "Keep one of the two.")
    if not lines:
        raise UserError(f"{path} holds no rows.")
    return [dict(zip(columns, cells, strict=True)) for _, cells in lines]
