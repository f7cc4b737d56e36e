"""What a list call shows, and whether that is everything there is. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opsconsole.v1.bodies import ListEnvelope


class Gap(Enum):
    """Why a list proves only presence: an entry that it does not show may still exist."""

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


def cursor_of(answer: Mapping[str, Any], cursor_field: str | None) -> str | None:
    """Return what asks for the page after this one, None where the answer does not say."""
    cursor = answer.get(cursor_field) if cursor_field else None
    if isinstance(cursor, int) and not isinstance(cursor, bool):
        cursor = str(cursor)
    return cursor if isinstance(cursor, str) and cursor else None


def gap_after(last: ListEnvelope, seen: int) -> Gap | None:
    """Return why the entries up to the last page may not be all: the document's List envelope.

    `total_count` is compared with all entries that were seen, on every page.
    """
    if last.has_more is None:
        return None if last.total_count == seen else Gap.UNSAID
    if last.total_count is None:
        return Gap.MORE if last.has_more else None
    if last.has_more:
        return Gap.MORE if last.total_count > seen else Gap.CONTRADICTED
    return None if last.total_count == seen else Gap.CONTRADICTED
