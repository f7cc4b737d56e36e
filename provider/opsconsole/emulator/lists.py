"""What every kind has: the reading of one object, and lists (pages, cursors, total_count)."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opsconsole.emulator.console import TABLES, Answer, ConsoleRequest, EmulatedConsole
from opsconsole.emulator.profiles import Profile
from opsconsole.emulator.refusal import Refusal, malformed
from opsconsole.emulator.table import Row

Rule = Callable[[EmulatedConsole, ConsoleRequest], Answer]

MOST_PER_PAGE = 1000


def get(kind: str) -> Rule:
    """Return the rule that answers with the object that the path names, archived or not."""

    def rule(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
        return Answer(console.rendering.render(kind, console.seen(kind, request)))

    return rule


def list_all(kind: str) -> Rule:
    """Return the rule that lists the objects of a kind that the caller sees, archived ones too."""
    collection = TABLES[kind]

    def rule(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
        rows = [row for row in console.store.tables[collection] if request.principal.sees(row)]
        return Answer(page(console, kind, rows, request.query))

    return rule


def page(
    console: EmulatedConsole, kind: str, rows: Sequence[Row], query: Mapping[str, str]
) -> dict[str, Any]:
    """Return one page of `rows` as a list envelope (List envelope; cursor pagination not shown)."""
    profile = console.profile
    asked = profile.cursor_parameter
    named = (asked, profile.page_size_parameter, profile.total_count_parameter)
    console.check_query(query, (*named, profile.filter_parameter))
    if profile.filter_parameter is not None and (word := query.get(profile.filter_parameter)):
        rows = [row for row in rows if _holds(row, word)]
    start = _start(query.get(asked)) if asked else 0
    size = _size(profile, query)
    end = len(rows) if size is None else start + size
    has_more = end < len(rows)
    body: dict[str, Any] = {
        "object": "list",
        "data": console.rendering.render_all(kind, rows[start:end]),
    }
    if profile.has_more == "true_or_false":
        body["has_more"] = has_more
    elif profile.has_more != "absent":
        body["has_more"] = profile.has_more == "always_true"
    if _counts(profile, query):
        body["total_count"] = len(rows)
    if asked:
        cursor = urlsafe_b64encode(f"after:{end}".encode()).decode() if has_more else None
        console.rendering.optional(body, profile.cursor_field, cursor)
    return body


def _holds(row: Row, word: str) -> bool:
    """Return whether a filter keeps a row: its key, name or pattern holds the word."""
    return any(word in str(row.get(name, "")) for name in ("key", "name", "pattern"))


def _counts(profile: Profile, query: Mapping[str, str]) -> bool:
    if profile.total_count == "asked":
        return query.get(profile.total_count_parameter) == "total_count"
    return profile.total_count == "always"


def _size(profile: Profile, query: Mapping[str, str]) -> int | None:
    asked = query.get(profile.page_size_parameter) if profile.page_size_parameter else None
    if asked is None:
        return profile.page_size
    if not (asked.isascii() and asked.isdigit() and 1 <= int(asked[:9]) <= MOST_PER_PAGE):
        raise malformed(f"must be 1 to {MOST_PER_PAGE}", profile.page_size_parameter)
    return int(asked)


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        word, _, position = urlsafe_b64decode(cursor.encode()).decode().partition(":")
        if word == "after" and position.isascii() and position.isdigit():
            return int(position[:9])
    except ValueError:
        pass  # Refused below, as any other text that is no cursor of ours.
    raise Refusal(400, "INVALID_CURSOR", "the cursor is not one of this list")
