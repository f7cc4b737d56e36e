"""The operations that the document does not show and that an operator has named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsconsole.errors import ConfigurationError
from opsconsole.v1.client import Client
from opsconsole.v1.lists import list_all
from opsconsole.v1.operations import DOCUMENTED, Operation, extra_operation
from opsconsole.v1.settings import Settings
from opsconsole.v1.shapes import Listing, resource


class Extras:
    """Operations by their name: the extra endpoints (setting `extra_endpoints`) that are named, and
    the documented ones. Calling another is an error.

    They take the documented field names and answer with the resource or with a list envelope; a
    delete answers with an object that holds the `id`.
    """

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._settings = settings
        self._named = {operation.name: operation for operation in DOCUMENTED} | {
            name: extra_operation(name, declared)
            for name, declared in settings.extra_endpoints.items()
        }

    def has(self, name: str) -> bool:
        """Tell whether there is an operation `name`: documented, or named as extra endpoint."""
        return name in self._named

    async def one(
        self, name: str, resource_id: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Read, change or delete one resource by the operation `name`; return its answer."""
        return await self.call_one(
            self._operation(name), (resource_id,), asked=resource_id, body=body
        )

    async def created(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create one resource by the operation `name`; return it."""
        return await self.call_one(self._operation(name), body=body)

    async def listed(self, name: str) -> Listing:
        """Return what the operation `name` lists."""
        return await self.call_list(self._operation(name))

    def _operation(self, name: str) -> Operation:
        operation = self._named.get(name)
        if operation is None:
            raise ConfigurationError(
                f"The document shows no operation for {name}, and none is named.",
                "Name it in extra_endpoints if the console has one.",
                "extra_endpoints",
            )
        return operation

    async def call_one(
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

    async def call_list(self, operation: Operation, ids: Sequence[str] = ()) -> Listing:
        """Return what a list operation shows, page after page where the way is known."""
        return await list_all(self._client, self._settings, operation, ids)
