"""The shapes of answers that are more than one resource: lists and import results. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from opsconsole.v1.exchange import can_be_id


class Gap(Enum):
    """Why a list proves presence only: an entry that it does not show may still exist."""

    MORE = "has_more is true, and how to ask for the next page is not known"
    UNSAID = "it has no has_more, and no total_count that is the number of its entries"
    CONTRADICTED = "its total_count contradicts its has_more"
    SHIFTED = "its total_count changed from page to page, so an entry may be between two pages"
    NARROWED = "the parameters in list_query may leave entries out"

    @property
    def remedy(self) -> str:
        """What an operator who knows this console can do about it."""
        return _REMEDIES[self]


_REMEDIES = {
    Gap.MORE: (
        "Set cursor_parameter and cursor_field; or ask for larger pages by a parameter in "
        "list_query, with list_query_narrows = false."
    ),
    Gap.UNSAID: (
        "If a query parameter makes this console answer with total_count, set it in list_query, "
        "with list_query_narrows = false."
    ),
    Gap.SHIFTED: "Run again once nobody else adds or removes entries.",
    Gap.CONTRADICTED: "Ask the console's operator which of the two is right.",
    Gap.NARROWED: (
        "If they leave no entry out, set list_query_narrows = false. To narrow one list only, "
        'name it before the parameter: "specialties.NAME".'
    ),
}


@dataclass(frozen=True, slots=True)
class Listing:
    """What a list call showed.

    Attributes:
        entries: The entries as answered, each with a string `id`, none twice.
        gap: Why there may be more entries than these; None: these are all.
        total_count: The number of entries that the console says there are, where it does.
    """

    entries: list[dict[str, Any]]
    gap: Gap | None = None
    total_count: int | None = None

    @property
    def complete(self) -> bool:
        """Whether an entry that is not shown does not exist."""
        return self.gap is None


@dataclass(frozen=True, slots=True)
class RowResult:
    """The verdict on one row of an import; None: missing, not as documented, or no usable id."""

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
        counts: `created`, `updated`, `skipped`, `failed`, those that the answer holds.
        results: The verdicts in the order of the answer. The base of their `index`, and whether
            rows after a stop are listed, are not shown.
    """

    dry_run: bool
    stopped: bool
    counts: Mapping[str, int]
    results: tuple[RowResult, ...]


@dataclass(frozen=True, slots=True)
class ListPage:
    """One list envelope; None where it does not hold the member."""

    entries: list[dict[str, Any]]
    has_more: bool | None
    total_count: int | None
    cursor: str | None


class WrongShape(ValueError):
    """What an answer holds instead of the documented shape."""


def page(answer: Mapping[str, Any], cursor_field: str | None) -> ListPage:
    """Return a list envelope (List envelope). A member that is null counts as missing.

    Raises:
        WrongShape: it is not a list envelope, or an entry has no usable `id`.
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
        raise WrongShape("a list envelope whose has_more is not a boolean")
    total_count = answer.get("total_count")
    if total_count is not None and not _is_integer(total_count):
        raise WrongShape("a list envelope whose total_count is not an integer")
    cursor = answer.get(cursor_field) if cursor_field else None
    if isinstance(cursor, int) and not isinstance(cursor, bool):
        cursor = str(cursor)
    return ListPage(
        data, has_more, total_count, cursor if isinstance(cursor, str) and cursor else None
    )


def import_result(answer: Mapping[str, Any]) -> ImportResult:
    """Return what a bulk import answered.

    Single fields of another type count as missing: a verdict that cannot be read must not hide
    its neighbours.

    Raises:
        WrongShape: it is not an import result, or its results are not a list of objects.
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
