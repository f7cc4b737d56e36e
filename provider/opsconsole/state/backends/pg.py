"""State in PostgreSQL: Terraform's `pg` backend.

The lock is an advisory lock of a session, so it ends with the connection. The state is written over
the same connection. Journals are in their own table, which Terraform does not read. They are
written over a second connection, so that a large write never delays them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from opsconsole.errors import UserError
from opsconsole.state.backend import RunOptions
from opsconsole.state.backends.base import (
    JOURNAL,
    BackendSettings,
    LockLost,
    SharedBackend,
    md5_of,
    one_line,
)
from opsconsole.state.lock import LockInfo

CREATION = -1
"""Terraform's lock key for a state without a row; the whole database shares it."""

_TABLE = "opsconsole_companions"
_LOCK_NOTE = "lock"
_KEY_OF_ROW: LiteralString = "SELECT id FROM {states} WHERE name = %s"
_CREATION_TRIES = 10
_CREATING_TRIES = 5
_CREATED_MEANWHILE = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.DuplicateTable,
    psycopg.errors.DuplicateObject,
    psycopg.errors.DuplicateSchema,
)
_MISSING = (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName)
_FORBIDDEN = (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidSchemaName)
_WRONG_CREDENTIALS = (
    psycopg.errors.InvalidPassword,
    psycopg.errors.InvalidAuthorizationSpecification,
)

Connection = psycopg.Connection[tuple[Any, ...]]


class PgBackend(SharedBackend):
    """One row of `SCHEMA.states`."""

    _errors = (psycopg.Error,)

    def __init__(self, block: Mapping[str, Any], workspace: str, options: RunOptions) -> None:
        settings = BackendSettings("pg", block)
        self._conninfo = settings.text("conn_str", "PG_CONN_STR")
        self._schema = settings.text(
            "schema_name", "PG_SCHEMA_NAME", default="terraform_remote_state"
        )
        self._table = settings.text("table_name", "PG_TABLE_NAME", default="states")
        self._index = settings.text("index_name", "PG_INDEX_NAME", default="states_by_name")
        self._creation = (CREATION, creation_key(self._schema, self._table))
        name = f"{workspace} in {self._schema}.{self._table} of PostgreSQL"
        identity = f"{self._server()} {self._schema} {self._table} {workspace}"
        super().__init__(settings, workspace, options, name, identity)
        self._first: Connection | None = None
        self._second: Connection | None = None
        self._prepared = False
        self._keys: Sequence[int] = ()

    def _read_journal(self) -> bytes:
        return self._read_companion(JOURNAL)

    def _store_journal(self, data: bytes) -> None:
        self._store_companion(JOURNAL, data)

    def _disconnect(self) -> None:
        """Close the connections, which also ends a lock that is still held."""
        for connection in (self._first, self._second):
            if connection is not None:
                connection.close()
        self._first = self._second = None
        self._keys, self._info = (), None

    def _read(self) -> bytes:
        rows = self._rows("SELECT data FROM {states} WHERE name = %s", self._workspace)
        data = (rows[0][0] or "").encode() if rows else b""
        self._seen = md5_of(data) if rows else ""
        return data

    def _write(self, data: bytes) -> None:
        """Replace the row, over the connection that holds the lock."""
        self._prepare()
        arguments: tuple[str, ...] = (data.decode(), self._workspace)
        if self._seen:
            text: LiteralString = (
                "UPDATE {states} SET data = %s WHERE name = %s AND md5(coalesce(data, '')) = %s"
            )
            arguments = (*arguments, self._seen)
        else:
            text = "INSERT INTO {states} (data, name) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING"
        if self._run(text, *arguments).rowcount != 1:
            raise self._written_by_other()
        self._seen = md5_of(data)

    def _lock(self, info: LockInfo) -> None:
        """Take the row's advisory lock. Without a row, keep the creation locks for the run."""
        self._prepare()
        # PostgreSQL cuts the name off at 63 bytes; `_find_holder` finds the start of the ID in it.
        name = f"{info.operation} {info.id[:8]} {info.who}"[:63]
        self._run("SELECT set_config('application_name', %s, false)", name)
        # Like Terraform and OpenTofu, every run first tries the creation lock. If there is a row,
        # the run holds that lock only for a moment. So a run that finds the lock taken retries for
        # a second.
        for attempt in range(_CREATION_TRIES):
            key = self._try_creation_locks()
            if key is None:
                break
            if attempt + 1 == _CREATION_TRIES:
                raise self._lock_held(self._find_holder(key))
            time.sleep(0.1)
        key = self._value(_KEY_OF_ROW, self._workspace)
        if key is not None:
            is_taken = self._try_lock(key)
            self._unlock(self._creation)
            if not is_taken:
                raise self._lock_held(self._find_holder(key))
        self._keys = self._creation if key is None else (key,)
        self._info = info._replace(path=str(self._keys[0]))
        self._store_companion(_LOCK_NOTE, self._info.to_json())

    def _try_creation_locks(self) -> int | None:
        """Take the creation locks; return the key that another session holds, or None."""
        taken: list[int] = []
        # Terraform and OpenTofu have different creation locks, so both are taken.
        for key in self._creation:
            if not self._try_lock(key):
                self._unlock(taken)
                return key
            taken.append(key)
        return None

    def _release(self, info: LockInfo) -> None:
        """Release the lock. If the connection is gone, so is the lock."""
        keys, self._keys = self._keys, ()
        if keys and self._first is not None and not self._first.closed:
            self._store_companion(_LOCK_NOTE, b"")
            self._unlock(keys)

    def _force_unlock(self, holder: LockInfo) -> None:
        """End the session that holds the lock, which is the only way to release it from outside."""
        for pid in _pid_of(holder):
            self._run("SELECT pg_terminate_backend(%s)", int(pid))
        self._store_companion(_LOCK_NOTE, b"")

    def _lock_ids(self, holder: LockInfo) -> Sequence[str]:
        return [holder.id, *_pid_of(holder)]

    def _holder(self) -> LockInfo | None:
        """Return the holder of the lock, from the session and from the note of a native run."""
        rows = self._rows(_KEY_OF_ROW, self._workspace)
        keys = [*(int(row[0]) for row in rows), *self._creation]
        return next(filter(None, map(self._find_holder, keys)), None)

    def _workspaces(self) -> set[str]:
        return {row[0] for row in self._rows("SELECT name FROM {states}")}

    def _delete_all(self) -> None:
        self._run("DELETE FROM {states} WHERE name = %s", self._workspace)
        self._store_companion(JOURNAL, b"")

    def _server(self) -> str:
        """Return host, port and database, as far as the settings name them."""
        try:
            parts = psycopg.conninfo.conninfo_to_dict(self._conninfo)
        except psycopg.ProgrammingError as error:
            raise UserError(
                f"The `conn_str` of the pg backend cannot be read: {one_line(error)}.",
                "Write it as PostgreSQL's URI or as NAME=VALUE pairs.",
            ) from error
        names = (("host", "PGHOST"), ("port", "PGPORT"), ("dbname", "PGDATABASE"))
        return " ".join(str(parts.get(name) or os.environ.get(own)) for name, own in names)

    def _try_lock(self, key: int) -> bool:
        return bool(self._value("SELECT pg_try_advisory_lock(%s)", key))

    def _unlock(self, keys: Sequence[int]) -> None:
        for key in keys:
            self._run("SELECT pg_advisory_unlock(%s)", key)

    def _check_lock(self, info: LockInfo) -> None:
        for key in self._keys:
            # pg_locks shows a key as two halves of 32 bits, which look signed only when cast.
            is_held = self._value(
                "SELECT true FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
                " AND objsubid = 1 AND classid = %s AND objid = %s AND granted",
                *_halves(key),
            )
            if not is_held:
                raise LockLost(self.name, "its session no longer holds the advisory lock")

    def _find_holder(self, key: int) -> LockInfo | None:
        """Return the session that holds a key, as PostgreSQL knows it."""
        # pg_locks shows the advisory locks of every database of the server.
        row = self._run(
            "SELECT a.pid, a.usename, coalesce(host(a.client_addr), 'the same machine'),"
            " a.application_name, to_char(a.backend_start AT TIME ZONE 'UTC',"
            ' \'YYYY-MM-DD"T"HH24:MI:SS"Z"\')'
            " FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid"
            " WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"
            " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND l.classid = %s AND l.objid = %s",
            *_halves(key),
        ).fetchone()
        if row is None:
            return None
        pid, user, client, application, since = row
        session = f"PostgreSQL session {pid} of {user} from {client}"
        noted = LockInfo.parse(self._read_companion(_LOCK_NOTE))
        if noted is not None and noted.id and noted.id[:8] in (application or ""):
            return noted._replace(info=session)
        who = application or "a session without a name (Terraform gives none)"
        return LockInfo(str(pid), "session", who, "", str(since or ""), str(key), session)

    def _read_companion(self, which: str) -> bytes:
        text: LiteralString = "SELECT data FROM {companions} WHERE name = %s AND kind = %s"
        try:
            return bytes(self._value(text, self._companion_name, which, on=self._other()) or b"")
        except _MISSING:
            return b""

    @property
    def _companion_name(self) -> str:
        """The name of this state's companions; one table has the companions of a whole schema."""
        own = "" if self._table == "states" else f"{self._table}/"
        return f"{own}{self._workspace}"

    def _store_companion(self, which: str, data: bytes) -> None:
        row: tuple[object, ...] = (self._companion_name, which)
        text: LiteralString = "DELETE FROM {companions} WHERE name = %s AND kind = %s"
        if data:
            row = (*row, data)
            text = (
                "INSERT INTO {companions} (name, kind, data) VALUES (%s, %s, %s)"
                " ON CONFLICT (name, kind) DO UPDATE SET data = excluded.data"
            )
        self._run(text, *row, on=self._other())

    def _prepare(self) -> None:
        """Create schema, table and index unless the settings skip them, and the journals' table."""
        if self._prepared:
            return
        for left in reversed(range(_CREATING_TRIES)):
            try:
                self._create_missing()
            except _CREATED_MEANWHILE:
                # If two sessions create the same thing at once, PostgreSQL refuses one of them.
                # That session tries again and finds it created.
                if not left:
                    raise
            else:
                break
        self._prepared = True

    def _create_missing(self) -> None:
        # Check first, because `IF NOT EXISTS` needs the right to create even if nothing is created.
        if not self._skips("schema") and not self._has("to_regnamespace", "{schema}"):
            self._run("CREATE SCHEMA IF NOT EXISTS {schema}")
        if not self._skips("table") and not self._has("to_regclass", "{states}"):
            # All schemas share one sequence, as in Terraform: an ID is also the key of the row's
            # lock, which applies to the whole database.
            self._run("CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint")
            self._run(
                "CREATE TABLE IF NOT EXISTS {states} (id bigint NOT NULL DEFAULT"
                " nextval('public.global_states_id_seq') PRIMARY KEY, name text UNIQUE, data text)",
            )
        if not self._skips("index") and not self._has("to_regclass", "{index}"):
            self._run("CREATE UNIQUE INDEX IF NOT EXISTS {new_index} ON {states} (name)")
        if not self._has("to_regclass", "{companions}"):
            self._run(_COMPANIONS)

    def _skips(self, what: str) -> bool:
        return self._settings.flag(f"skip_{what}_creation", f"PG_SKIP_{what.upper()}_CREATION")

    def _has(self, function: LiteralString, name: LiteralString) -> bool:
        quoted = sql.SQL(name).format(**self._names()).as_string(self._connection())
        return bool(self._value("SELECT " + function + "(%s)", quoted))

    def _value(self, text: LiteralString, *arguments: object, on: Connection | None = None) -> Any:
        """Return the value of a query of one column; None if there is no row."""
        row = self._run(text, *arguments, on=on).fetchone()
        return row and row[0]

    def _rows(self, text: LiteralString, *arguments: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query; empty if the table does not exist yet."""
        try:
            return self._run(text, *arguments).fetchall()
        except _MISSING:
            return []

    def _run(
        self, text: LiteralString, *arguments: object, on: Connection | None = None
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run a command, by default over the connection that holds the lock."""
        command = sql.SQL(text).format(**self._names())
        return (on or self._connection()).execute(command, arguments)

    def _names(self) -> dict[str, sql.Identifier]:
        return {
            "schema": sql.Identifier(self._schema),
            "states": sql.Identifier(self._schema, self._table),
            "index": sql.Identifier(self._schema, self._index),
            # The index is created in its table's schema; PostgreSQL accepts no schema here.
            "new_index": sql.Identifier(self._index),
            "companions": sql.Identifier(self._schema, _TABLE),
        }

    def _connection(self) -> Connection:
        """Return the connection that holds the lock. If the connection broke, the lock is lost."""
        if self._first is None:
            self._first = self._connect()
        elif self._first.closed and self._keys:
            raise LockLost(self.name, "PostgreSQL ended the session that held it")
        return self._first

    def _other(self) -> Connection:
        if self._second is None or self._second.closed:
            self._second = self._connect()
        return self._second

    def _connect(self) -> Connection:
        defaults: dict[str, Any] = {}
        if "sslmode" not in self._conninfo and not os.environ.get("PGSSLMODE"):
            defaults["sslmode"] = "require"  # as Terraform's driver; no matter on a unix socket
        return psycopg.connect(
            self._conninfo, autocommit=True, connect_timeout=15, keepalives_idle=30, **defaults
        )

    def _translate_error(self, action: str, error: Exception) -> UserError:
        if self._keys and self._first is not None and self._first.closed:
            return LockLost(
                self.name, f"PostgreSQL ended the session that held it ({one_line(error)})"
            )
        return super()._translate_error(action, error)

    def _explain(self, error: psycopg.Error) -> tuple[str, str]:
        message = one_line(error)
        if isinstance(error, _FORBIDDEN):
            made = sql.SQL(_COMPANIONS).format(**self._names()).as_string(None)
            remedy = f"Let this role create it, or have it created: {made}."
        elif isinstance(error, _WRONG_CREDENTIALS) or "authentication failed" in message:
            remedy = "Check user and password: `conn_str`, PG_CONN_STR, PGUSER and PGPASSWORD."
        elif isinstance(error, psycopg.errors.ProgramLimitExceeded):
            remedy = "PostgreSQL holds no text of this size (1 GB): split the stack."
        elif isinstance(error, psycopg.OperationalError):
            remedy = "Check `conn_str` (PG_CONN_STR), the network and the server, then run again."
        else:
            remedy = "Check the backend's settings, then run again."
        return message, remedy


_COMPANIONS: LiteralString = (
    "CREATE TABLE IF NOT EXISTS {companions}"
    " (name text, kind text, data bytea, PRIMARY KEY (name, kind))"
)


def creation_key(schema: str, table: str) -> int:
    """Return OpenTofu's lock key for a missing row: the negated 32-bit FNV-1 hash of both names."""
    hashed = 0x811C9DC5
    for byte in f"{schema}\0{table}".encode():
        hashed = (hashed * 0x01000193 & 0xFFFFFFFF) ^ byte
    return -hashed


def _halves(key: int) -> Sequence[int]:
    return (key >> 32) & 0xFFFFFFFF, key & 0xFFFFFFFF


def _pid_of(holder: LockInfo) -> list[str]:
    words = holder.info.split()
    return [words[2]] if words[:2] == ["PostgreSQL", "session"] else []
