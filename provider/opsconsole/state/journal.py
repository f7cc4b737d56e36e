"""The journal's file: appended to, made durable in groups, removed once state holds everything.

Also here: the part of a journal that is stored with a remote state, and the list of calls of
unknown outcome, kept until their outcome is known. The modules `records` and `fold` know what the
records mean.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from opsconsole.errors import TryLater, UserError
from opsconsole.named_files import file_error
from opsconsole.state.backend import (
    Backend,
    read_all,
    removed_error,
    replace_durably,
    sync_directory,
    write_at,
)
from opsconsole.state.lock import is_file
from opsconsole.state.objects import StateChange
from opsconsole.state.records import (
    Intent,
    Record,
    Started,
    changes_of,
    decode_lines,
    encode_line,
    encode_record,
    encode_records,
    open_intents,
)

_BEGINNING = re.compile(rb"\0|[0-9a-f]{8} [0-9]+ |[0-9a-f]{0,8}( [0-9]*)?\Z")
"""How a journal begins, also one whose first line was cut off."""
_AHEAD = 1 << 20
_LEAST = 1 << 19


class Mirror:
    """The journal beside a remote state: what the next run needs if this machine is gone.

    The local journal grows for a whole run. The stored one holds only what the stored state lacks:
    it begins again with each write of state, and keeps the intents that are still open.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._records: list[Record] = []
        self._dropped = 0
        self._waiting = False
        self._stored = False
        self._guard = threading.Lock()

    def add(self, records: Sequence[Record]) -> None:
        """Take records that are durable here; `store` makes them durable there."""
        with self._guard:
            self._records += records
            self._waiting = self._waiting or bool(records)

    def store(self) -> None:
        """Store what was added, if this run still holds the lock.

        Raises:
            LockLost: It does not; what is stored is as others left it.
            UserError: It cannot be stored.
        """
        with self._guard:
            if not self._waiting:
                return
            records = list(self._records)
            self._waiting = False
        try:
            self._backend.check_lock()
            self._backend.store_journal(encode_records(records))
            self._stored = True
        except BaseException:
            self._waiting = True
            raise

    def restart(self, base: Started, position: int) -> None:
        """Drop what the stored state holds.

        Args:
            base: The state that was stored.
            position: How many records of the run are in it.
        """
        with self._guard:
            cut = position - self._dropped
            before, after = self._records[:cut], self._records[cut:]
            kept = [*open_intents(before), *after]
            self._dropped = position - 1 - (len(kept) - len(after))
            self._records = [base, *kept]

    def remove(self) -> None:
        """Remove the stored journal: the stored state holds everything.

        Raises:
            UserError: It cannot be removed.
        """
        if self._stored:
            self._backend.store_journal(b"")
            self._stored = False


class Journal:
    """An open journal. `append` costs no I/O; `flush` makes all that was appended durable.

    Room is reserved ahead, so that on a full disk it is an intent that fails, before its call, and
    not the record of what a call in flight has done.

    Attributes:
        appended: How many records were appended.
    """

    def __init__(
        self, path: Path, descriptor: int, size: int, mirror: Mirror | None = None
    ) -> None:
        self.path = path
        self.mirror = mirror
        self._descriptor = descriptor
        self._size = size
        self._reserved = os.fstat(descriptor).st_size
        self._waiting: list[Record] = []
        self.appended = 0
        self._written = 0
        self._durable = 0
        self._list_lock = threading.Lock()
        self._file_lock = threading.Lock()
        self._flushing: asyncio.Future[None] | None = None

    @classmethod
    def create(cls, path: Path, mirror: Mirror | None = None) -> Journal:
        """Create a journal.

        Args:
            mirror: What else must hold a record before it counts as durable.

        Raises:
            UserError: There is one already, or it cannot be written.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError as error:
            raise in_use(path) from error
        except OSError as error:
            raise file_error("write", path, error, "Nothing was changed.") from error
        _claim(path, descriptor)
        journal = cls(path, descriptor, 0, mirror)
        try:
            sync_directory(path.parent)
        except OSError as error:
            journal.close()
            with contextlib.suppress(OSError):
                path.unlink()
            raise file_error("write", path, error, "Nothing was changed.") from error
        return journal

    @classmethod
    def resume(cls, path: Path) -> tuple[Journal, list[Record]]:
        """Open the journal that a crash left, cut off its torn end, and return its records.

        Raises:
            UserError: Another run is writing it, or it is damaged.
        """
        try:
            descriptor = os.open(path, os.O_RDWR)
        except OSError as error:
            raise file_error("open", path, error, "Nothing was changed.") from error
        _claim(path, descriptor)
        try:
            data = read_all(descriptor).rstrip(b"\0")
            records, size = decode_lines(data, str(path))
            if not records and not _BEGINNING.match(data):
                raise UserError(
                    f"{path} is not a journal. Nothing was changed.",
                    "Name another file with --journal=FILE, or move this one away.",
                )
            # Blanked and not cut off: on a full disk the room behind it is all there is.
            write_at(descriptor, bytes(len(data) - size), size)
        except OSError as error:
            os.close(descriptor)
            raise file_error("read", path, error, "Nothing was changed.") from error
        except UserError:
            os.close(descriptor)
            raise
        return cls(path, descriptor, size), records

    def append(self, record: Record) -> None:
        """Add a record to what the next flush writes."""
        with self._list_lock:
            self._waiting.append(record)
            self.appended += 1

    def waiting_changes(self) -> list[StateChange]:
        """Return the changes that were appended and are not durable."""
        return changes_of(self._waiting)

    def all_changes(self) -> list[StateChange]:
        """Return every change that was appended, also where the file has lost its name.

        Raises:
            OSError, UserError: It cannot be read.
        """
        data = read_all(self._descriptor).rstrip(b"\0")
        return [*changes_of(decode_lines(data, str(self.path))[0]), *self.waiting_changes()]

    def check_name(self) -> None:
        """Check that the next run will find it.

        Raises:
            UserError: It will not: no call may be made whose outcome would be noted there.
        """
        if not is_file(self._descriptor, self.path):
            raise removed_error("journal", self.path)

    async def flush(self) -> None:
        """Return once every record appended so far is durable; callers share one write.

        Raises:
            UserError: It cannot be written.
        """
        wanted = self.appended
        while self._durable < wanted:
            # A flush that is done may not have run its callback, and awaiting it does not run it.
            if self._flushing is None or self._flushing.done():
                self._flushing = asyncio.ensure_future(asyncio.to_thread(self.flush_now))
                self._flushing.add_done_callback(self._flushed)
            await asyncio.shield(self._flushing)

    def _flushed(self, done: asyncio.Future[None]) -> None:
        if self._flushing is done:
            self._flushing = None
        if not done.cancelled():
            # Seen here, so that an error that no caller waits for any more is not a warning; every
            # later flush meets the same full disk again, and close reports it.
            done.exception()

    def flush_now(self) -> None:
        """Make every record appended so far durable.

        Raises:
            UserError: It cannot be written. What was not stays waiting.
        """
        with self._file_lock:
            with self._list_lock:
                batch = self._waiting[:]
            if batch:
                self._write_here(batch)
            durable = self._written
            if self.mirror is not None:
                self.mirror.store()
            with self._list_lock:
                self._durable = durable

    def _write_here(self, batch: Sequence[Record]) -> None:
        lines = b"".join([encode_line(encode_record(item), self._size) for item in batch])
        try:
            self._make_room(batch, len(lines))
            write_at(self._descriptor, lines, self._size)
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise file_error("write", self.path, error, "No further call is made.") from error
        self._size += len(lines)
        with self._list_lock:
            del self._waiting[: len(batch)]
            self._written += len(batch)
        if self.mirror is not None:
            self.mirror.add(batch)

    def _make_room(self, batch: Iterable[Record], length: int) -> None:
        needed = self._size + length
        if needed + _LEAST <= self._reserved:
            return
        try:
            os.posix_fallocate(self._descriptor, self._size, length + _AHEAD)
            self._reserved = needed + _AHEAD
        except OSError:
            if any(isinstance(record, Intent) for record in batch):
                raise

    def close(self) -> None:
        """Leave the journal where it is; nothing more is written to it."""
        with self._file_lock:
            # Another file may get this number next: a late caller must not write there.
            descriptor, self._descriptor = self._descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)

    def remove(self) -> None:
        """Remove the journal: state holds everything.

        Raises:
            UserError: It cannot be removed.
        """
        try:
            if is_file(self._descriptor, self.path):
                self.path.unlink()
                sync_directory(self.path.parent)
        except OSError as error:
            raise file_error("remove", self.path, error, "State is complete.") from error
        finally:
            self.close()


def _claim(path: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if not isinstance(error, BlockingIOError):
            raise file_error("lock", path, error, "Nothing was changed.") from error
        raise in_use(path) from error


def in_use(path: Path) -> TryLater:
    """Say that another run of this program writes the journal."""
    return TryLater(
        f"Another run of opsconsole is in progress and writes the journal {path}.",
        "Wait for it to end.",
    )


def read_unresolved(path: Path) -> list[Intent]:
    """Return the listed calls; none when there is no list.

    Raises:
        UserError: The list cannot be read.
    """
    try:
        return [Intent(**item) for item in json.loads(path.read_bytes())["calls"]]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise file_error("read", path, error, "Nothing was changed.") from error
    except (ValueError, LookupError, TypeError) as error:
        raise UserError(f"{path} is not a list of calls of unknown outcome: {error}.") from error


def write_unresolved(path: Path, calls: Iterable[Intent]) -> None:
    """Write the list, durably; an empty one is not a file.

    Raises:
        UserError: It cannot be written; it is as it was.
    """
    listed = [asdict(call) for call in calls]
    if listed:
        replace_durably(path, json.dumps({"version": 1, "calls": listed}, indent=2).encode())
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise file_error("remove", path, error, "It is as it was.") from error
