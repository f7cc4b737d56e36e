"""A session on a state: changes, the journal, writes and the end, in the right order.

An intent is durable before its call, a completed change before the next step that depends on it,
the backup before the first write of state, and all of it in state before the journal goes.
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
from types import TracebackType
from typing import Any, Final

import msgspec

from opsconsole.clock import timestamp, utc_now
from opsconsole.errors import UserError
from opsconsole.held_signals import held_signals
from opsconsole.named_files import file_error
from opsconsole.state.backend import Backend, SnapshotMeta
from opsconsole.state.journal import Journal
from opsconsole.state.model import State
from opsconsole.state.objects import StateChange, object_id
from opsconsole.state.records import Base, Intent, Outcome, Writing, encode_records
from opsconsole.state.recovery import Recovered
from opsconsole.state.rescue import rescue

_SHARE: Final = 0.25
"""The share of a session's time that writes may take for which calls wait."""
_MOST: Final = 256
"""Calls that share one write at most."""
_SMALL: Final = 1 << 20
"""Bytes that a journal may always have."""


@dataclass(frozen=True, slots=True)
class Cadence:
    """When state is written during a run: after `seconds` or `changes`, the earlier of the two.

    Each write costs as much as the whole state is large, so a fixed pace would make a run's cost
    grow with the square of its length. No new write begins, therefore, before the one before it
    makes up less than `share` of the time since. The cost of all writes is then at most that share
    of the run, plus one write: linear. Changes not in state yet are durable in the journal.
    """

    seconds: float = 5.0
    changes: int = 500
    share: float = 0.1

    def due(self, changes: int, since: float, last_cost: float) -> bool:
        """Return whether to write now.

        Args:
            changes: How many were made since the last write.
            since: Seconds since it ended.
            last_cost: Seconds that it took.
        """
        pressing = changes >= self.changes or (changes > 0 and since >= self.seconds)
        return pressing and last_cost <= self.share * since


class StateSession:
    """An open state. Change `state`, `record` what belongs together, `flush` before what depends.

    Leaving the `with` block closes it, also after an error: all changes are in state.

    Attributes:
        state: The state to read and to change; every change is noticed here.
        unresolved: Calls of earlier runs whose outcome is still not known.
        folded: How many changes of a run that crashed were added when this session was opened.
    """

    def __init__(
        self,
        backend: Backend,
        state: State,
        cadence: Cadence,
        run: str,
        journal: Journal | None = None,
        recovered: Recovered | None = None,
    ) -> None:
        """Go on with a state.

        Args:
            run: What tells this run from all others.
            journal: The existing journal, which holds the changes that were `recovered`.
        """
        self.state = state
        self.folded = recovered.count if recovered else 0
        self.unresolved: Sequence[Intent] = tuple(recovered.intents) if recovered else ()
        self._backend = backend
        self._cadence = cadence
        self._run = run
        self._base = recovered.base if recovered else _base_of(run, state)
        self._first_serial = state.serial
        self._journal = journal
        self._pending: list[StateChange] = []
        self._intents: dict[str, Intent] = {}
        self._numbers = itertools.count(1)
        self._unsent: set[str] = set()
        self._refused: set[str] = set()
        self._refusal = UserError("")
        self._embedded: frozenset[str] | None = frozenset()
        self._calls, self._called_first = 0, 0.0
        self._since_write = 0
        self._wrote_at = time.monotonic()
        self._last_cost = 0.0
        self._state_size = 0
        # A state that a crash left torn must not replace the backup made before that write.
        self._backed_up = recovered is not None and recovered.was_torn
        self._closed = False
        self._released = False
        self._writing = asyncio.Lock()
        self._disk = threading.Lock()
        state.on_change = self._pending.append

    def __enter__(self) -> StateSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def begin(self) -> None:
        """Make sure that changes can be written, before the run asks for anything.

        Raises:
            UserError: The journal cannot be written.
        """
        with held_signals():
            self._open_journal().flush_now()

    def finish_recovery(self) -> None:
        """Write recovered changes, and make earlier writes durable.

        Raises:
            UserError: It cannot be written.
        """
        assert self._journal is not None
        if self._backend.embeds_journal:
            # Another run embedded its journal, or Terraform dropped it: embed that of this run.
            self._embedded = None
        snapshot = self._take_snapshot()
        self._write(snapshot)
        self._backend.finish_write()
        if snapshot is None:
            # All of it is in the state. Kept, it would count as what this run found, should another
            # engine write before this run does.
            self._base = _base_of(self._run, self.state)
            self._journal.restart(self._base, self._journal.appended_count)
        self._first_serial = self.state.serial
        self._journal.flush_now()

    @property
    def has_done_nothing(self) -> bool:
        """Whether this run changed nothing in state, and made no call of unknown outcome."""
        state = self.state
        return not (state.changed or state.serial != self._first_serial or self._intents)

    @property
    def unrecorded_changes(self) -> int:
        """How many changes of `state` are not in the journal yet."""
        return len(self._pending)

    @property
    def calls_at_once(self) -> int:
        """How many calls should share one write of the state; 0 where they wait for none."""
        passed = time.monotonic() - self._called_first
        if not self._backend.embeds_journal or not self._calls or not passed:
            return 0
        # At the rate of this session, writing then takes about a quarter of the time. The number is
        # bounded because a crash leaves the outcome of each of these calls unknown.
        return min(_MOST, int(self._calls / passed * self._last_cost / _SHARE))

    def intend(self, address: str, call: str, details: Mapping[str, Any]) -> str:
        """Note that a call is about to be made that cannot safely be repeated; return its id.

        It must be flushed before the call. Nothing secret belongs in `details`.
        """
        intent = Intent(
            f"{self._run}-{next(self._numbers)}",
            address,
            call,
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
        """Put what `state` was changed by since the last call into the journal, as one record.

        Args:
            settles: The intents whose outcome these changes are.
        """
        known = [intent for intent in settles if self._intents.pop(intent, None) is not None]
        if self._pending or known:
            self._open_journal().append(Outcome(tuple(self._pending), tuple(known)))
            self._since_write += len(self._pending)
            # Cleared and not replaced: `state.on_change` appends to this list.
            self._pending.clear()

    async def flush(self) -> None:
        """Return once all that was noted and recorded is durable. Callers share one write.

        Raises:
            UserError: The journal cannot be written, or the state that embeds it: make no
                further call.
        """
        self.record()
        # Calls that are noted while this flush waits are not covered by it.
        noted = set(self._unsent)
        try:
            if self._journal is not None:
                await self._journal.flush()
                # The callers send their calls next. A file that has lost its name would take the
                # outcomes, and the next run would not find them.
                self._journal.check_name()
            self._backend.check_name()
            await self._embed(noted)
        except Exception as error:
            # Their calls wait for this flush, so they are not made: nobody has to ask later.
            self._refused |= self._unsent
            self._refusal = self._to_user_error(error)
            self.record(self._unsent)
            self._unsent.clear()
            raise self._refusal from error
        if noted & self._refused:
            # Another caller's flush failed meanwhile, and dropped these calls too.
            raise self._refusal
        self._unsent -= noted

    async def _embed(self, noted: Iterable[str]) -> None:
        """Return once the stored state embeds these intents. Callers share a write."""
        if not self._embeds(noted):
            async with self._writing:
                # Asked again: the write that held the lock may have embedded them.
                if not self._embeds(noted):
                    await self._write_now()

    def _embeds(self, noted: Iterable[str]) -> bool:
        waiting = {intent for intent in noted if intent in self._intents} - (
            self._embedded or set()
        )
        return not waiting or not self._backend.embeds_journal

    @property
    def has_unwritten_changes(self) -> bool:
        """Whether the journal holds changes that state does not."""
        return bool(self._since_write or self._pending)

    def is_due(self) -> bool:
        """Return whether it is time to write state (`Cadence`), or the journal grows too large."""
        since = time.monotonic() - self._wrote_at
        changes = self._since_write + len(self._pending)
        due = self._cadence.due(changes, since, self._last_cost)
        return (due or self._is_outgrown()) and not self._writing.locked()

    def _is_outgrown(self) -> bool:
        """Return whether the journal is half as large as it may become."""
        journal = self._journal
        # The other half is for what comes while state is written. A write costs as much as state is
        # large, so all writes together stay in proportion to the journal.
        return journal is not None and journal.size > max(_SMALL, self._state_size) // 2

    async def checkpoint_if_due(self) -> bool:
        """Write state if its turn has come (`Cadence`); return whether it was written.

        Raises:
            UserError: It cannot be written; everything is in the journal.
        """
        if not self.is_due():
            return False
        await self.checkpoint()
        return True

    async def checkpoint(self) -> None:
        """Write state now, in a thread, while changes go on.

        Raises:
            UserError: It cannot be written; everything is in the journal.
        """
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
            # A write that has begun cannot be called back, and the next must not overtake it.
            await writing
            raise

    def mark_resolved(self, intents: Iterable[str]) -> None:
        """Note that the outcomes of calls of earlier runs are known now.

        Raises:
            UserError: It cannot be made durable.
        """
        done = set(intents)
        settled = tuple(call.id for call in self.unresolved if call.id in done)
        if settled:
            self.unresolved = tuple(call for call in self.unresolved if call.id not in done)
            journal = self._open_journal()
            journal.append(Outcome((), settled))
            journal.flush_now()

    def close(self) -> None:
        """Write state, release the lock, and remove the journal, unless a call is still open.

        Raises:
            UserError: State cannot be written. The journal then stays, and the error names what
                not even the journal holds.
        """
        with held_signals():
            if not self._closed:
                self._closed = True
                self._finish(self._save)

    def _save(self) -> None:
        # A write in a thread sets lineage and serial when it ends: the snapshot waits for both.
        with self._disk:
            snapshot = self._take_snapshot()
        self._write(snapshot)
        if self._journal is not None:
            # A state that lost its name cannot be found again, so the journal must stay.
            self._backend.check_name()
            self._finish_journal(self._journal)

    def abandon(self) -> None:
        """Stop now: make the journal durable and leave it for the next run.

        Raises:
            UserError: The journal cannot be written.
        """
        if not self._closed:
            self._closed = True
            self._finish(self._keep_journal)

    def _keep_journal(self) -> None:
        self.record()
        if self._journal is not None:
            self._journal.flush_now()

    def _finish(self, save: Callable[[], None]) -> None:
        """Save all changes, and release the lock whether or not that works.

        Raises:
            UserError: It does not. The error names what nothing else holds.
        """
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
                # Raising this error would hide the first one, which names what was not saved.
                problem.message += f" {self._to_user_error(error).message}"

    def _open_journal(self) -> Journal:
        """Create the journal at the first change, so that a run without changes leaves no file."""
        if self._journal is None:
            copy_to = self._backend if self._backend.keeps_journal else None
            self._journal = Journal.create(self._backend.journal, copy_to)
            self.state.lineage = self.state.lineage or str(uuid.uuid4())
            self._base = msgspec.structs.replace(self._base, lineage=self.state.lineage)
            # Without the base, nobody could tell to which state the journal belongs.
            self._journal.append(self._base)
        return self._journal

    def _take_snapshot(self) -> _Snapshot | None:
        """Take a snapshot of the state, which may change while it is written."""
        self.record()
        calls = (*self.unresolved, *self._intents.values()) if self._backend.embeds_journal else ()
        embedded = frozenset(call.id for call in calls)
        # The document embeds the open calls too: where they changed, it is written although no
        # object did.
        self.state.changed |= embedded != self._embedded
        # A first run that made nothing leaves no state: one would say that it was applied.
        was_stored = self.state.serial or not self._base.empty
        shows_nothing = self.state.empty and not calls
        if not self.state.changed or (shows_nothing and not was_stored):
            return None
        count, self._since_write = self._since_write, 0
        before = self.state.serial
        serial = self.state.raise_serial()
        journal = self._open_journal()
        return _Snapshot(
            journal, self.state.copy(), before, serial, count, journal.appended_count, calls
        )

    def _write(self, snapshot: _Snapshot | None) -> None:
        with self._disk:
            if self._released:
                # It was begun and its turn came too late: the lock is no longer held.
                return
            if snapshot is None:
                if self._journal is not None and self._is_outgrown():
                    # It holds records that change no state: refused calls.
                    self._journal.restart(self._base, self._journal.appended_count)
                return
            journal, state = snapshot.journal, snapshot.state
            begun = time.monotonic()
            # A state that was stored counts, even without objects: its lineage is settled, and its
            # file is missed when it is gone.
            base = _base_of(self._run, state, serial=snapshot.serial, empty=False)
            embedded = encode_records((base, *snapshot.calls)) if snapshot.calls else b""
            try:
                journal.flush_now()
                if not self._backed_up:
                    self._backend.back_up()
                    self._backed_up = True
                # Announced before the state is touched: after a crash, only an announced copy is
                # taken for the state.
                journal.append(Writing(snapshot.serial, base.digest))
                journal.flush_now()
                data = state.to_bytes()
                wanted = SnapshotMeta(self.state.lineage, snapshot.serial)
                stored = self._backend.write(data, wanted, embedded)
                self.state.lineage, self.state.serial = stored
                self._embedded = frozenset(call.id for call in snapshot.calls)
                self._state_size = len(data)
            except Exception:
                # Nothing was stored under the raised serial, so the next write takes it again.
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
        """Remove the journal; where calls are open it stays with them alone, for the next run."""
        if self.unresolved or self._intents:
            journal.restart(self._base, journal.appended_count)
        # Also before it is removed: it stays where the copy beside the state cannot be removed.
        journal.flush_now()
        if not self.unresolved and not self._intents:
            journal.remove()
            self._journal = None

    def _to_user_error(self, error: Exception) -> UserError:
        """Return any failure to save the state or its journal as an error for the user."""
        if isinstance(error, UserError):
            return error
        if isinstance(error, (OSError, MemoryError)):
            return file_error("write", f"the state {self._backend.name}", error, "")
        return UserError(
            f"Cannot write the state {self._backend.name}: {type(error).__name__}: {error}."
        )

    def _name_unsaved(self, error: UserError) -> UserError:
        """Say what neither state nor journal holds, and keep the whole state in another file."""
        journal = self._journal
        is_kept = journal is None or self._backend.keeps_journal or _passes(journal.check_name)
        lost = [*self._pending]
        if journal is not None and is_kept:
            lost = [*journal.waiting_changes(), *lost]
        elif journal is not None and (self.state.changed or not _passes(self._backend.check_name)):
            lost = [*journal.all_changes(), *lost]
        calls = [] if is_kept else list(self._intents.values())
        is_gone = self._backend.is_gone() and not self.state.empty
        said, remedies = [], []
        if lost:
            last = {(change.address, change.deposed): object_id(change.image) for change in lost}
            named = [f"{address} = {found or 'gone'}" for (address, _), found in last.items()]
            said.append(f"Neither state nor journal holds: {', '.join(named)}.")
        if calls:
            named = [f"{call.address} ({call.call})" for call in calls]
            said.append(f"It is not known whether these took place: {', '.join(named)}.")
        if (lost or is_gone) and (rescued := self._rescue()) is not None:
            said.append(f"The whole state is in {rescued}.")
            remedies.append(self._backend.way_back(rescued))
        error.message = " ".join([error.message, *said])
        error.remedy = " ".join(filter(None, [error.remedy, *remedies]))
        return error

    def _rescue(self) -> Path | None:
        with contextlib.suppress(Exception):
            twin = self.state.copy()
            # Newer than anything that the journal notes, so that it is never taken for a torn one.
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
    """What one write of state needs, fixed when it begins.

    Attributes:
        before: The serial before it was raised.
        count: How many changes were made since the last write.
        position: How many records of the journal are in it.
        calls: The part of the journal that is embedded.
    """

    journal: Journal
    state: State
    before: int
    serial: int
    count: int
    position: int
    calls: Sequence[Intent]


def _base_of(run: str, state: State, **changes: Any) -> Base:
    base = Base(run, state.lineage, state.serial, state.digest(), state.empty)
    return msgspec.structs.replace(base, **changes)


def _passes(check: Callable[[], None]) -> bool:
    """Return whether a check raises no error."""
    try:
        check()
    except UserError:
        return False
    return True
