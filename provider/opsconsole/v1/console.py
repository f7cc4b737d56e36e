"""The console, operation by operation: what each call sends, and the shape its answer must have.

Nothing here decides when a call is made; authentication, retries and errors are the client's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsconsole.errors import UserError
from opsconsole.v1 import operations
from opsconsole.v1.extras import Extras
from opsconsole.v1.operations import Operation
from opsconsole.v1.shapes import Gap, ImportResult, Listing, RowResult, import_result

__all__ = ["Console", "Gap", "ImportResult", "Listing", "RowResult"]

Body = dict[str, Any]


class Console(Extras):
    """The documented operations; those that an operator may name come with `Extras`.

    Every method raises what `Client.call` does, and `UnexpectedAnswer` for an answer of another
    shape than the document shows.
    """

    async def get_blacklisted_command(self, row_id: str) -> Body:
        """Return one entry (GET /api/v1/blacklists/{id})."""
        return await self._one(operations.GET_BLACKLISTED_COMMAND, row_id)

    async def update_blacklisted_command(self, row_id: str, changes: Mapping[str, Any]) -> Body:
        """Change the fields in `changes`, null included; return the entry."""
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
                    "The API document does not name the query parameter that tells what to do "
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
            shape=import_result,
            query={**query, "dry_run": "true" if dry_run else "false"},
            body=body,
            csv=csv,
            repeatable=dry_run,
        )

    async def _one(
        self, operation: Operation, asked: str, body: Mapping[str, Any] | None = None
    ) -> Body:
        return await self.call_one(operation, (asked,), asked=asked, body=body)
