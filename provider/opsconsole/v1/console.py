"""The console, operation by operation: what each call sends, and the shape its answer must have;
whether a list shows everything there is.

Nothing here decides when a call is made; authentication, retries and errors are the client's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from opsconsole.errors import ConfigurationError, UserError
from opsconsole.v1 import operations
from opsconsole.v1.client import Client
from opsconsole.v1.exchange import Operation, WrongShape, can_be_id
from opsconsole.v1.operations import DOCUMENTED, extra_operation
from opsconsole.v1.settings import Settings

if TYPE_CHECKING:
    from opsconsole.v1.bodies import ImportResult, ListEnvelope

Body = dict[str, Any]

_MOST_PAGES = 10_000
_MOST_READINGS = 3


class Console:
    """The documented operations, and the extra endpoints that an operator names.

    An extra endpoint (setting `extra_endpoints`) takes the documented field names and answers with
    the resource or with a list envelope; a delete answers with an object that holds the `id`.

    Every method raises what `Client.call` does, and `UnexpectedAnswer` for an answer of another
    shape than the document shows.
    """

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self.calls: Mapping[str, int] = client.calls
        self._settings = settings
        self._named = {operation.name: operation for operation in DOCUMENTED} | {
            name: extra_operation(name, declared)
            for name, declared in settings.extra_endpoints.items()
        }

    def has(self, name: str) -> bool:
        """Return whether there is an operation `name`: documented, or named as extra endpoint."""
        return name in self._named

    async def one(self, name: str, resource_id: str, body: Mapping[str, Any] | None = None) -> Body:
        """Read, change or delete one resource by the operation `name`; return its answer."""
        return await self._one(self.operation(name), resource_id, body)

    async def create(self, name: str, body: Mapping[str, Any]) -> Body:
        """Create one resource by the operation `name`; return it."""
        return await self.call_one(self.operation(name), body=body)

    async def list_all(self, name: str) -> Listing:
        """Return what the operation `name` lists."""
        return await self.call_list(self.operation(name))

    def operation(self, name: str) -> Operation:
        """Return the operation `name`.

        Raises:
            ConfigurationError: the document shows none, and none is named.
        """
        operation = self._named.get(name)
        if operation is None:
            raise ConfigurationError(
                f"The document shows no operation for {name}, and none is named.",
                "Name it in extra_endpoints if the console has one.",
                "extra_endpoints",
            )
        return operation

    async def get_blacklisted_command(self, row_id: str) -> Body:
        """Return one blacklisted command (GET /api/v1/blacklists/{id})."""
        return await self._one(operations.GET_BLACKLISTED_COMMAND, row_id)

    async def update_blacklisted_command(self, row_id: str, changes: Mapping[str, Any]) -> Body:
        """Change the fields in `changes`, null included; return the blacklisted command."""
        return await self._one(operations.UPDATE_BLACKLISTED_COMMAND, row_id, changes)

    async def update_host(self, host_id: str, changes: Mapping[str, Any]) -> Body:
        """Change the fields in `changes` only, none where it is empty; return the host."""
        return await self._one(operations.UPDATE_HOST, host_id, changes)

    async def delete_host(self, host_id: str) -> Body:
        """Delete a host and archive its agents; return `id`, `deleted`, `rerouted_hosts`."""
        return await self._one(operations.DELETE_HOST, host_id)

    async def import_hosts(
        self, rows: Sequence[Mapping[str, Any]], *, on_error: str, dry_run: bool
    ) -> ImportResult:
        """Import host rows (POST /api/v1/hosts/batch), or have them judged only.

        `on_error` (`stop` or `continue`) goes into the envelope alone: its query parameter is not
        named by the document. `dry_run` goes into both, because which one wins is not shown.
        """
        body = {"rows": list(rows), "on_error": on_error, "dry_run": dry_run}
        return await self._import({}, dry_run, body=body)

    async def import_hosts_csv(
        self,
        text: str,
        *,
        dry_run: bool,
        on_error: str | None = None,
        on_error_parameter: str | None = None,
    ) -> ImportResult:
        """Import hosts as CSV, whose column layout the document does not show.

        Args:
            text: The CSV file.
            dry_run: Have the rows judged only.
            on_error: `stop` or `continue`; None leaves it to the console.
            on_error_parameter: The query parameter that takes `on_error`. CSV has no envelope, and
                the document does not name the parameter, so it has no default.

        Raises:
            UserError: `on_error` is given without its parameter's name.
        """
        query: dict[str, str] = {}
        if on_error is not None:
            if not on_error_parameter:
                raise UserError(
                    "The API document does not name the query parameter that says what to do "
                    "after a row that fails, and CSV has no other place for it.",
                    "Name the parameter, leave the choice to the console, or import JSON rows.",
                )
            query[on_error_parameter] = on_error
        return await self._import(query, dry_run, csv=text)

    async def create_agent(self, body: Mapping[str, Any]) -> Body:
        """Create an agent (POST /api/v1/agents); return it."""
        return await self.call_one(operations.CREATE_AGENT, body=body)

    async def attach_plugin(self, agent_id: str, plugin_id: str) -> Body:
        """Attach a plugin; return the agent, which does not list its plugins."""
        body = {"plugin_id": plugin_id}
        return await self._one(operations.ATTACH_PLUGIN, agent_id, body)

    async def detach_plugin(self, agent_id: str, plugin_id: str) -> Body:
        """Detach a plugin; return the agent, which does not list its plugins."""
        return await self.call_one(operations.DETACH_PLUGIN, (agent_id, plugin_id), asked=agent_id)

    async def list_plugins(self, agent_id: str) -> Listing:
        """Return the agent's plugins (GET /api/v1/agents/{id}/plugins)."""
        return await self.call_list(operations.LIST_PLUGINS, (agent_id,))

    async def search_specialties(self) -> Listing:
        """Return the specialties (GET /api/v1/specialties/search); no filter is documented."""
        return await self.call_list(operations.SEARCH_SPECIALTIES)

    async def delete_specialty(self, specialty_id: str) -> Body:
        """Delete a specialty that no agent carries; return `id` and `deleted`."""
        return await self._one(operations.DELETE_SPECIALTY, specialty_id)

    async def _import(
        self,
        query: Mapping[str, str],
        dry_run: bool,
        *,
        body: Mapping[str, Any] | None = None,
        csv: str | None = None,
    ) -> ImportResult:
        return await self._client.call(
            operations.IMPORT_HOSTS,
            shape=_import_result,
            query={**query, "dry_run": "true" if dry_run else "false"},
            body=body,
            csv=csv,
            repeatable=dry_run,
        )

    async def _one(
        self, operation: Operation, asked: str, body: Mapping[str, Any] | None = None
    ) -> Body:
        return await self.call_one(operation, (asked,), asked=asked, body=body)

    async def call_one(
        self,
        operation: Operation,
        ids: Sequence[str] = (),
        *,
        asked: str | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Body:
        """Make a call that is answered with one resource, whose id is `asked` if that is known."""
        return await self._client.call(
            operation, ids, shape=lambda answer: resource(answer, asked), body=body
        )

    async def call_list(self, operation: Operation, ids: Sequence[str] = ()) -> Listing:
        """Return everything that a list call shows, and whether that is everything there is.

        A list whose length changes while its pages are read is read again: when an entry is removed
        from a page that was read, another may move there, and no later page shows it.

        Args:
            operation: What to call.
            ids: The ids that its path holds.

        Raises:
            UnexpectedAnswer: an answer is not a list envelope.
        """
        for _ in range(_MOST_READINGS):
            listing = await self._read_list(operation, ids)
            if listing.gap is not Gap.SHIFTED:
                break
        return listing

    async def _read_list(self, operation: Operation, ids: Sequence[str]) -> Listing:
        """Read a list once, page by page.

        The document shows no pagination inputs: `list_query` is added to the calls that it is
        for, and `cursor_parameter` with `cursor_field` leads to the next page.
        """
        extra = _query_of(self._settings.list_query, operation.name)
        query = dict(extra)
        entries: dict[str, dict[str, Any]] = {}
        asked: set[str] = set()
        totals: set[int | None] = set()
        for _ in range(_MOST_PAGES):
            found, cursor = await self._client.call(operation, ids, shape=self._page, query=query)
            totals.add(found.total_count)
            for entry in found.data:
                # Rows that move between pages while they are read show up twice.
                entries.setdefault(entry["id"], entry)
            if found.has_more is False or cursor is None or cursor in asked:
                break
            asked.add(cursor)
            query[str(self._settings.cursor_parameter)] = cursor
        gap = gap_after(found, len(entries))
        if gap is not Gap.MORE and len(totals - {None}) > 1:
            # Also where the last length contradicts the entries: some were removed after the read.
            gap = Gap.SHIFTED
        if gap is None and extra and self._settings.list_query_narrows:
            gap = Gap.NARROWED
        return Listing(list(entries.values()), gap, found.total_count)

    def _page(self, answer: Mapping[str, Any]) -> tuple[ListEnvelope, str | None]:
        """Return one page of a list, and what asks for the next one, where that is known."""
        from opsconsole.v1.bodies import ListEnvelope  # with the first answer

        return ListEnvelope.read(answer), cursor_of(answer, self._settings.cursor_field)


def _import_result(answer: Mapping[str, Any]) -> ImportResult:
    from opsconsole.v1.bodies import ImportResult  # with the first answer

    return ImportResult.read(answer)


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


def _query_of(list_query: Mapping[str, str], operation: str) -> dict[str, str]:
    found: dict[str, str] = {}
    kinds = operations.kinds_of_lists() if list_query else {}
    for name, value in list_query.items():
        kind, dot, parameter = name.partition(".")
        if not (dot and parameter and kind in kinds.values()):
            found[name] = value
        elif kind == kinds[operation]:
            found[parameter] = value
    return found


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
