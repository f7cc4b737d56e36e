"""The memory of the console: its tables, its clock, its ids and its SQLite file.

No rule of the API is here. The file has one table of rows as JSON. The table is read completely at
start, and written after each request.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from opsconsole.clock import timestamp, utc_now
from opsconsole.emulator import document

Row = dict[str, Any]
"""A row: only the fields that are set. It is replaced, never changed in place."""

LISTS = (*document.LISTS["host"], "read_orgs", "write_orgs")


def check_row(fields: Row) -> str | None:
    """Return the first error in a row from outside the API, or None."""
    for name, value in fields.items():
        if name == "id":
            # The id is a column of its own, and SQLite cannot store half of a surrogate pair as
            # text.
            good = type(value) is str and value.encode("utf-8", "replace").decode() == value
        elif name.endswith("_id"):
            good = value is None or type(value) is str
        elif name in LISTS:
            good = value is None or (
                type(value) is list and all(type(item) is str for item in value)
            )
        else:
            good = name != "name" or type(value) is str
        if not good:
            return f"{name} cannot be {value!r}"
    return None


class Table:
    """One collection of rows; `dirty` holds the ids written or removed since the last commit."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.dirty: dict[str, None] = {}
        self._indexes: dict[str, defaultdict[Any, dict[str, None]]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows.values())

    def get(self, row_id: str) -> Row | None:
        return self.rows.get(row_id)

    def put(self, row: Row) -> None:
        """Add the row, or replace the one that has its id."""
        row_id = row["id"]
        if self._indexes:
            self._reindex(row_id, self.rows.get(row_id), row)
        self.rows[row_id] = row
        self.dirty[row_id] = None

    def remove(self, row_id: str) -> Row | None:
        row = self.rows.pop(row_id, None)
        if row is not None:
            self._reindex(row_id, row, None)
            self.dirty[row_id] = None
        return row

    def find(self, field: str, value: Any) -> list[Row]:
        """Return the rows whose `field` equals `value`, or contains it if the field is a list."""
        index = self._indexes.get(field)
        if index is None:
            index = self._indexes[field] = defaultdict(dict)
            for row_id, row in self.rows.items():
                for key in _keys(row.get(field)):
                    index[key][row_id] = None
        return [self.rows[row_id] for row_id in index.get(value, ())]

    def clear(self) -> None:
        self.dirty.update(dict.fromkeys(self.rows))
        self.rows.clear()
        self._indexes.clear()

    def _reindex(self, row_id: str, old: Row | None, new: Row | None) -> None:
        for field, index in self._indexes.items():
            before, after = (row.get(field) if row is not None else None for row in (old, new))
            if before == after:
                continue
            for key in _keys(before):
                index[key].pop(row_id, None)
            for key in _keys(after):
                index[key][row_id] = None


def _keys(value: Any) -> tuple[Any, ...]:
    if value is None or isinstance(value, dict):
        return ()
    if isinstance(value, list):
        return tuple(item for item in value if isinstance(item, str))
    return (value,)


COLLECTIONS = {
    **{kind.collection: kind.id_prefix for kind in document.KINDS.values()},
    "attachments": "att",
    "tasks": "tsk",
    "keys": "key",
}
"""The prefix of the ids in each collection. `attachments` join an agent and a plugin:
`AGENT/PLUGIN`."""

TENANT = "ten_demo"
MAIN_ORG = "org_main"


class Store:
    """The rows of one console. It belongs to one thread at a time.

    Args:
        file: The SQLite file that keeps the rows, created if missing; None keeps them in memory.
        seed: The same seed makes the same ids; None makes different ids each time.

    Raises:
        NotAnArchive: The file exists but cannot be used.
    """

    def __init__(self, file: Path | None = None, seed: int | None = None) -> None:
        self.tables = {name: Table() for name in COLLECTIONS}
        self.hosts = self.tables["hosts"]
        self.agents = self.tables["agents"]
        self.attachments = self.tables["attachments"]
        self.plugins = self.tables["plugins"]
        self.specialties = self.tables["specialties"]
        self.blacklists = self.tables["blacklists"]
        self.tasks = self.tables["tasks"]
        self.keys = self.tables["keys"]
        self._random = random.Random(seed)
        self._database = _open_database(file) if file is not None else None
        self.loaded = self._load()

    def new_id(self, prefix: str) -> str:
        """Make an id: the type's prefix and an opaque suffix (Resources, Conventions)."""
        return f"{prefix}_{self._random.getrandbits(80):020x}"

    def now(self) -> str:
        """Return the time as an ISO 8601 date-time string in UTC."""
        return timestamp(utc_now(), "microseconds")

    def add(self, collection: str, fields: Row) -> Row:
        """Add a row; generate an id, a tenant and timestamps if `fields` has none."""
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

    def change(self, collection: str, row_id: str, fields: Mapping[str, Any]) -> Row:
        """Change fields of a row; None clears a field. `updated_at` changes unless it is given."""
        row = self.tables[collection].get(row_id)
        if row is None:
            raise KeyError(f"{row_id} in {collection}")
        changed = {**row, "updated_at": self.now(), **fields, "id": row_id}
        changed = {name: value for name, value in changed.items() if value is not None}
        self.tables[collection].put(changed)
        return changed

    def commit(self) -> None:
        """Write the changes since the last commit to the file, as one transaction."""
        if self._database is not None:
            # If this fails, the rows stay dirty, and the next commit writes them.
            self._save(self._database)
        for table in self.tables.values():
            if table.dirty:
                table.dirty = {}

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def _load(self) -> int:
        """Fill the tables from the file; return the number of rows."""
        if self._database is None:
            return 0
        count = 0
        query = "SELECT collection, body FROM rows ORDER BY number"
        for collection, body in self._database.execute(query):
            if collection in self.tables:
                # Each body is read separately, so its names would be in memory once for each row.
                row: Row = {sys.intern(name): value for name, value in json.loads(body).items()}
                # `put` is not used, because a row that was just read need not be written.
                self.tables[collection].rows[row["id"]] = row
                count += 1
        return count

    def _save(self, database: sqlite3.Connection) -> None:
        put: list[tuple[str, str, str]] = []
        gone: list[tuple[str, str]] = []
        for name, table in self.tables.items():
            for row_id in table.dirty:
                row = table.rows.get(row_id)
                if row is None:
                    gone.append((name, row_id))
                else:
                    put.append((name, row_id, json.dumps(row, separators=(",", ":"))))
        if put or gone:
            with database:
                database.execute("BEGIN")
                database.executemany("DELETE FROM rows WHERE collection = ? AND id = ?", gone)
                database.executemany(_PUT, put)


VERSION = 1
_CREATE = """
CREATE TABLE IF NOT EXISTS rows (
  number INTEGER PRIMARY KEY,
  collection TEXT NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (collection, id)
)
"""
# REPLACE would give a changed row a new number, and so move the row to the end.
_PUT = """
INSERT INTO rows (collection, id, body) VALUES (?, ?, ?)
ON CONFLICT (collection, id) DO UPDATE SET body = excluded.body
"""


class NotAnArchive(Exception):
    """The file is not a database, or belongs to another program or version."""


def _open_database(path: Path) -> sqlite3.Connection:
    try:
        # `serve` makes and closes the store outside the thread that uses it. Without an isolation
        # level Python begins no transaction of its own.
        database = sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False)
        try:
            _prepare(database, path)
        except BaseException:
            database.close()
            raise
    except sqlite3.Error as problem:
        raise NotAnArchive(f"{path}: {problem}") from problem
    return database


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version not in (0, VERSION) or (version == 0 and tables):
        raise NotAnArchive(f"{path}: not a file of this emulator, or of another version")
    # Two emulators on one file would each keep their own rows, so the second one is refused.
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    database.execute("PRAGMA journal_mode = WAL")
    # A crash of the machine may lose the last moments of a demo. A crash of the process loses
    # nothing.
    database.execute("PRAGMA synchronous = OFF")
    database.execute(_CREATE)
    database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("BEGIN IMMEDIATE")
    database.execute("COMMIT")
