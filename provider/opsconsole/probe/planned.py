"""The calls that a probe would make, as far as they are known before any answer. Pure.

What is counted here is made by `listing`, `reading`, `judging` and `comparing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from opsconsole.probe.comparing import NEW, SPELLINGS
from opsconsole.probe.judging import MOST_ROWS
from opsconsole.probe.listing import (
    CURSOR_PARAMETERS,
    FILTER_PARAMETERS,
    MISSING_AGENT,
    MOST_CURSORS,
    NO_MATCH,
    TOTAL_PARAMETERS,
)
from opsconsole.probe.reading import MISSING_HOST, host_reading
from opsconsole.probe.rows import COMPARABLE, KEYS, most_values
from opsconsole.v1.operations import IMPORT_HOSTS, LIST_PLUGINS, SEARCH_SPECIALTIES

UNKNOWN: Final = "…"
"""In a query, the place of a value that only an answer shows."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that a probe would make.

    Attributes:
        most: How often at most; what answers say may make it less.
        text: Method and path, and the query.
        what: What it holds, and when it is made.
    """

    most: int
    text: str
    what: str


def planned_calls(
    host_id: str, agent_id: str | None, extra_endpoints: Mapping[str, str]
) -> list[PlannedCall]:
    """Return every call that a probe may make, without making one.

    Raises:
        UserError: An id cannot be part of a path.
    """
    return [*_lists(agent_id), *_reads(host_id, extra_endpoints), *_imports()]


def _lists(agent_id: str | None) -> Iterator[PlannedCall]:
    search = str(SEARCH_SPECIALTIES)
    yield PlannedCall(1, search, "specialties, the first page")
    if agent_id is not None:
        yield PlannedCall(1, f"GET {LIST_PLUGINS.path_of([agent_id])}", "plugins of the agent")
    missing = f"GET {LIST_PLUGINS.path_of([MISSING_AGENT])}"
    yield PlannedCall(1, missing, "plugins of an agent that does not exist")
    for name in TOTAL_PARAMETERS:
        query = urlencode({name: "total_count"})
        yield PlannedCall(1, f"{search}?{query}", "where the search shows no total_count")
    for name in CURSOR_PARAMETERS:
        what = "where the search has another page; each member that may be a cursor"
        yield PlannedCall(MOST_CURSORS, f"{search}?{name}={UNKNOWN}", what)
    for name in FILTER_PARAMETERS:
        query = urlencode({name: NO_MATCH})
        yield PlannedCall(1, f"{search}?{query}", "a word that no specialty has")
    for name in FILTER_PARAMETERS:
        what = "where that word showed none: the key of the first specialty"
        yield PlannedCall(1, f"{search}?{name}={UNKNOWN}", what)


def _reads(host_id: str, extra_endpoints: Mapping[str, str]) -> Iterator[PlannedCall]:
    operation = host_reading(extra_endpoints)
    how = "a read of" if operation.method == "GET" else "an update without a field of"
    text = f"{operation.method} {operation.path_of([host_id])}"
    yield PlannedCall(2, text, f"{how} the host")
    text = f"{operation.method} {operation.path_of([MISSING_HOST])}"
    yield PlannedCall(1, text, f"{how} a host that does not exist")


def _imports() -> Iterator[PlannedCall]:
    changes = sum(most_values(attribute) for attribute in COMPARABLE)
    sizes = 1 + (MOST_ROWS - 1).bit_length()
    for most, what in (
        (1, "no row"),
        (1, "a row that equals the host"),
        (1, f"two rows, named {NEW}-1 and {NEW}-2"),
        (1, "the row of the host without its sets"),
        (changes, "the row of the host, in which one field differs"),
        (len(KEYS), f"a row with one key of the host, and the name {NEW}-3"),
        (1, "the row that equals the host, again"),
        (len(SPELLINGS), "the row of the host, its tags in another order, twice, with spaces"),
        (sizes, f"1 to {MOST_ROWS} rows, named {NEW}-0 and so on"),
    ):
        yield PlannedCall(
            most, f"{IMPORT_HOSTS}?dry_run=true", f"an import that is a dry run: {what}"
        )
