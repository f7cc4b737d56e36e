"""Lists, page by page, as far as the operator knows how to ask for the next page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsconsole.v1.client import Client
from opsconsole.v1.operations import Operation
from opsconsole.v1.settings import Settings
from opsconsole.v1.shapes import Listing, page

_MOST_PAGES = 10_000


async def list_all(
    client: Client, settings: Settings, operation: Operation, ids: Sequence[str] = ()
) -> Listing:
    """Return everything that a list call shows.

    Pagination inputs are not shown by the document: `list_query` is added to every call, and
    `cursor_parameter` with `cursor_field` leads to the next page. Without them, or where the
    cursor does not move on, the listing says that it is not complete.

    Raises:
        UnexpectedAnswer: an answer is no list envelope.
    """
    query = dict(settings.list_query)
    entries: dict[str, dict[str, Any]] = {}
    asked: set[str] = set()
    for _ in range(_MOST_PAGES):
        found = await client.call(
            operation, ids, shape=lambda answer: page(answer, settings.cursor_field), query=query
        )
        for entry in found.entries:
            # Rows that move between pages while they are read show up twice.
            entries.setdefault(entry["id"], entry)
        if not found.has_more:
            return Listing(list(entries.values()), complete=True)
        if settings.cursor_parameter is None or found.cursor is None or found.cursor in asked:
            break
        asked.add(found.cursor)
        query[settings.cursor_parameter] = found.cursor
    return Listing(list(entries.values()), complete=False)
