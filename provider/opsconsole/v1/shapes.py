"""The shapes of answers that are more than one resource: lists and import results. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opsconsole.v1.operations import can_be_id


@dataclass(frozen=True, slots=True)
class Listing:
    """What a list call showed.

    Attributes:
        entries: The entries as answered, each with a string `id`, none twice.
        complete: False: there is more that could not be asked for, so an entry that is not seen
            may exist all the same.
    """

    entries: list[dict[str, Any]]
    complete: bool


@dataclass(frozen=True, slots=True)
class RowResult:
    """The verdict on one row of an import; None: not told, not as documented, or no usable id."""

    index: int | None
    status: str | None
    id: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The answer to a bulk host import (ImportResult).

    Attributes:
        dry_run: What the answer says; only `True` means that nothing was imported.
        stopped: Whether the console stopped at a row that failed.
        counts: `created`, `updated`, `skipped`, `failed`, as far as told.
        results: The verdicts in the order of the answer. The base of their `index`, and whether
            rows after a stop are listed, are not shown.
    """

    dry_run: bool
    stopped: bool
    counts: Mapping[str, int]
    results: tuple[RowResult, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One list envelope."""

    entries: list[dict[str, Any]]
    has_more: bool
    cursor: str | None


class WrongShape(ValueError):
    """What an answer holds instead of the documented shape."""


def page(answer: Mapping[str, Any], cursor_field: str | None) -> Page:
    """Return a list envelope's entries (List envelope); has_more missing or null means no more.

    Raises:
        WrongShape: it is no list envelope, or an entry has no usable `id`.
    """
    if answer.get("object", "list") != "list":
        raise WrongShape("no list envelope")
    data = answer.get("data")
    if not isinstance(data, list):
        raise WrongShape("a list envelope without a data list")
    for entry in data:
        if not (isinstance(entry, dict) and can_be_id(entry.get("id"))):
            raise WrongShape("a list with an entry that has no usable id")
    has_more = answer.get("has_more")
    if has_more is not None and not isinstance(has_more, bool):
        raise WrongShape("a list envelope whose has_more is no boolean")
    cursor = answer.get(cursor_field) if cursor_field else None
    if isinstance(cursor, int) and not isinstance(cursor, bool):
        cursor = str(cursor)
    return Page(data, bool(has_more), cursor if isinstance(cursor, str) and cursor else None)


def resource(answer: dict[str, Any], asked: str | None = None) -> dict[str, Any]:
    """Return an answer that is one resource, and the one that was asked for where one was.

    Raises:
        WrongShape: it has no usable `id`, or another one than `asked`.
    """
    found = answer.get("id")
    if not can_be_id(found):
        raise WrongShape("an object without a usable id")
    if asked is not None and found != asked:
        raise WrongShape(f'the id "{found}" for "{asked}"')
    return answer


def import_result(answer: Mapping[str, Any]) -> ImportResult:
    """Return what a bulk import answered.

    Single fields of another type count as not told: a verdict that cannot be read must not hide
    its neighbours.

    Raises:
        WrongShape: it is no import result, or its results are no list of objects.
    """
    if answer.get("object", "import_result") != "import_result":
        raise WrongShape("no import result")
    results = answer.get("results")
    if not isinstance(results, list) or not all(isinstance(entry, dict) for entry in results):
        raise WrongShape("an import result without a list of verdicts")
    counts = answer.get("counts")
    return ImportResult(
        dry_run=answer.get("dry_run") is True,
        stopped=answer.get("stopped") is True,
        counts={
            name: count
            for name, count in (counts if isinstance(counts, dict) else {}).items()
            if _is_integer(count)
        },
        results=tuple(_row_result(entry) for entry in results),
    )


def _row_result(entry: Mapping[str, Any]) -> RowResult:
    index, found = entry.get("index"), entry.get("id")
    return RowResult(
        index=index if _is_integer(index) else None,
        status=_text(entry, "status"),
        id=found if can_be_id(found) else None,
        error=_text(entry, "error"),
    )


def _text(entry: Mapping[str, Any], name: str) -> str | None:
    value = entry.get(name)
    return value if isinstance(value, str) else None


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
