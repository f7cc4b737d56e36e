"""Many hosts from data: typed rows, CSV, YAML or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from constructs import Construct

from opsconsole_cdktf._placed import BadRows, Columns, PlacedRow
from opsconsole_cdktf._rules import is_token
from opsconsole_cdktf.agent_plugin import AgentPlugin
from opsconsole_cdktf.data_sources import DataSpecialty
from opsconsole_cdktf.host import HostArguments
from opsconsole_cdktf.managed_host import ManagedHost

if TYPE_CHECKING:
    from opsconsole_cdktf.rows import AgentRow, HostRow

__all__ = ["BadRows", "Columns", "Fleet", "FleetOptions"]


class FleetOptions(TypedDict, total=False):
    """The options beside a file of rows.

    Attributes:
        key: The column that holds each host's key; `name` by default.
        columns: Columns whose names differ from the field of `HostRow`.
        defaults: As for `Fleet`.
        groups: As for `Fleet`.
    """

    key: str
    columns: Columns | None
    defaults: HostArguments | None
    groups: Mapping[str, HostArguments] | None


class Fleet(Construct):
    """Hosts that are declared by rows of data.

    The address of a host is made of its key alone. So the order of the rows has no meaning, and a
    row that is removed is a host that is removed.

    Args:
        scope: The construct that it belongs to.
        id_: Its name within `scope`.
        rows: The hosts: `opsconsole_cdktf.rows.HostRow`, or mappings of its fields.
        defaults: Arguments of every host that its row and its groups leave out.
        groups: Arguments by the name of a group, for the rows that name it. A row's own value
            comes first, then its groups in their order, then `defaults`; lists are not joined.

    Raises:
        BadRows: Rows that cannot be used, all of them.
        TypeError, ValueError: A default is of a wrong type, or out of its bounds.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        rows: Iterable[HostRow | Mapping[str, Any]],
        *,
        defaults: HostArguments | None = None,
        groups: Mapping[str, HostArguments] | None = None,
    ) -> None:
        # Only programs with a fleet load pydantic.
        from opsconsole_cdktf._fleet_rows import place_rows

        super().__init__(scope, id_)
        self._hosts: dict[str, ManagedHost] = {}
        self._specialties: dict[str, DataSpecialty] = {}
        self._declare(place_rows(rows), defaults or {}, groups or {})

    @property
    def hosts(self) -> Mapping[str, ManagedHost]:
        """The hosts by their keys."""
        return dict(self._hosts)

    @classmethod
    def from_csv(
        cls,
        scope: Construct,
        id_: str,
        path: str | PathLike[str],
        **options: Unpack[FleetOptions],
    ) -> Fleet:
        """Declare the hosts of a CSV file, whose first line names the columns.

        Args:
            scope: The construct that it belongs to.
            id_: Its name within `scope`.
            path: The file. A list in a cell is separated by `;`; an empty cell says nothing.
            options: See `FleetOptions`.

        Raises:
            BadRows: As for `Fleet`; also a column that is not known, a file that cannot be read.
        """
        from opsconsole_cdktf._fleet_files import csv_rows
        from opsconsole_cdktf._fleet_rows import column_problems

        key, columns = options.get("key", "name"), options.get("columns") or {}
        rows = csv_rows(path, lambda header: column_problems(header, key, columns))
        return cls._from(scope, id_, rows, **options)

    @classmethod
    def from_yaml(
        cls,
        scope: Construct,
        id_: str,
        path: str | PathLike[str],
        **options: Unpack[FleetOptions],
    ) -> Fleet:
        """Declare the hosts of a YAML file: a list of rows, or a mapping of keys to rows.

        Arguments and errors are as in `from_csv`.
        """
        from opsconsole_cdktf._fleet_files import yaml_rows

        return cls._from(scope, id_, yaml_rows(path), **options)

    @classmethod
    def from_json(
        cls,
        scope: Construct,
        id_: str,
        path: str | PathLike[str],
        **options: Unpack[FleetOptions],
    ) -> Fleet:
        """Declare the hosts of a JSON file: a list of rows, or an object of keys to rows.

        Arguments and errors are as in `from_csv`.
        """
        from opsconsole_cdktf._fleet_files import json_rows

        return cls._from(scope, id_, json_rows(path), **options)

    @classmethod
    def _from(
        cls,
        scope: Construct,
        id_: str,
        rows: list[PlacedRow],
        *,
        key: str = "name",
        columns: Columns | None = None,
        defaults: HostArguments | None = None,
        groups: Mapping[str, HostArguments] | None = None,
    ) -> Fleet:
        from opsconsole_cdktf._fleet_rows import rename_columns

        # The constructor would number the rows: errors are to name the file and the line.
        fleet = cls(scope, id_, ())
        fleet._declare(rename_columns(rows, key, columns or {}), defaults or {}, groups or {})
        return fleet

    def _declare(
        self,
        rows: list[PlacedRow],
        defaults: HostArguments,
        groups: Mapping[str, HostArguments],
    ) -> None:
        from opsconsole_cdktf._fleet_rows import agent_names, checked_rows, given_values
        from opsconsole_cdktf.row_values import HostValues

        checked = checked_rows(rows, groups.keys())
        for key, row in checked.items():
            values: dict[str, Any] = dict(defaults)
            # The first group comes first, so that it is put over the others.
            for group in reversed(row.groups):
                values |= dict(groups.get(group, {}))
            self._hosts[key] = ManagedHost(self, key, **{**values, **given_values(row, HostValues)})
            if row.import_id is not None:
                self._hosts[key].import_from(row.import_id)
        # Only now that every host is declared: a jump host may come after the hosts behind it.
        for key, row in checked.items():
            self._set_jump_hosts(self._hosts[key], row)
            for name, agent in zip(agent_names(row), row.agents, strict=True):
                self._add_agent(self._hosts[key], name, agent)

    def _set_jump_hosts(self, host: ManagedHost, row: HostRow) -> None:
        if is_token(row.jump_hosts):
            host.jump_host_ids = row.jump_hosts
            return
        jumps = [self._hosts[name] for name in row.jump_hosts if name in self._hosts]
        if jumps:
            host.behind(*jumps)
        # `behind` takes declared hosts only: ids are set with them, in the order of the row.
        if len(jumps) != len(row.jump_hosts):
            host.jump_host_ids = [
                self._hosts[name].id if name in self._hosts else name for name in row.jump_hosts
            ]

    def _add_agent(self, host: ManagedHost, name: str, row: AgentRow) -> None:
        from opsconsole_cdktf._fleet_rows import given_values
        from opsconsole_cdktf.row_values import AgentValues

        agent = host.add_agent(
            name,
            specialty=self._specialty(row.specialty),
            plugins=row.plugins,
            **given_values(row, AgentValues),
        )
        if row.import_id is not None:
            agent.import_from(row.import_id)
        for item in row.attachments:
            # A token cannot be part of an address.
            name = "plugin" if is_token(item.plugin_id) else item.plugin_id
            attached = AgentPlugin(agent, name, agent_id=agent.id, plugin_id=item.plugin_id)
            if item.import_id is not None:
                attached.import_from(item.import_id)

    def _specialty(self, key: str) -> DataSpecialty | str:
        if is_token(key) or key.startswith("spc_"):
            return key
        from opsconsole_cdktf._fleet_rows import SPECIALTIES

        if key not in self._specialties:
            # In a scope of their own, so that no key of a specialty meets the key of a host.
            scope: Any = self.node.try_find_child(SPECIALTIES)
            scope = scope or Construct(self, SPECIALTIES)
            self._specialties[key] = DataSpecialty(scope, key, key=key)
        return self._specialties[key]
