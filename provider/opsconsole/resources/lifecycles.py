"""The client, the session and the lifecycles of one provider configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Final

from opsconsole.address import LOCAL_NAME
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import Outcome
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.resources import DATA_SOURCES, RESOURCES, owned_by
from opsconsole.v1.client import Client
from opsconsole.v1.console import Console
from opsconsole.v1.settings import Settings
from opsconsole.values import Values

LIFECYCLES: Final[Mapping[str, str]] = {
    name: f"{__package__}.{item.name}.lifecycle:{item.class_name}Lifecycle"
    for name, item in RESOURCES.items()
}
"""The lifecycle of each resource by Terraform type name, imported when it is first asked for."""


class _Lifecycles(dict[str, BaseLifecycle]):
    def __init__(self, session: ConsoleSession) -> None:
        super().__init__()
        self._session = session

    def __missing__(self, type_name: str) -> BaseLifecycle:
        lifecycle: BaseLifecycle = resolve_name(LIFECYCLES[type_name])(self._session)
        return self.setdefault(type_name, lifecycle)


class ConfiguredProvider:
    """The client, the session and the lifecycles of one provider configuration, for one run.

    Attributes:
        lifecycles: The lifecycle of each resource by Terraform type name.
    """

    def __init__(self, settings: Settings, *, get_only: bool = False) -> None:
        """Make no connection yet; `get_only` forbids any call but GET."""
        self.client = Client(settings, get_only=get_only)
        self.session = ConsoleSession(Console(self.client, settings), settings, owned_by)
        self.lifecycles: Mapping[str, BaseLifecycle] = _Lifecycles(self.session)

    async def read_data(self, type_name: str, config: Values) -> Outcome:
        """Read one data source; `config` is all known."""
        source = DATA_SOURCES[type_name]
        return await self.lifecycles[f"{LOCAL_NAME}_{source.resource}"].read_data(source, config)

    def stop(self) -> None:
        """Send no further request; those in flight are finished."""
        self.session.stopped = True
        self.session.wake()
        self.client.stop()

    async def close(self) -> None:
        """Cancel pending reads, and close all connections."""
        await self.session.cancel_reads()
        await self.client.aclose()
