"""Lists, page by page, as far as the operator knows how to ask for the next page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from opsconsole.v1.client import Client
from opsconsole.v1.operations import Operation
from opsconsole.v1.settings import Settings
from opsconsole.v1.shapes import Gap, Listing, Page, page

_MOST_PAGES = 10_000

_KINDS: Final[Mapping[str, str]] = {
    "host_list": "hosts",
    "agent_list": "agents",
    "plugin_list": "plugins",
    "specialty_search": "specialties",
    "blacklist_list": "blacklisted_commands",
}
"""List call to the word that a parameter for it alone begins with in `list_query`."""


async def list_all(
    client: Client, settings: Settings, operation: Operation, ids: Sequence[str] = ()
) -> Listing:
    """Return everything that a list call shows, and whether that is everything there is.

    Pagination inputs are not shown by the document: `list_query` is added to the calls that it is
    for, and `cursor_parameter` with `cursor_field` leads to the next page.

    Raises:
        UnexpectedAnswer: an answer is not a list envelope.
    """
    extra = query_of(settings.list_query, operation.name)
    query = dict(extra)
    entries: dict[str, dict[str, Any]] = {}
    asked: set[str] = set()
    for _ in range(_MOST_PAGES):
        found = await client.call(
            operation, ids, shape=lambda answer: page(answer, settings.cursor_field), query=query
        )
        for entry in found.entries:
            # Rows that move between pages while they are read show up twice.
            entries.setdefault(entry["id"], entry)
        cursor = None if settings.cursor_parameter is None else found.cursor
        if found.has_more is False or cursor is None or cursor in asked:
            break
        asked.add(cursor)
        query[str(settings.cursor_parameter)] = cursor
    gap = _gap(found, len(entries))
    if gap is None and extra and settings.list_query_narrows:
        gap = Gap.NARROWED
    return Listing(list(entries.values()), gap, found.total_count)


def query_of(list_query: Mapping[str, str], operation: str) -> dict[str, str]:
    """Return the query parameters of `list_query` that are for one list call."""
    found: dict[str, str] = {}
    for name, value in list_query.items():
        kind, dot, parameter = name.partition(".")
        if not (dot and parameter and kind in _KINDS.values()):
            found[name] = value
        elif kind == _KINDS[operation]:
            found[parameter] = value
    return found


def _gap(last: Page, seen: int) -> Gap | None:
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
