"""The journal: its records, their lines, and the file that they are appended to.

The journal holds the changes since the last write of the state, so it does not outgrow the state.
It is removed once the state holds everything. Intents whose outcome is unknown stay in it for the
next run. If the state's backend can keep it, a copy of the same bytes is stored beside the state.

A line is `CRC LENGTH DURABLE JSON`: the checksum and length of the rest, and how many bytes of the
journal were durable when the line was written. DURABLE distinguishes a damaged line from a torn
one, because no line written after a torn line can count it as durable.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from opsconsole.errors import TryLater, UserError
from opsconsole.state.backend import Backend
from opsconsole.state.files import (
    NOT_OPEN,
    is_file,
    put_in_place,
    read_all,
    removed_error,
    reserve_room,
    sync_directory,
    write_at,
)
from opsconsole.state.objects import StateChange, WrittenNumber, encode
from opsconsole.user_files import file_error, file_errors


class StartingState(msgspec.Struct, frozen=True, array_like=True, tag="starting_state"):
    """The state to which the following records belong; the first record of a journal.

    Attributes:
        run: The run that writes the journal.
        digest: Of the state's content.
        empty: Whether the state holds nothing, so that nothing is lost if it is missing.
    """

    run: str
    lineage: str
    serial: int
    digest: str
    empty: bool


class Intent(msgspec.Struct, frozen=True, array_like=True, tag="intent"):
    """A call that is about to be made and cannot safely be repeated; open until it is settled.

    Attributes:
        operation: The request, such as `POST /api/v1/agents`; only the verb, such as `delete`, if
            the document shows no operation for it.
        details: Information that helps to determine the outcome later; nothing secret.
    """

    id: str
    address: str
    operation: str
    details: dict[str, Any]
    at: str

    @property
    def verb(self) -> str:
        """`create`, `update` or `delete`."""
        return str(self.details.get("verb", "create"))


class StateChanges(msgspec.Struct, frozen=True, array_like=True, tag="changes"):
    """Changes of the state, and the intents that they settle; either may be empty."""

    changes: tuple[StateChange, ...]
    settles: tuple[str, ...] = ()


class StateWrite(msgspec.Struct, frozen=True, array_like=True, tag="state_write"):
    """The state is about to be written. The content may lack changes of the records before this."""

    serial: int
    digest: str


Record = StartingState | Intent | StateChanges | StateWrite

_DECODER = msgspec.json.Decoder(Record, float_hook=WrittenNumber)


def encode_line(record: Record, durable: int) -> bytes:
    body = b"%d %b" % (durable, encode(record))
    return b"%08x %d %b\n" % (zlib.crc32(body), len(body), body)


def encode_records(records: Iterable[Record]) -> bytes:
    """Encode all records of a journal, to be put in place by one rename."""
    written = bytearray()
    for record in records:
        # The rename makes all lines durable together, so each line may count the lines before it.
        # Damage to one of them then never passes for a torn end.
        written += encode_line(record, len(written))
    return bytes(written)


def _decode_line(line: bytes) -> tuple[int, bytes] | None:
    """Return a line's durable count and its record's text, or None if the line is damaged."""
    crc, _, rest = line.partition(b" ")
    length, _, body = rest.partition(b" ")
    if length != b"%d" % len(body) or crc != b"%08x" % zlib.crc32(body):
        return None
    durable, _, text = body.partition(b" ")
    return (int(durable), text) if durable.isdigit() else None


def decode_lines(data: bytes, source: str) -> tuple[list[Record], int]:
    """Return the records of a journal, and how many bytes they take up without a torn end.

    Raises:
        UserError: The journal is damaged before its end, or of an unknown version.
    """
    records: list[Record] = []
    good = 0
    for start, line in _lines(data):
        decoded = _decode_line(line)
        # A torn end was never reported as durable. The lines after it tell whether this is one.
        if decoded is None:
            break
        try:
            records.append(_DECODER.decode(decoded[1]))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise UserError(
                f"The journal {source} cannot be read at byte {start}: {error}.",
                "If a newer opsconsole wrote it, use that one. Nothing was changed.",
            ) from error
        good = start + len(line) + 1
    for _, line in _lines(data[good:]):
        decoded = _decode_line(line)
        # A later line counts these bytes as durable, so they are damaged, not torn.
        if decoded is not None and decoded[0] > good:
            raise UserError(
                f"The journal {source} is damaged at byte {good}, with good records after it.",
                "Restore it, or remove it and bring what it held into state by import.",
            )
    return records, good


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield start, data[start:end]
        start = end + 1


def changes_of(records: Iterable[Record]) -> list[StateChange]:
    return [
        change
        for record in records
        if isinstance(record, StateChanges)
        for change in record.changes
    ]


def open_intents(records: Sequence[Record]) -> list[Intent]:
    """Return the intents without a recorded outcome, in order."""
    waiting: dict[str, Intent] = {}
    for record in records:
        if isinstance(record, Intent):
            waiting[record.id] = record
        elif isinstance(record, StateChanges):
            for settled in record.settles:
                waiting.pop(settled, None)
    return list(waiting.values())


_BEGINNING = re.compile(rb"\0|[0-9a-f]{8} [0-9]+ |[0-9a-f]{0,8}( [0-9]*)?\Z")
"""How a journal begins, even if its first line was cut off."""
_ROOM_AHEAD = 1 << 20
"""The bytes to reserve beyond the records."""
_MIN_ROOM = 1 << 19
"""The least room beyond the records: where less is left, `_ROOM_AHEAD` is reserved again."""


class Journal:
    """An open journal. `append` costs no I/O; `flush` makes everything appended durable.

    Room is reserved ahead. On a full disk an intent therefore fails before its call, but the record
    of a call that was made can still be written.
    """

    def __init__(
        self,
        path: Path,
        descriptor: int,
        records: Sequence[Record] = (),
        size: int = 0,
        copy_to: Backend | None = None,
        copied: bytes = b"",
    ) -> None:
        self.path = path
        self.size = size
        self._copy_to = copy_to
        self._descriptor = descriptor
        self._reserved = os.fstat(descriptor).st_size
        self._records = list(records)
        self._dropped = 0
        self._written = len(self._records)
        self._durable = self._written
        self._is_named = True
        self._copied = copied
        self._list_lock = threading.Lock()
        self._file_lock = threading.Lock()
        self._flushing: asyncio.Future[None] | None = None

    @classmethod
    def create(cls, path: Path, copy_to: Backend | None = None, copied: bytes = b"") -> Journal:
        """Create a journal.

        Args:
            copy_to: The backend that keeps the copy. With one, a record is durable once it is
                copied.
            copied: The current bytes of the copy.

        Raises:
            UserError: There is a journal already, or it cannot be written.
        """
        with file_errors("write", path, "Nothing was changed."):
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError as error:
                raise in_use(path) from error
            _claim(path, descriptor)
            journal = cls(path, descriptor, copy_to=copy_to, copied=copied)
            try:
                sync_directory(path.parent)
            except OSError:
                journal.close()
                with contextlib.suppress(OSError):
                    path.unlink()
                raise
        return journal

    @classmethod
    def resume(
        cls, path: Path, copy_to: Backend | None = None, copied: bytes = b""
    ) -> tuple[Journal, list[Record]]:
        """Open the journal that another run left, cut off its torn end, and return its records.

        Raises:
            UserError: Another run is writing the journal, or the journal is damaged.
        """
        with file_errors("open", path, "Nothing was changed."):
            descriptor = os.open(path, os.O_RDWR)
        _claim(path, descriptor)
        try:
            with file_errors("read", path, "Nothing was changed."):
                # The zeros at the end of the file are room that its run reserved ahead.
                data = read_all(descriptor).rstrip(b"\0")
                records, size = decode_lines(data, str(path))
                if not records and not _BEGINNING.match(data):
                    raise UserError(
                        f"{path} is not a journal. Nothing was changed.",
                        "Name another file with --journal=FILE, or move this one away.",
                    )
                # Blanked, not cut off: on a full disk, no other room is left.
                write_at(descriptor, bytes(len(data[size:])), size)
        except UserError:
            os.close(descriptor)
            raise
        return cls(path, descriptor, records, size, copy_to, copied), records

    @property
    def appended_count(self) -> int:
        """The number of records appended so far, including dropped ones."""
        with self._list_lock:
            return self._dropped + len(self._records)

    def append(self, record: Record) -> None:
        with self._list_lock:
            self._records.append(record)

    def waiting_changes(self) -> list[StateChange]:
        """Return the changes that were appended but are not in the file yet."""
        return changes_of(self._records[self._written :])

    def all_changes(self) -> list[StateChange]:
        """Return every change since the last write of the state."""
        return changes_of(self._records)

    def check_same_file(self) -> None:
        """Raise UserError if the next run will not find the journal: no call may rely on it."""
        if not is_file(self._descriptor, self.path):
            # A restart under way gives the name to the next file, so wait for it.
            with self._file_lock:
                is_named = is_file(self._descriptor, self.path)
            if not is_named:
                raise removed_error("journal", self.path)

    async def flush(self) -> None:
        """Return once every record appended so far is durable. Callers share one write.

        Raises:
            UserError: The journal cannot be written.
        """
        wanted = self.appended_count
        while self._durable < wanted:
            if self._flushing is None or self._flushing.done():
                self._flushing = asyncio.ensure_future(asyncio.to_thread(self.flush_now))
                self._flushing.add_done_callback(_retrieve_error)
            # A caller that is cancelled must not cancel the write that others wait for.
            await asyncio.shield(self._flushing)

    def flush_now(self) -> None:
        """Make every record appended so far durable, in the copy too.

        Raises:
            LockLost: This run no longer holds the state. The copy is as others left it.
            UserError: The journal cannot be written. Unwritten records stay waiting.
        """
        with self._file_lock:
            with file_errors("write", self.path, "No further call is made."):
                self._write_waiting()
                if not self._is_named:
                    sync_directory(self.path.parent)
                    self._is_named = True
            durable = self._dropped + self._written
            self._store_copy()
            self._durable = durable

    def _write_waiting(self) -> None:
        with self._list_lock:
            batch = self._records[self._written :]
        if not batch:
            return
        lines = b"".join([encode_line(record, self.size) for record in batch])
        self._make_room(batch, len(lines))
        write_at(self._descriptor, lines, self.size)
        # macOS has no fdatasync.
        getattr(os, "fdatasync", os.fsync)(self._descriptor)
        # Raise the size only now: the next write overwrites the bytes of a failed one.
        self.size += len(lines)
        with self._list_lock:
            self._written += len(batch)

    def _make_room(self, batch: Iterable[Record], length: int) -> None:
        needed = self.size + length
        if needed + _MIN_ROOM <= self._reserved:
            return
        try:
            reserve_room(self._descriptor, self.size, length + _ROOM_AHEAD)
            self._reserved = needed + _ROOM_AHEAD
        except OSError:
            # The outcome of a call that was made is still written, into the remaining room.
            if any(isinstance(record, Intent) for record in batch):
                raise

    def _store_copy(self) -> None:
        """Store the file's bytes beside the state if they changed and hold more than a base."""
        if self._copy_to is None:
            return
        # A base alone adds nothing to the state, so storing it is not worth a request.
        says_something = any(not isinstance(record, StartingState) for record in self._records)
        data = os.pread(self._descriptor, self.size, 0) if says_something else b""
        if data != self._copied:
            self._copy_to.store_journal(data)
            self._copied = data

    def restart(self, base: StartingState, position: int) -> None:
        """Start again after a write of the state: drop the written records, keep open intents.

        Args:
            base: The state that was written.
            position: How many of the appended records the written state holds.

        Raises:
            UserError: The journal cannot be written. It is unchanged.
        """
        with self._file_lock:
            with self._list_lock:
                before = self._records[: position - self._dropped]
                after = self._records[position - self._dropped :]
            # The announced write is done, and the new base replaces its record.
            behind = [record for record in after if not isinstance(record, StateWrite)]
            self._replace([base, *open_intents(before), *behind], len(before) + len(after))

    def replace(self, records: Sequence[Record]) -> None:
        """Replace all records by one rename; raises as `restart` does."""
        with self._file_lock:
            self._replace(records, len(self._records))

    def _replace(self, records: Sequence[Record], count: int) -> None:
        data = encode_records(records)

        def prepare(descriptor: int) -> None:
            # Lock the file before it has the name, so that no other run can claim it.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            reserve_room(descriptor, 0, len(data) + _ROOM_AHEAD)

        with file_errors("write", self.path, "It is as it was."):
            descriptor = put_in_place(self.path, data, prepare)
        before, self._descriptor = self._descriptor, descriptor
        os.close(before)
        self.size, self._reserved = len(data), len(data) + _ROOM_AHEAD
        self._is_named = False
        with self._list_lock:
            appended = self._dropped + len(self._records)
            self._records[:count] = records
            self._dropped = appended - len(self._records)
            self._written = len(records)

    def close(self) -> None:
        with self._file_lock:
            # Another file may get this descriptor, and no late caller may write to it.
            descriptor, self._descriptor = self._descriptor, NOT_OPEN
            if descriptor != NOT_OPEN:
                os.close(descriptor)

    def remove(self) -> None:
        """Remove the journal and its copy, because the state holds everything.

        Raises:
            UserError: The journal or its copy cannot be removed.
        """
        try:
            # Remove the copy first: if that fails, the file stays as well.
            if self._copy_to is not None and self._copied:
                self._copy_to.store_journal(b"")
            # A file that took the journal's name meanwhile does not belong to this run.
            if is_file(self._descriptor, self.path):
                with file_errors("remove", self.path, "State is complete."):
                    self.path.unlink()
                    sync_directory(self.path.parent)
        finally:
            self.close()


def _retrieve_error(done: asyncio.Future[None]) -> None:
    """Retrieve the error, so that asyncio does not warn if no caller waits for it any more."""
    # Every later flush meets the same full disk again, and `close` reports the error.
    if not done.cancelled():
        done.exception()


def _claim(path: Path, descriptor: int) -> None:
    """Lock a journal against every other run.

    Raises:
        TryLater: Another run is writing the journal, or has replaced it since it was opened.
        UserError: The system refuses the lock.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not is_file(descriptor, path):
            raise BlockingIOError
    except OSError as error:
        os.close(descriptor)
        if not isinstance(error, BlockingIOError):
            raise file_error("lock", path, error, "Nothing was changed.") from error
        raise in_use(path) from error


def in_use(path: Path) -> TryLater:
    """Return the error that another run is writing the journal."""
    return TryLater(
        f"Another run of opsconsole is in progress and writes the journal {path}.",
        "Wait for it to end.",
    )
