"""The SQLite file: one table of rows as JSON, read whole at start, written after each request."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path

from opsconsole.emulator.store import Row, Table

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
_PUT = """
INSERT INTO rows (collection, id, body) VALUES (?, ?, ?)
ON CONFLICT (collection, id) DO UPDATE SET body = excluded.body
"""


class NotAnArchive(Exception):
    """The file is not a database, or one of another program or version."""


class SqliteArchive:
    """A console's rows in an SQLite file.

    Args:
        path: The file; it is made where there is none.

    Raises:
        NotAnArchive: The file is there and cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._database = sqlite3.connect(
                path, timeout=1, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise
        except sqlite3.Error as failure:
            raise NotAnArchive(f"{path}: {failure}") from failure

    def _prepare(self) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        (tables,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version not in (0, VERSION) or (version == 0 and tables):
            raise NotAnArchive(f"{self._path}: not a file of this emulator, or of another version")
        # Two emulators on one file would each keep their own rows: the second one is refused.
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode = WAL")
        # A crash of the machine may cost the last moments of a demo; a crash of the process none.
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute(_CREATE)
        self._database.execute(f"PRAGMA user_version = {VERSION}")
        self._database.execute("BEGIN IMMEDIATE")
        self._database.execute("COMMIT")

    def load(self, tables: Mapping[str, Table]) -> int:
        """Fill the tables; return the number of rows."""
        count = 0
        query = "SELECT collection, body FROM rows ORDER BY number"
        for collection, body in self._database.execute(query):
            if collection in tables:
                row: Row = {sys.intern(name): value for name, value in json.loads(body).items()}
                tables[collection].rows[row["id"]] = row
                count += 1
        return count

    def save(self, tables: Mapping[str, Table]) -> None:
        """Write what is dirty, as one transaction."""
        put: list[tuple[str, str, str]] = []
        gone: list[tuple[str, str]] = []
        for name, table in tables.items():
            for row_id in table.dirty:
                row = table.rows.get(row_id)
                if row is None:
                    gone.append((name, row_id))
                else:
                    put.append((name, row_id, json.dumps(row, separators=(",", ":"))))
        if not put and not gone:
            return
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany("DELETE FROM rows WHERE collection = ? AND id = ?", gone)
            self._database.executemany(_PUT, put)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()
