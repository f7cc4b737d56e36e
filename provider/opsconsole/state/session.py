"""A session on a state: changes, journal, writes and closing in the right order.

An intent is durable before its call, and a completed change before the next step that depends on
it. The backup is made before the first write of the state. The journal is removed only after the
state holds everything.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from opsconsole.clock import timestamp, utc_now
from opsconsole.errors import UserError
from opsconsole.held_signals import held_signals
from opsconsole.state.backend import Backend
from opsconsole.state.files import rescue
from opsconsole.state.folding import (
    Folded,
    base_of,
    changes_missing_from,
    is_other_state,
)
from opsconsole.state.journal import Intent, Journal, StateChanges, StateWrite, encode_records
from opsconsole.state.model import State
from opsconsole.state.objects import StateChange, object_id
from opsconsole.user_files import file_error

_SHARE: Final = 0.25
"""The share of a session's time that may go into writes that calls wait for."""
_MAX_CALLS_PER_WRITE: Final = 256
"""The most calls that share one write."""
_SMALL: Final = 1 << 20
"""The size in bytes that a journal may always reach."""


@dataclass(frozen=True, slots=True)
class Cadence:
    """The times of writes during a run: after `seconds` or `changes`, if either is reached.

    A write costs as much as the state is large, so with a fixed interval a run's cost would grow
    with the square of its length. A write therefore waits until the previous write makes up less
    than `share` of the time since. All writes together then cost at most that share of the run plus
    one write, which is linear. Changes that are not in the state yet are durable in the journal.
    """

    seconds: float = 5.0
    changes: int = 500
    share: float = 0.1

    def is_due(self, changes: int, since: float, last_cost: float) -> bool:
        """Return whether to write the state now.

        Args:
            changes: How many changes were made since the last write.
            since: Seconds since the last write ended.
            last_cost: Seconds that the last write took.
        """
        pressing = changes >= self.changes or (changes > 0 and since >= self.seconds)
        return pressing and last_cost <= self.share * since


class StateSession:
    """An open state.

    Change `state`, call `record` for changes that belong together, and `flush` before a step that
    depends on them. Leaving the `with` block closes the session, also after an error, and all
    changes are then in the state.

    Attributes:
        open_intents: The open intents of earlier runs.
        folded_count: How many changes of a crashed run were added when this session was opened.
        warnings: Warnings for the user about these changes.
    """

    def __init__(self, backend: Backend, folded: Folded, journal: Journal | None = None) -> None:
        """Start a session on a state.

        Args:
            journal: The existing journal, which holds the changes of `folded`.
        """
        self.state = folded.state
        self.folded_count = folded.change_count
        self.warnings = folded.warnings
        self.open_intents = folded.intents
        self._backend = backend
        # A lost machine takes its journal along, so a state elsewhere is written within 5 seconds.
        self._cadence = Cadence() if backend.backup else Cadence(seconds=4.0, share=0.5)
        self._folded_changes = folded.changes
        self._base = folded.base
        self._first_serial = self.state.serial
        self._journal = journal
        self._pending: list[StateChange] = []
        self._intents: dict[str, Intent] = {}
        self._numbers = itertools.count(1)
        self._unsent: set[str] = set()
        self._refused: dict[str, UserError] = {}
        self._embedded: frozenset[str] = frozenset()
        self._must_embed = False
        self._calls, self._called_first = 0, 0.0
        self._since_write = 0
        self._wrote_at = time.monotonic()
        self._last_cost = 0.0
        self._state_size = _SMALL
        # A torn state must not replace the backup that was made before the interrupted write.
        self._backed_up = folded.was_torn
        self._closed = False
        self._released = False
        self._writing = asyncio.Lock()
        self._disk = threading.Lock()
        self.state.on_change = self._pending.append

    def __enter__(self) -> StateSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self) -> None:
        """Make sure that changes can be written, before the run sends its first request."""
        with held_signals():
            self._open_journal().flush_now()

    def replace(self, data: bytes) -> None:
        """Replace the whole stored state, after a backup; UserError if it cannot be written."""
        self._backend.back_up()
        self._backend.write(data)

    def name_lost_changes(self, state: State) -> str:
        """Name the changes of an interrupted run that another state does not hold."""
        return _name_changes(changes_missing_from(state, self._folded_changes))

    def leave_folded(self) -> None:
        """Stop now, and leave the changes of an interrupted run in the journal."""
        self._open_journal().append(StateChanges(tuple(self._folded_changes)))
        self.abandon()

    def replace_with(self, state: State) -> str:
        """Replace the whole stored state by another; see `replace`.

        Returns:
            The open intents of earlier runs, if the other state has another lineage: no later run
            can settle them, so the journal drops them. Empty if there are none.
        """
        self.replace(state.to_bytes())
        if not is_other_state(state, self._base):
            return ""
        dropped, self.open_intents, self._embedded = self.open_intents, (), frozenset()
        return _name_intents(dropped)

    def finish_folding(self) -> None:
        """Write folded changes, and make earlier writes durable; UserError if that fails."""
        assert self._journal is not None
        if self._backend.embeds_journal:
            # Another run embedded its journal, or Terraform dropped it: embed the journal of this
            # run, even if it is empty.
            self._must_embed = True
        snapshot = self._take_snapshot()
        self._write(snapshot)
        self._backend.finish_write()
        if snapshot is None:
            # The base describes this state, and the state holds all changes already.
            self._journal.restart(self._base, self._journal.appended_count)
        self._first_serial = self.state.serial
        self._journal.flush_now()

    @property
    def place(self) -> str:
        return self._backend.name

    @property
    def has_done_nothing(self) -> bool:
        """Whether this run neither changed the state nor made a call of unknown outcome."""
        state = self.state
        return not (state.changed or state.serial != self._first_serial or self._intents)

    @property
    def unrecorded_changes(self) -> int:
        """The number of changes of `state` that are not in the journal yet."""
        return len(self._pending)

    @property
    def calls_at_once(self) -> int:
        """How many calls should share one write of the state; 0 if calls wait for no write."""
        passed = time.monotonic() - self._called_first
        if not self._backend.embeds_journal or not passed:
            return 0
        # At the rate of this session, writing then takes about a quarter of the time. The number is
        # limited because a crash leaves the outcome of each of these calls unknown.
        return min(_MAX_CALLS_PER_WRITE, int(self._calls / passed * self._last_cost / _SHARE))

    def intend(self, address: str, operation: str, details: Mapping[str, Any]) -> str:
        """Note that a call is about to be made that cannot safely be repeated; return its id.

        The intent must be flushed before the call. `details` must hold nothing secret.
        """
        intent = Intent(
            f"{self._base.run}-{next(self._numbers)}",
            address,
            operation,
            dict(details),
            timestamp(utc_now()),
        )
        self._intents[intent.id] = intent
        self._unsent.add(intent.id)
        self._calls += 1
        self._called_first = self._called_first or time.monotonic()
        self._open_journal().append(intent)
        return intent.id

    def record(self, settles: Iterable[str] = ()) -> None:
        """Append all changes of `state` since the last call to the journal, as one record.

        Args:
            settles: The intents whose outcome these changes are.
        """
        known = [intent for intent in settles if self._intents.pop(intent, None) is not None]
        if self._pending or known:
            self._open_journal().append(StateChanges(tuple(self._pending), tuple(known)))
            self._since_write += len(self._pending)
            # Cleared, not replaced, because `state.on_change` appends to this list.
            self._pending.clear()

    async def flush(self) -> None:
        """Return once everything noted and recorded is durable. Callers share one write.

        Raises:
            UserError: The journal, or the state that embeds it, cannot be written. Make no further
                call.
        """
        self.record()
        # This flush does not cover calls that are noted while it waits.
        noted = set(self._unsent)
        try:
            if self._journal is not None:
                await self._journal.flush()
                # The callers send their calls next. If the file has lost its name, the outcomes
                # would be written to a file that the next run does not find.
                self._journal.check_same_file()
            self._backend.check_same_file()
            if noted and self._backend.embeds_journal:
                async with self._writing:
                    # The write that held the lock may have embedded the intents.
                    if noted & (self._intents.keys() - self._embedded):
                        await self._write_now()
        except Exception as error:
            # The calls wait for this flush, so they are not made, and their outcome is known.
            refusal = self._to_user_error(error)
            self._refused |= dict.fromkeys(self._unsent, refusal)
            self.record(self._unsent)
            self._unsent.clear()
            raise refusal from error
        if refused := noted & self._refused.keys():
            # Another caller's flush failed meanwhile and dropped these calls too.
            raise self._refused[refused.pop()]
        self._unsent -= noted

    @property
    def has_unwritten_changes(self) -> bool:
        """Whether the journal holds changes that are not in the state."""
        return bool(self._since_write or self._pending)

    def is_due(self) -> bool:
        """Return whether a write is due (`Cadence`), or the journal grows too large."""
        since = time.monotonic() - self._wrote_at
        changes = self._since_write + len(self._pending)
        is_due = self._cadence.is_due(changes, since, self._last_cost)
        return (is_due or self._is_outgrown()) and not self._writing.locked()

    def _is_outgrown(self) -> bool:
        """Return whether the journal is half as large as it may become."""
        journal = self._journal
        # The other half is for records that arrive while the state is written. A write costs as
        # much as the state is large, so all writes together stay in proportion to the journal.
        return journal is not None and journal.size > self._state_size // 2

    async def checkpoint(self) -> None:
        """Write the state now, in a thread, while changes continue."""
        async with self._writing:
            await self._write_now()

    async def _write_now(self) -> None:
        snapshot = self._take_snapshot()
        if snapshot is None and not self._is_outgrown():
            return
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, snapshot))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            # A write that has begun cannot be cancelled, and the next write must not overtake it.
            await writing
            raise

    def mark_settled(self, intents: Iterable[str]) -> None:
        """Note the outcomes of intents of earlier runs durably; UserError if that fails."""
        done = set(intents)
        settled = tuple(intent.id for intent in self.open_intents if intent.id in done)
        if settled:
            self.open_intents = tuple(
                intent for intent in self.open_intents if intent.id not in done
            )
            journal = self._open_journal()
            journal.append(StateChanges((), settled))
            journal.flush_now()

    def close(self) -> None:
        """Write the state, release the lock, and remove the journal, unless an intent is open.

        Raises:
            UserError: The state cannot be written. The journal then stays, and the error names the
                changes that are not even in the journal.
        """
        with held_signals():
            self._finish(self._save)

    def _save(self) -> None:
        # A write in a thread sets lineage and serial when it ends, and the snapshot needs both.
        with self._disk:
            snapshot = self._take_snapshot()
        self._write(snapshot)
        if self._journal is not None:
            # A state that lost its name cannot be found again, so the journal must stay.
            self._backend.check_same_file()
            self._finish_journal(self._journal)

    def abandon(self) -> None:
        """Stop now: make the journal durable, and leave it for the next run."""
        self._finish(self._keep_journal)

    def _keep_journal(self) -> None:
        self.record()
        if self._journal is not None:
            self._journal.flush_now()

    def _finish(self, save: Callable[[], None]) -> None:
        """Save all changes once, and release the lock even if saving fails."""
        if self._closed:
            return
        self._closed = True
        problem: UserError | None = None
        try:
            save()
        except Exception as error:
            problem = self._name_unsaved(self._to_user_error(error))
            raise problem from error
        finally:
            try:
                self._release()
            except Exception as error:
                if problem is None:
                    raise
                # Raising this error would hide the first error, which names the unsaved changes.
                problem.message += f" {self._to_user_error(error).message}"

    def _open_journal(self) -> Journal:
        """Return the journal. A run without changes creates none, and so leaves no file."""
        if self._journal is None:
            copy_to = self._backend if self._backend.keeps_journal else None
            self._journal = Journal.create(self._backend.journal, copy_to)
            self.state.lineage = self.state.lineage or str(uuid.uuid4())
            self._base = msgspec.structs.replace(self._base, lineage=self.state.lineage)
            # Without the base, the state to which the journal belongs would be unknown.
            self._journal.append(self._base)
        return self._journal

    def _take_snapshot(self) -> _Snapshot | None:
        """Take a snapshot, because the state may change while it is written."""
        self.record()
        kept = (*self.open_intents, *self._intents.values()) if self._backend.embeds_journal else ()
        embedded = frozenset(intent.id for intent in kept)
        # The document embeds the open intents, so it is written if they changed.
        self.state.changed |= self._must_embed or embedded != self._embedded
        # A state would show that it was applied: a first run that made nothing stores none.
        was_stored = self.state.serial or not self._base.empty
        shows_nothing = self.state.empty and not kept
        if not self.state.changed or (shows_nothing and not was_stored):
            return None
        count, self._since_write = self._since_write, 0
        before = self.state.serial
        self.state.raise_serial()
        position = self._open_journal().appended_count
        return _Snapshot(self.state.copy(), before, count, position, kept)

    def _write(self, snapshot: _Snapshot | None) -> None:
        with self._disk:
            if self._released:
                # This write's turn came too late: the lock is no longer held.
                return
            if snapshot is None:
                if self._journal is not None and self._is_outgrown():
                    # The journal holds records that change no state, such as refused calls.
                    self._journal.restart(self._base, self._journal.appended_count)
                return
            journal, state = self._open_journal(), snapshot.state
            begun = time.monotonic()
            # Not empty even without objects: its lineage counts, and a lost file is noticed.
            base = msgspec.structs.replace(base_of(self._base.run, state), empty=False)
            embedded = encode_records((base, *snapshot.intents)) if snapshot.intents else b""
            try:
                journal.flush_now()
                if not self._backed_up:
                    self._backend.back_up()
                    self._backed_up = True
                # Announced first: after a crash, only an announced copy may replace the state.
                journal.append(StateWrite(state.serial, base.digest))
                journal.flush_now()
                data = state.to_bytes()
                stored = self._backend.write(data, embedded) or (state.lineage, state.serial)
                self.state.lineage, self.state.serial = stored
                self._embedded = frozenset(intent.id for intent in snapshot.intents)
                self._must_embed = False
                self._state_size = max(_SMALL, len(data))
            except Exception:
                # Nothing was stored under the raised serial, so the next write uses it again.
                self.state.serial, self.state.changed = snapshot.before, True
                self._since_write += snapshot.count
                raise
            finally:
                self._wrote_at = time.monotonic()
                self._last_cost = self._wrote_at - begun
            lineage, serial = stored
            self._base = msgspec.structs.replace(base, lineage=lineage, serial=serial)
            journal.restart(self._base, snapshot.position)

    def _finish_journal(self, journal: Journal) -> None:
        """Remove the journal; if intents are open, keep only these in it, for the next run."""
        is_needed = bool(self.open_intents or self._intents)
        if is_needed:
            journal.restart(self._base, journal.appended_count)
        # Also before removal, because the journal stays if its stored copy cannot be removed.
        journal.flush_now()
        if not is_needed:
            journal.remove()

    def _to_user_error(self, error: Exception) -> UserError:
        if isinstance(error, UserError):
            return error
        if isinstance(error, (OSError, MemoryError)):
            return file_error("write", f"the state {self._backend.name}", error, "")
        return UserError(
            f"Cannot write the state {self._backend.name}: {type(error).__name__}: {error}."
        )

    def _name_unsaved(self, error: UserError) -> UserError:
        """Name the changes that are saved nowhere, and save the whole state to another file."""
        journal = self._journal
        is_kept = journal is None or self._backend.keeps_journal or _passes(journal.check_same_file)
        lost = [*self._pending]
        if journal is not None and is_kept:
            lost = [*journal.waiting_changes(), *lost]
        elif journal is not None and (
            self.state.changed or not _passes(self._backend.check_same_file)
        ):
            lost = [*journal.all_changes(), *lost]
        intents = [] if is_kept else list(self._intents.values())
        is_gone = self._backend.is_gone() and not self.state.empty
        sentences, remedies = [], []
        if lost:
            sentences.append(f"Neither state nor journal holds: {_name_changes(lost)}.")
        if intents:
            sentences.append(f"It is not known whether these took place: {_name_intents(intents)}.")
        if (lost or is_gone) and (rescued := self._rescue()) is not None:
            sentences.append(f"The whole state is in {rescued}.")
            remedies.append(self._backend.restore_hint(rescued))
        error.message = " ".join([error.message, *sentences])
        error.remedy = " ".join(filter(None, [error.remedy, *remedies]))
        return error

    def _rescue(self) -> Path | None:
        with contextlib.suppress(Exception):
            twin = self.state.copy()
            # Above every serial in the journal, so the file never counts as a torn state.
            twin.serial = self.state.serial + 2
            return rescue(twin.to_bytes(), self._backend.journal.parent)
        return None

    def _release(self) -> None:
        self.state.on_change = None
        with self._disk:
            self._released = True
            try:
                if self._journal is not None:
                    self._journal.close()
            finally:
                self._backend.close()


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The data for one write of the state.

    Attributes:
        before: The serial before it was raised.
        count: How many changes were made since the last write.
        position: How many records of the journal the state includes.
        intents: The open intents, to embed in the document.
    """

    state: State
    before: int
    count: int
    position: int
    intents: Sequence[Intent]


def _name_changes(changes: Iterable[StateChange]) -> str:
    last = {(change.address, change.deposed): object_id(change.object_json) for change in changes}
    return ", ".join(f"{address} = {id or 'gone'}" for (address, _), id in last.items())


def _name_intents(intents: Iterable[Intent]) -> str:
    return ", ".join(f"{intent.address} ({intent.operation})" for intent in intents)


def _passes(check: Callable[[], None]) -> bool:
    """Return whether a check raises no UserError."""
    try:
        check()
    except UserError:
        return False
    return True
