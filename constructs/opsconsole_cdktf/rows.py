"""The rows that a fleet is made of. This imports pydantic; the package itself does not."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, field_validator

from opsconsole_cdktf._row import Row, items_of
from opsconsole_cdktf.row_values import AgentValues, HostValues


class AttachmentRow(Row):
    """A plugin on an agent, as a resource of its own.

    Attributes:
        plugin_id: Id of the plugin.
        import_id: Its import id, `AGENT_ID/PLUGIN_ID`, if attached already.
    """

    plugin_id: str
    import_id: str | None = None


class AgentRow(AgentValues):
    """An agent of a host, in a row of that host.

    Attributes:
        specialty: Key of the specialty that it carries, or its id, `spc_…`.
        key: Its name inside its host, which makes up its address; by default the specialty. Equal
            agents of one host need no key: they are counted.
        plugins: Ids of all its plugins; None leaves them alone.
        attachments: Plugins to attach in addition to others; a text is the id of a plugin.
        import_id: Id of the agent, `agt_…`, to import it if it exists already.
    """

    LITERAL: ClassVar[frozenset[str]] = frozenset({"key", "attachments"})

    specialty: str
    key: str | None = None
    plugins: list[str] | None = None
    attachments: list[AttachmentRow] = Field(default_factory=list)
    import_id: str | None = None

    @field_validator("attachments", mode="before")
    @classmethod
    def _id_alone(cls, value: object) -> object:
        return _objects("plugin_id", value)


class HostRow(HostValues):
    """A host of a fleet.

    Attributes:
        key: Its name inside the fleet, which makes up its address; by default `name`.
        groups: Groups whose values it takes, the first one first.
        jump_hosts: The keys of its jump hosts' rows, or ids, `hst_…`.
        agents: Its agents; a text is the key of a specialty.
        import_id: Id of the host, `hst_…`, to import it if it exists already.
    """

    LITERAL: ClassVar[frozenset[str]] = frozenset({"key", "groups", "agents"})

    name: str
    key: str | None = None
    groups: list[str] = Field(default_factory=list)
    jump_hosts: list[str] = Field(default_factory=list)
    agents: list[AgentRow] = Field(default_factory=list)
    import_id: str | None = None

    @field_validator("groups", "jump_hosts", "agents", mode="before")
    @classmethod
    def _none_is_empty(cls, value: object) -> object:
        return [] if value is None or value == "" else value

    @field_validator("agents", mode="before")
    @classmethod
    def _key_alone(cls, value: object) -> object:
        return _objects("specialty", value)


def _objects(field: str, value: object) -> object:
    """Return a list in which each text, also of a cell, is an object with that field."""
    if isinstance(value, str):
        value = items_of(value)
    if value is None:
        return []
    if not isinstance(value, list):
        return value
    return [{field: item} if isinstance(item, str) else item for item in value]
