"""State in PostgreSQL: Terraform's `pg` backend.

The lock is an advisory lock of a session, so it ends with the connection. The state is written over
the same connection. What is stored beside a state lies in a table of its own, which Terraform does
not look at, and is written over a second connection: a large write never holds it up.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, LiteralString

from opsconsole.errors import UserError
from opsconsole.state.backends.settings import BackendSettings, need_extra
from opsconsole.state.backends.storage import (
    DEFAULT,
    Companion,
    LockHeld,
    LockLost,
    no_such_lock,
)
from opsconsole.state.lock import LockInfo

try:
    import psycopg
    from psycopg import sql
except ImportError as error:
    raise need_extra("pg", "psycopg 3", error) from error

CREATION = -1
"""The key that stands for a state that has no row yet. It is one for the whole database."""

_TABLE = "opsconsole_companions"
_LOCK_NOTE = "lock"
_CREATION_TRIES = 10
_MAKING_TRIES = 5
_MADE_MEANWHILE = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.DuplicateTable,
    psycopg.errors.DuplicateObject,
    psycopg.errors.DuplicateSchema,
)
_FORBIDDEN = (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidSchemaName)
_WRONG_CREDENTIALS = (
    psycopg.errors.InvalidPassword,
    psycopg.errors.InvalidAuthorizationSpecification,
)


class PgStorage:
    """One row of `SCHEMA.states`."""

    lockable = True
    keeps_companions = True

    def __init__(self, block: Mapping[str, Any], workspace: str = DEFAULT) -> None:
        settings = BackendSettings("pg", block)
        self._conninfo = settings.text("conn_str", "PG_CONN_STR")
        self._schema = settings.text(
            "schema_name", "PG_SCHEMA_NAME", default="terraform_remote_state"
        )
        self._skips = {
            what: settings.flag(f"skip_{what}_creation", f"PG_SKIP_{what.upper()}_CREATION")
            for what in ("schema", "table", "index")
        }
        self._workspace = workspace
        self.name = f"{workspace} in the schema {self._schema} of PostgreSQL"
        self.identity = f"{self._server()} {self._schema} {workspace}"
        self._first: psycopg.Connection[tuple[Any, ...]] | None = None
        self._second: psycopg.Connection[tuple[Any, ...]] | None = None
        self._beside = threading.Lock()
        self._prepared = False
        self._key: int | None = None
        self._info: LockInfo | None = None
        self._seen: str | None = None

    def read(self) -> bytes:
        """Return the state's bytes; none when there is no row."""
        with self._translating("read"):
            try:
                found = self._one("SELECT data FROM {states} WHERE name = %s", self._workspace)
            except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
                found = None
        data = (found[0] or "").encode() if found else b""
        self._seen = _digest(data) if found else ""
        return data

    def write(self, data: bytes) -> None:
        """Replace the row over the connection that holds the lock, in one transaction."""
        with self._translating("write"):
            if self._seen is None:
                raise ValueError("read first")
            self._prepare()
            with self._connection().transaction():
                self._check_held()
                if self._seen:
                    text = (
                        "UPDATE {states} SET data = %s WHERE name = %s"
                        " AND md5(coalesce(data, '')) = %s"
                    )
                    arguments: tuple[Any, ...] = (data.decode(), self._workspace, self._seen)
                else:
                    text = (
                        "INSERT INTO {states} (data, name) VALUES (%s, %s)"
                        " ON CONFLICT (name) DO NOTHING"
                    )
                    arguments = (data.decode(), self._workspace)
                if self._run(self._connection(), text, *arguments).rowcount != 1:
                    raise LockLost(self.name, "someone else wrote the state since it was read")
            self._seen = _digest(data)

    def lock(self, info: LockInfo) -> None:
        """Take the row's advisory lock; where there is no row, that of creation for the whole run.

        Like Terraform, this tries the lock of creation first, and holds it only for a moment where
        there is a row. Others who start at the same moment therefore try again for a second.
        """
        with self._translating("lock"):
            self._prepare()
            self._name_session(info)
            for attempt in range(_CREATION_TRIES):
                if self._try_lock(CREATION):
                    break
                if attempt + 1 == _CREATION_TRIES:
                    raise LockHeld(self.name, self._session(CREATION))
                time.sleep(0.1)
            row = self._one("SELECT id FROM {states} WHERE name = %s", self._workspace)
            if row is None:
                self._key = CREATION
            else:
                key = int(row[0])
                held = self._try_lock(key)
                self._unlock(CREATION)
                if not held:
                    raise LockHeld(self.name, self._session(key))
                self._key = key
            self._info = replace(info, path=str(self._key))
            self._note(self._info.to_json())

    def unlock(self) -> None:
        """Release the lock; where the connection is gone, the lock is as well."""
        key, self._key, self._info = self._key, None, None
        if key is None or self._first is None or self._first.closed:
            return
        with self._translating("unlock"):
            self._note(b"")
            self._unlock(key)

    def check_lock(self) -> None:
        """Look whether this session still holds the lock."""
        with self._translating("check the lock of"):
            self._check_held()

    def force_unlock(self, lock_id: str) -> None:
        """End the session that holds the lock: there is no other way to release it from outside."""
        holder = self.holder()
        if holder is None or lock_id not in (holder.id, *_pid_of(holder)):
            raise no_such_lock(self.name, lock_id, holder)
        with self._translating("unlock"):
            for pid in _pid_of(holder):
                self._run(self._connection(), "SELECT pg_terminate_backend(%s)", int(pid))
            self._note(b"")

    def holder(self) -> LockInfo | None:
        """Return who holds the lock: the session, and what it noted where it is a native run."""
        with self._translating("read the lock of"):
            try:
                row = self._one("SELECT id FROM {states} WHERE name = %s", self._workspace)
            except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
                row = None
            found = self._session(int(row[0])) if row else None
            return found or self._session(CREATION)

    def read_companion(self, which: Companion) -> bytes:
        """Return what is stored beside the state; none when there is nothing."""
        with self._translating("read"), self._beside:
            return self._companion(which)

    def write_companion(self, which: Companion, data: bytes) -> None:
        """Replace what is stored beside the state; without bytes, remove it."""
        with self._translating("write"), self._beside:
            self._store(which, data)

    def workspaces(self) -> list[str]:
        """Return the names of all rows."""
        with self._translating("list the workspaces of"):
            try:
                rows = self._run(self._connection(), "SELECT name FROM {states}").fetchall()
            except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
                rows = []
        return [DEFAULT, *sorted(row[0] for row in rows if row[0] != DEFAULT)]

    def delete(self) -> None:
        """Delete the row and what is stored beside it."""
        with self._translating("delete"):
            self._run(self._connection(), "DELETE FROM {states} WHERE name = %s", self._workspace)
            for which in Companion:
                with self._beside:
                    self._store(which, b"")

    def close(self) -> None:
        """Close the connections: a lock that is still held ends with them."""
        for connection in (self._first, self._second):
            if connection is not None:
                connection.close()
        self._first = self._second = None
        self._key = self._info = None

    def _server(self) -> str:
        """Return host, port and database, as far as the settings name them."""
        try:
            parts = psycopg.conninfo.conninfo_to_dict(self._conninfo)
        except psycopg.ProgrammingError as error:
            raise UserError(
                f"The `conn_str` of the pg backend cannot be read: {_said(error)}.",
                "Write it as PostgreSQL's URI or as NAME=VALUE pairs.",
            ) from error
        names = (("host", "PGHOST"), ("port", "PGPORT"), ("dbname", "PGDATABASE"))
        return " ".join(str(parts.get(name) or os.environ.get(own)) for name, own in names)

    def _try_lock(self, key: int) -> bool:
        found = self._one("SELECT pg_try_advisory_lock(%s)", key)
        return bool(found and found[0])

    def _unlock(self, key: int) -> None:
        self._run(self._connection(), "SELECT pg_advisory_unlock(%s)", key)

    def _check_held(self) -> None:
        if self._key is None:
            return
        # A lock's key is in two halves of 32 bits, which only look signed where they are cast.
        found = self._one(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
            " AND objsubid = 1 AND classid = %s AND objid = %s AND granted",
            *_halves(self._key),
        )
        if found is None:
            raise LockLost(self.name, "its session no longer holds the advisory lock")

    def _session(self, key: int) -> LockInfo | None:
        """Return the session that holds a key, as PostgreSQL knows it."""
        found = self._one(
            "SELECT a.pid, a.usename, coalesce(host(a.client_addr), 'the same machine'),"
            " a.application_name, to_char(a.backend_start AT TIME ZONE 'UTC',"
            ' \'YYYY-MM-DD"T"HH24:MI:SS"Z"\')'
            " FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid"
            " WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"
            " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND l.classid = %s AND l.objid = %s",
            *_halves(key),
        )
        if found is None:
            return None
        pid, user, client, application, since = found
        session = f"PostgreSQL session {pid} of {user} from {client}"
        with self._beside:
            noted = LockInfo.parse(self._companion(_LOCK_NOTE))
        if noted is not None and noted.id and noted.id[:8] in (application or ""):
            return replace(noted, info=session)
        who = application or "a session without a name (Terraform gives none)"
        return LockInfo(str(pid), "session", who, "", str(since or ""), str(key), session)

    def _note(self, lock: bytes) -> None:
        with self._beside:
            self._store(_LOCK_NOTE, lock)

    def _companion(self, which: str) -> bytes:
        try:
            found = self._run(
                self._other(),
                "SELECT data FROM {companions} WHERE name = %s AND kind = %s",
                self._workspace,
                which,
            ).fetchone()
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            return b""
        return bytes(found[0]) if found else b""

    def _store(self, which: str, data: bytes) -> None:
        place = (self._workspace, str(which))
        if data:
            self._run(
                self._other(),
                "INSERT INTO {companions} (name, kind, data) VALUES (%s, %s, %s)"
                " ON CONFLICT (name, kind) DO UPDATE SET data = excluded.data",
                *place,
                data,
            )
            return
        self._run(self._other(), "DELETE FROM {companions} WHERE name = %s AND kind = %s", *place)

    def _name_session(self, info: LockInfo) -> None:
        name = f"{info.operation} {info.id[:8]} {info.who}"[:63]
        self._run(self._connection(), "SELECT set_config('application_name', %s, false)", name)

    def _prepare(self) -> None:
        """Make what Terraform makes, unless it is told not to, and the table beside it.

        Of two who make the same at once, PostgreSQL refuses one, which then finds it made.
        """
        if self._prepared:
            return
        for left in reversed(range(_MAKING_TRIES)):
            try:
                self._make()
            except _MADE_MEANWHILE:
                if not left:
                    raise
            else:
                break
        self._prepared = True

    def _make(self) -> None:
        connection = self._connection()
        if not self._skips["schema"] and not self._has("to_regnamespace", "{schema}"):
            self._run(connection, "CREATE SCHEMA IF NOT EXISTS {schema}")
        if not self._skips["table"] and not self._has("to_regclass", "{states}"):
            self._run(
                connection, "CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint"
            )
            self._run(
                connection,
                "CREATE TABLE IF NOT EXISTS {states} (id bigint NOT NULL DEFAULT"
                " nextval('public.global_states_id_seq') PRIMARY KEY, name text UNIQUE, data text)",
            )
        if not self._skips["index"] and not self._has("to_regclass", "{index}"):
            self._run(
                connection, "CREATE UNIQUE INDEX IF NOT EXISTS states_by_name ON {states} (name)"
            )
        if not self._has("to_regclass", "{companions}"):
            self._run(connection, _COMPANIONS)

    def _has(self, function: LiteralString, name: LiteralString) -> bool:
        quoted = sql.SQL(name).format(**self._names()).as_string(self._connection())
        found = self._one("SELECT " + function + "(%s)", quoted)
        return bool(found and found[0])

    def _one(self, text: LiteralString, *arguments: object) -> tuple[Any, ...] | None:
        return self._run(self._connection(), text, *arguments).fetchone()

    def _run(
        self,
        connection: psycopg.Connection[tuple[Any, ...]],
        text: LiteralString,
        *arguments: object,
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        return connection.execute(sql.SQL(text).format(**self._names()), arguments)

    def _names(self) -> dict[str, sql.Identifier]:
        return {
            "schema": sql.Identifier(self._schema),
            "states": sql.Identifier(self._schema, "states"),
            "index": sql.Identifier(self._schema, "states_by_name"),
            "companions": sql.Identifier(self._schema, _TABLE),
        }

    def _connection(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Return the connection that holds the lock; where that broke, the lock is lost."""
        if self._first is None:
            self._first = self._connect()
        elif self._first.closed and self._key is not None:
            raise LockLost(self.name, "PostgreSQL ended the session that held it")
        return self._first

    def _other(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._second is None or self._second.closed:
            self._second = self._connect()
        return self._second

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        defaults: dict[str, Any] = {}
        if "sslmode" not in self._conninfo and not os.environ.get("PGSSLMODE"):
            defaults["sslmode"] = "require"  # as Terraform's driver; no matter on a unix socket
        return psycopg.connect(
            self._conninfo, autocommit=True, connect_timeout=15, keepalives_idle=30, **defaults
        )

    @contextmanager
    def _translating(self, action: str) -> Iterator[None]:
        """Translate the driver's exceptions."""
        try:
            yield
        except _FORBIDDEN as error:
            raise UserError(
                f"Cannot {action} the state {self.name}: {_said(error)}.",
                "Let this role create it, or have it created: "
                + sql.SQL(_COMPANIONS).format(**self._names()).as_string(None)
                + ".",
            ) from error
        except psycopg.Error as error:
            if self._key is not None and self._first is not None and self._first.closed:
                raise LockLost(
                    self.name, f"PostgreSQL ended the session that held it ({_said(error)})"
                ) from error
            raise self._refused(action, error) from error

    def _refused(self, action: str, error: psycopg.Error) -> UserError:
        said = _said(error)
        if isinstance(error, _WRONG_CREDENTIALS) or "authentication failed" in said:
            remedy = "Check user and password: `conn_str`, PG_CONN_STR, PGUSER and PGPASSWORD."
        elif isinstance(error, psycopg.errors.ProgramLimitExceeded):
            remedy = "PostgreSQL holds no text of this size (1 GB): split the stack."
        elif isinstance(error, psycopg.OperationalError):
            remedy = "Check `conn_str` (PG_CONN_STR), the network and the server, then run again."
        else:
            remedy = "Check the backend's settings, then run again."
        return UserError(f"Cannot {action} the state {self.name}: {said}.", remedy)


_COMPANIONS: LiteralString = (
    "CREATE TABLE IF NOT EXISTS {companions}"
    " (name text, kind text, data bytea, PRIMARY KEY (name, kind))"
)


def _halves(key: int) -> Sequence[int]:
    return (key >> 32) & 0xFFFFFFFF, key & 0xFFFFFFFF


def _pid_of(holder: LockInfo) -> list[str]:
    words = holder.info.split()
    return [words[2]] if words[:2] == ["PostgreSQL", "session"] else []


def _digest(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _said(error: psycopg.Error) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
