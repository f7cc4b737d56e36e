"""The operations that the document does not show and that an operator has named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsconsole.errors import ConfigurationError
from opsconsole.v1.client import Client
from opsconsole.v1.lists import list_all
from opsconsole.v1.operations import Operation, extra_operation
from opsconsole.v1.settings import Settings
from opsconsole.v1.shapes import Listing, resource


class Extras:
    """The extra endpoints (setting `extra_endpoints`); calling one that is not named is an error.

    They take the documented field names and answer with the resource or with a list envelope; a
    delete answers with an object that holds the `id`.
    """

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._settings = settings
        self._named = {
            name: extra_operation(name, declared)
            for name, declared in settings.extra_endpoints.items()
        }

    def has(self, name: str) -> bool:
        """Tell whether the extra endpoint `name` is named."""
        return name in self._named

    async def get_host(self, host_id: str) -> dict[str, Any]:
        """Return one host."""
        return await self._by_id("host_get", host_id)

    async def list_hosts(self) -> Listing:
        """Return the hosts."""
        return await self._listed("host_list")

    async def get_agent(self, agent_id: str) -> dict[str, Any]:
        """Return one agent."""
        return await self._by_id("agent_get", agent_id)

    async def list_agents(self) -> Listing:
        """Return the agents."""
        return await self._listed("agent_list")

    async def update_agent(self, agent_id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change the fields in `changes` only; return the agent."""
        return await self._by_id("agent_update", agent_id, changes)

    async def delete_agent(self, agent_id: str) -> dict[str, Any]:
        """Delete an agent."""
        return await self._by_id("agent_delete", agent_id)

    async def get_specialty(self, specialty_id: str) -> dict[str, Any]:
        """Return one specialty."""
        return await self._by_id("specialty_get", specialty_id)

    async def create_specialty(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create a specialty; return it."""
        return await self._created("specialty_create", body)

    async def update_specialty(
        self, specialty_id: str, changes: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Change the fields in `changes` only; return the specialty."""
        return await self._by_id("specialty_update", specialty_id, changes)

    async def list_blacklists(self) -> Listing:
        """Return the blacklisted commands."""
        return await self._listed("blacklist_list")

    async def create_blacklist(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create a blacklisted command; return it."""
        return await self._created("blacklist_create", body)

    async def delete_blacklist(self, row_id: str) -> dict[str, Any]:
        """Delete a blacklisted command."""
        return await self._by_id("blacklist_delete", row_id)

    def _operation(self, name: str) -> Operation:
        operation = self._named.get(name)
        if operation is None:
            raise ConfigurationError(
                f"The document shows no operation for {name}, and none is named.",
                "Name it in extra_endpoints if the console has one.",
                "extra_endpoints",
            )
        return operation

    async def _by_id(
        self, name: str, asked: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        return await self._resource(self._operation(name), (asked,), asked=asked, body=body)

    async def _created(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return await self._resource(self._operation(name), body=body)

    async def _listed(self, name: str) -> Listing:
        return await self._list(self._operation(name))

    async def _resource(
        self,
        operation: Operation,
        ids: Sequence[str] = (),
        *,
        asked: str | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Make a call that is answered with one resource, whose id is `asked` if that is known."""
        return await self._client.call(
            operation, ids, shape=lambda answer: resource(answer, asked), body=body
        )

    async def _list(self, operation: Operation, ids: Sequence[str] = ()) -> Listing:
        return await list_all(self._client, self._settings, operation, ids)
