"""Everything the console remembers: its tables, its clock and its ids. No rule of the API."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from opsconsole.emulator.table import Row, Table

if TYPE_CHECKING:
    from opsconsole.emulator.archive import SqliteArchive

COLLECTIONS = {
    "hosts": "hst",
    "agents": "agt",
    "attachments": "att",
    "plugins": "plg",
    "specialties": "spc",
    "blacklists": "blk",
    "tasks": "tsk",
    "keys": "key",
}
"""Collection to the prefix of its ids. `attachments` join an agent and a plugin: `AGENT/PLUGIN`."""

TENANT = "ten_demo"
MAIN_ORG = "org_main"


class Store:
    """The rows of one console. It belongs to one thread at a time.

    Args:
        archive: Where the rows come from and go to; None keeps them in memory.
    """

    def __init__(self, archive: SqliteArchive | None = None) -> None:
        self.tables = {name: Table() for name in COLLECTIONS}
        self.hosts = self.tables["hosts"]
        self.agents = self.tables["agents"]
        self.attachments = self.tables["attachments"]
        self.plugins = self.tables["plugins"]
        self.specialties = self.tables["specialties"]
        self.blacklists = self.tables["blacklists"]
        self.tasks = self.tables["tasks"]
        self.keys = self.tables["keys"]
        self._random = random.Random()
        self._archive = archive
        self.loaded = archive.load(self.tables) if archive is not None else 0

    def new_id(self, prefix: str) -> str:
        """Make an id: the type's prefix and an opaque suffix (Resources, Conventions)."""
        return f"{prefix}_{self._random.getrandbits(80):020x}"

    def now(self) -> str:
        """Return the time as an ISO 8601 date-time string in UTC."""
        return datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"

    def add(self, collection: str, fields: Row) -> Row:
        """Add a row, with an id, a tenant and timestamps where `fields` names none."""
        now = self.now()
        row_id = fields.get("id")
        if not row_id and collection == "attachments":
            row_id = f"{fields.get('agent_id')}/{fields.get('plugin_id')}"
        row: Row = {"id": row_id or self.new_id(COLLECTIONS[collection])}
        if collection not in ("attachments", "tasks"):
            row["tenant_id"] = TENANT
        row.update(fields, id=row["id"])
        row.setdefault("created_at", now)
        row.setdefault("updated_at", now)
        row = {name: value for name, value in row.items() if value is not None}
        self.tables[collection].put(row)
        return row

    def change(self, collection: str, row_id: str, fields: dict[str, Any]) -> Row | None:
        """Change fields of a row, None clearing them; `updated_at` moves unless it is named."""
        row = self.tables[collection].get(row_id)
        if row is None:
            return None
        changed = {**row, "updated_at": self.now(), **fields, "id": row_id}
        changed = {name: value for name, value in changed.items() if value is not None}
        self.tables[collection].put(changed)
        return changed

    def commit(self) -> None:
        """Write what changed since the last commit to the archive, as one transaction."""
        if self._archive is not None:
            self._archive.save(self.tables)
        for table in self.tables.values():
            if table.dirty:
                table.dirty = {}

    def close(self) -> None:
        """Let go of the archive."""
        if self._archive is not None:
            self._archive.close()
