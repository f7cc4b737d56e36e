"""Files of rows, read with the line of each: CSV, YAML, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import yaml

from opsconsole.user_files import NotATable, read_table, read_text
from opsconsole.yaml_loader import MERGE, Loader, walk_nodes
from opsconsole_cdktf._placed import BadRows, PlacedRow

_BLANK = " \t\r\n"
_NOT_A_VALUE = (ValueError, LookupError, AttributeError, OverflowError)
"""Errors of the YAML reader for a text that has the form of a type and is not a value of it."""


def csv_rows(
    path: str | PathLike[str], problems_of: Callable[[Sequence[str]], list[str]]
) -> list[PlacedRow]:
    """Return the rows of a CSV file, whose first line that is not blank names the columns.

    Args:
        problems_of: Returns the problems of the names of the columns.
    """
    lines = read_table(_read_file(path))
    try:
        first, names = next(lines, (1, []))
        columns = [name.strip() for name in names]
        if not columns:
            raise BadRows(f"{path}:1: it is empty: its first line must name the columns")
        twice = next((name for name in columns if columns.count(name) > 1), None)
        problems = problems_of(columns) if twice is None else [f"duplicate column {twice!r}"]
        if problems:
            raise BadRows("\n".join(f"{path}:{first}: {problem}" for problem in problems))
        return [
            PlacedRow(
                f"{path}:{line}",
                {name: cell.strip() or None for name, cell in zip(columns, cells, strict=True)},
            )
            for line, cells in lines
        ]
    except NotATable as problem:
        raise BadRows(f"{path}:{problem}") from None


def yaml_rows(path: str | PathLike[str]) -> list[PlacedRow]:
    """Return the rows of a YAML file: a list of rows, or a mapping of keys to rows."""
    try:
        loader = Loader(_read_file(path))
        document = loader.get_single_node()
        return [_of_node(loader, path, *item) for item in _nodes(path, document)]
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise BadRows(f"{path}{line}: {getattr(problem, 'problem', problem)}") from None
    except RecursionError:
        raise BadRows(f"{path}: it is nested too deeply") from None


def _nodes(path: str | PathLike[str], document: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(document, yaml.SequenceNode):
        yield from ((None, node) for node in document.value)
    elif isinstance(document, yaml.MappingNode):
        yield from document.value
    elif document is None:
        raise BadRows(f"{path}: it is empty: write [] for no rows")
    else:
        raise BadRows(f"{path}: expected a list of rows, or a mapping of keys to rows")


def _of_node(loader: Any, path: str | PathLike[str], key: Any, node: Any) -> PlacedRow:
    place = f"{path}:{(key or node).start_mark.line + 1}"
    for part in walk_nodes(node):
        if isinstance(part, yaml.ScalarNode):
            _refuse_no_value(loader, path, part)
    values = loader.construct_object(node, deep=True)
    named = None if key is None else loader.construct_object(key, deep=True)
    return _place_row(place, named, values)


def _refuse_no_value(loader: Any, path: str | PathLike[str], node: Any) -> None:
    # A merge key has no value of its own: the reader resolves it with its mapping.
    if node.tag == MERGE:
        return
    try:
        # Value by value, because these errors of the reader name no line.
        loader.construct_object(node)
    except _NOT_A_VALUE as problem:
        place = f"{path}:{node.start_mark.line + 1}"
        raise BadRows(f"{place}: {node.value!r}: {problem}: quote it, if it is text") from None


def json_rows(path: str | PathLike[str]) -> list[PlacedRow]:
    """Return the rows of a JSON file: a list of rows, or an object of keys to rows."""
    text = _read_file(path)
    try:
        # The whole text is checked first: `_json_rows` finds the line of each row, and relies on
        # correct JSON.
        whole = json.loads(text)
        if not isinstance(whole, list | dict):
            raise BadRows(f"{path}: expected a list of rows, or an object of keys to rows")
        return list(_json_rows(path, text, keyed=isinstance(whole, dict)))
    except json.JSONDecodeError as problem:
        raise BadRows(f"{path}:{problem.lineno}: {problem.msg}") from None
    except RecursionError:
        raise BadRows(f"{path}: it is nested too deeply") from None


def _json_rows(path: str | PathLike[str], text: str, *, keyed: bool) -> Iterator[PlacedRow]:
    """Yield the rows of a text that is a JSON list or object."""
    decoder = json.JSONDecoder(object_pairs_hook=_each_once)
    position, line, counted = _skip(text, _skip(text, 0) + 1), 1, 0
    named: Any = None
    names: set[str] = set()
    while text[position] not in "]}":
        line, counted = line + text.count("\n", counted, position), position
        try:
            if keyed:
                named, position = decoder.raw_decode(text, position)
                if named in names:
                    raise _Twice(repr(named))
                names.add(named)
                position = _skip(text, _skip(text, position) + 1)
            values, position = decoder.raw_decode(text, position)
        except _Twice as problem:
            raise BadRows(f"{path}:{line}: duplicate name {problem}") from None
        position = _skip(text, position)
        if text[position] == ",":
            position = _skip(text, position + 1)
        yield _place_row(f"{path}:{line}", named, values)


class _Twice(ValueError):
    """A name occurs twice in one object."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    # The JSON reader, too, would keep the last of two equal names.
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(repr(next(name for name in names if names.count(name) > 1)))
    return members


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANK:
        position += 1
    return position


def _place_row(place: str, key: Any, values: Any) -> PlacedRow:
    if not isinstance(values, dict):
        raise BadRows(f"{place}: a row is a mapping of fields, and this is {values!r:.80}")
    if key is not None:
        # A key such as 7 is a number in YAML. The name that a row gives itself comes before its
        # key.
        values = {"name": str(key), "key": str(key), **values}
    return PlacedRow(place, values)


def _read_file(path: str | PathLike[str]) -> str:
    try:
        return read_text(Path(path))
    except OSError as problem:
        raise BadRows(f"{path}: it cannot be read: {problem.strerror}") from None
