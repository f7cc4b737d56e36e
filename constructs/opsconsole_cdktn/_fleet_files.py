"""Files of rows, read with the line of each: CSV, YAML, JSON. No field of a row here."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import yaml

from opsconsole_cdktn._placed import BadRows, Placed

_BLANK = " \t\r\n"


def csv_rows(path: str | PathLike[str]) -> list[Placed]:
    """Return the rows of a CSV file, whose first line names the columns."""
    lines = _text(path).splitlines(keepends=True)
    reader = csv.reader(lines, strict=True)
    found: list[Placed] = []
    try:
        columns = [name.strip() for name in next(reader, [])]
        before = reader.line_num
        for cells in reader:
            place, before = f"{path}:{before + 1}", reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(columns):
                raise BadRows(f"{place}: {len(cells)} cells under {len(columns)} columns")
            row = {name: cell.strip() for name, cell in zip(columns, cells, strict=True)}
            found.append(Placed(place, {name: cell or None for name, cell in row.items()}))
    except csv.Error as failure:
        raise BadRows(f"{path}:{reader.line_num}: {failure}") from None
    return found


def yaml_rows(path: str | PathLike[str]) -> list[Placed]:
    """Return the rows of a YAML file: a list of rows, or a mapping of keys to rows."""
    loader = yaml.CSafeLoader(_text(path))
    try:
        document = loader.get_single_node()
        return [_of_node(loader, path, *item) for item in _nodes(path, document)]
    except yaml.YAMLError as failure:
        mark = getattr(failure, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise BadRows(f"{path}{line}: {getattr(failure, 'problem', failure)}") from None
    finally:
        loader.dispose()


def _nodes(path: str | PathLike[str], document: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(document, yaml.SequenceNode):
        yield from ((None, node) for node in document.value)
    elif isinstance(document, yaml.MappingNode):
        yield from document.value
    elif document is not None:
        raise BadRows(f"{path}: a list of rows is wanted, or a mapping of keys to rows")


def _of_node(loader: Any, path: str | PathLike[str], key: Any, node: Any) -> Placed:
    place = f"{path}:{(key or node).start_mark.line + 1}"
    values = loader.construct_object(node, deep=True)
    named = None if key is None else loader.construct_object(key, deep=True)
    return _placed(place, named, values)


def json_rows(path: str | PathLike[str]) -> list[Placed]:
    """Return the rows of a JSON file: a list of rows, or an object of keys to rows."""
    text = _text(path)
    try:
        return list(_json_rows(path, text))
    except json.JSONDecodeError as failure:
        raise BadRows(f"{path}:{failure.lineno}: {failure.msg}") from None


def _json_rows(path: str | PathLike[str], text: str) -> Iterator[Placed]:
    decoder = json.JSONDecoder()
    whole = json.loads(text)
    if not isinstance(whole, list | dict):
        raise BadRows(f"{path}: a list of rows is wanted, or an object of keys to rows")
    position, line, counted = _skip(text, 0) + 1, 1, 0
    for _ in whole:
        position = _skip(text, position)
        line, counted = line + text.count("\n", counted, position), position
        named = None
        if isinstance(whole, dict):
            named, position = decoder.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        values, position = decoder.raw_decode(text, position)
        position = _skip(text, position) + 1
        yield _placed(f"{path}:{line}", named, values)


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANK:
        position += 1
    return position


def _placed(place: str, key: Any, values: Any) -> Placed:
    if not isinstance(values, dict):
        raise BadRows(f"{place}: a row is a mapping of fields, and this is {values!r:.80}")
    if key is not None:
        values = {"name": str(key), "key": str(key), **values}
    return Placed(place, values)


def _text(path: str | PathLike[str]) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRows(f"{path}: it is not text in UTF-8") from None
    except OSError as failure:
        raise BadRows(f"{path}: it cannot be read: {failure.strerror}") from None
