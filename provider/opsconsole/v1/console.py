"""The operations of the console: the body and query of each call, and the shape of its answer.

The client handles authentication, retries and errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from opsconsole.errors import ApiError, ConfigurationError, NotFound
from opsconsole.text import capitalise_first
from opsconsole.v1.answers import WrongShape
from opsconsole.v1.client import Client
from opsconsole.v1.operations import OPERATIONS, Operation, can_be_id
from opsconsole.v1.settings import Settings

if TYPE_CHECKING:
    from opsconsole.v1.bodies import ImportResult, ListEnvelope

_MAX_PAGES = 10_000
_MAX_READS = 3


class Console:
    """The documented operations, and the extra endpoints that an operator names.

    An extra endpoint (setting `extra_endpoints`) takes the documented field names and answers with
    the resource or with a list envelope; a delete answers with an object that holds the `id`.
    Attaching and detaching answer with the agent, which does not list its plugins.

    Every method raises the exceptions of `Client.call`, and `UnexpectedAnswer` for an answer
    without the documented shape.
    """

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self.calls: Mapping[str, int] = client.calls
        self._settings = settings
        operations = {name: item for name, item in OPERATIONS.items() if item.documented}
        for name, line in settings.extra_endpoints.items():
            method, _, path = line.partition(" ")
            operations[name] = replace(OPERATIONS[name], method=method, path=path)
        self._operations = {
            name: item for name, item in operations.items() if client.may_send(item)
        }

    def has(self, name: str) -> bool:
        """Return whether the operation `name` is documented, or named as extra endpoint.

        A client that only reads has no operation that could write.
        """
        return name in self._operations

    async def call(
        self, name: str, *ids: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Call the operation `name`, and return the resource in its answer.

        Args:
            ids: The ids in its path, the id of the resource first.
        """
        asked = ids[0] if ids else None
        return await self._client.call(
            self.operation(name), ids, shape=lambda answer: check_resource(answer, asked), body=body
        )

    def operation(self, name: str) -> Operation:
        """Return the operation `name`; ConfigurationError if it is not documented or named."""
        operation = self._operations.get(name)
        if operation is None:
            raise ConfigurationError(
                f"The document shows no operation for {name}, and none is named.",
                "Name it in extra_endpoints if the console has one.",
                "extra_endpoints",
            )
        return operation

    async def import_hosts(
        self, rows: Sequence[Mapping[str, Any]], *, on_error: str, dry_run: bool
    ) -> ImportResult:
        """Import rows of host fields (POST /api/v1/hosts/batch).

        Args:
            on_error: `stop` or `continue`, at a row that fails.
        """
        # The document names no query parameter for `on_error`, which is only in the envelope. It
        # shows `dry_run` in both places, but not which one wins.
        body = {"rows": list(rows), "on_error": on_error, "dry_run": dry_run}
        return await self._import({}, dry_run, body=body)

    async def import_hosts_csv(
        self, text: str, on_error: Mapping[str, str], *, dry_run: bool
    ) -> ImportResult:
        """Import hosts as CSV, whose column layout the document does not show.

        Args:
            on_error: The query parameter for `stop` or `continue`, with its value: CSV has no
                envelope, and the document names no parameter. Empty: the console chooses.
        """
        return await self._import(on_error, dry_run, csv=text)

    async def _import(
        self,
        query: Mapping[str, str],
        dry_run: bool,
        *,
        body: Mapping[str, Any] | None = None,
        csv: str | None = None,
    ) -> ImportResult:
        from opsconsole.v1.bodies import ImportResult  # with the first import

        return await self._client.call(
            OPERATIONS["host_import"],
            shape=ImportResult.read,
            query={**query, "dry_run": "true" if dry_run else "false"},
            body=body,
            csv=csv,
            idempotent=dry_run,
        )

    async def list_all(self, name: str, *ids: str) -> Listing:
        """Return all entries of a list call, and whether the list is complete.

        A list whose length changes while its pages are read is read again.

        Raises:
            NotFound: The object that the list belongs to is not there.
        """
        operation = self.operation(name)
        try:
            # When an entry is removed from a page that was read, another may move there, and no
            # later page shows it.
            for _ in range(_MAX_READS):
                listing = await self._read_list(operation, ids)
                if listing.gap is not Gap.SHIFTED:
                    break
        except NotFound as problem:
            if ids:
                raise
            # The call itself is not there, which says nothing of any object.
            remedy = "Check that base_url names the console, and its version."
            raise ApiError(problem.answer, problem.operation, remedy) from None
        return listing

    async def _read_list(self, operation: Operation, ids: Sequence[str]) -> Listing:
        # The document shows no pagination inputs: an operator who knows them sets them.
        extra = _query_of(self._settings.list_query, operation.name)
        query = dict(extra)
        entries: dict[str, dict[str, Any]] = {}
        asked: set[str] = set()
        totals: set[int | None] = set()
        for _ in range(_MAX_PAGES):
            page, cursor = await self._client.call(operation, ids, shape=self._page, query=query)
            totals.add(page.total_count)
            for entry in page.data:
                # Rows that move between pages while they are read show up twice.
                entries.setdefault(entry["id"], entry)
            # A cursor that was asked for before would lead in a circle.
            if page.has_more is False or cursor is None or cursor in asked:
                break
            asked.add(cursor)
            query[str(self._settings.cursor_parameter)] = cursor
        gap = gap_after(page, len(entries))
        if gap is not Gap.MORE and len(totals - {None}) > 1:
            # Also if the last length contradicts the entries: some were removed after the read.
            gap = Gap.SHIFTED
        if gap is None and extra and self._settings.list_query_narrows:
            gap = Gap.NARROWED
        return Listing(list(entries.values()), gap, page.total_count)

    def _page(self, answer: Mapping[str, Any]) -> tuple[ListEnvelope, str | None]:
        """Return one page, and the cursor of the next page if the answer holds one."""
        from opsconsole.v1.bodies import ListEnvelope  # with the first answer

        cursor = answer.get(self._settings.cursor_field) if self._settings.cursor_field else None
        if isinstance(cursor, int) and not isinstance(cursor, bool):
            cursor = str(cursor)
        return ListEnvelope.read(answer), cursor if isinstance(cursor, str) and cursor else None


def check_resource(answer: dict[str, Any], asked: str | None = None) -> dict[str, Any]:
    """Return the answer; WrongShape without a usable `id`, or with another one than `asked`."""
    object_id = answer.get("id")
    if not can_be_id(object_id):
        raise WrongShape("an object without a usable id")
    if asked is not None and object_id != asked:
        raise WrongShape(f'the id "{object_id}" for "{asked}"')
    return answer


def _query_of(list_query: Mapping[str, str], operation: str) -> dict[str, str]:
    query: dict[str, str] = {}
    kinds = {item.lists for item in OPERATIONS.values() if item.lists}
    for name, value in list_query.items():
        kind, dot, parameter = name.partition(".")
        # The name of a parameter may hold a dot of its own.
        if not (dot and parameter and kind in kinds):
            query[name] = value
        elif kind == OPERATIONS[operation].lists:
            query[parameter] = value
    return query


class Gap(Enum):
    """Why a list proves only presence: an entry that it does not show may still exist."""

    MORE = "has_more is true, and how to ask for the next page is not known"
    UNSAID = "it has no has_more, and no total_count that is the number of its entries"
    CONTRADICTED = "its total_count contradicts its has_more"
    SHIFTED = "its total_count changed from page to page, so an entry may be between two pages"
    NARROWED = "the parameters in list_query may leave entries out"

    @property
    def remedy(self) -> str:
        """The remedy of an operator who knows this console."""
        return _REMEDIES[self]

    def reason(self, listed: str) -> str:
        """Return why a list, such as "the agent's plugins", may not be complete, as a clause."""
        return f"the list of {listed} may not be complete: {self.value}"

    def explain(self, listed: str) -> str:
        """Return why a list may not be complete, and the remedy."""
        return f"{capitalise_first(self.reason(listed))}. {self.remedy}"


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
    """The result of a list call.

    Attributes:
        entries: The entries as answered, each `id` once.
        gap: Why there may be more entries; None if the list is complete.
        total_count: The number of entries according to the console.
    """

    entries: list[dict[str, Any]]
    gap: Gap | None = None
    total_count: int | None = None

    @property
    def complete(self) -> bool:
        """Whether the list shows every existing entry."""
        return self.gap is None

    @property
    def unarchived_entries(self) -> list[dict[str, Any]]:
        """The entries without the archived ones, which a console may still list."""
        return [entry for entry in self.entries if entry.get("status") != "archived"]


def gap_after(last: ListEnvelope, seen: int) -> Gap | None:
    """Return why the entries up to the last page may be incomplete (the document: List envelope).

    `total_count` is compared with all entries that were seen, on every page.
    """
    if last.has_more is None:
        return None if last.total_count == seen else Gap.UNSAID
    if last.total_count is None:
        return Gap.MORE if last.has_more else None
    if last.has_more:
        return Gap.MORE if last.total_count > seen else Gap.CONTRADICTED
    return None if last.total_count == seen else Gap.CONTRADICTED
