"""What the language asks about the types that a program may declare; it knows none by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from opsconsole.definition import DataSourceDefinition, ProviderDefinition, ResourceDefinition

BlockDefinition = ResourceDefinition | DataSourceDefinition


class Schemas(Protocol):
    """The definitions of one provider, such as the package `opsconsole.resources`.

    Attributes:
        RESOURCES, DATA_SOURCES: By type name, which begins with the provider's name and `_`.
        PROVIDER: Its settings.
    """

    @property
    def RESOURCES(self) -> Mapping[str, ResourceDefinition]: ...

    @property
    def DATA_SOURCES(self) -> Mapping[str, DataSourceDefinition]: ...

    @property
    def PROVIDER(self) -> ProviderDefinition: ...


NOTHING: Final = DataSourceDefinition((), "", "", "", "", "")
"""The definition of a block that no provider defines."""
NO_SETTINGS: Final = ProviderDefinition((), "")
