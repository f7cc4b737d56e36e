"""A session on a state: what is changed, made durable, written and finished, in the right order.

An intent is durable before its call, a completed change before the next step that depends on it,
the backup before the first write of state, and all of it in state before the journal goes. A
remote state is also written in the background, a few seconds after a change.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from opsconsole.clock import timestamp, utc_now
from opsconsole.errors import UserError
from opsconsole.held_signals import held_signals
from opsconsole.named_files import file_error
from opsconsole.state.backend import Backend, SnapshotMeta
from opsconsole.state.journal import Journal, Mirror, read_unresolved, write_unresolved
from opsconsole.state.model import State, new_deposed_key
from opsconsole.state.objects import InstanceObject, StateChange, object_id
from opsconsole.state.records import (
    PLACEHOLDER_DETAIL,
    Changed,
    Ended,
    Intent,
    Placeholder,
    Placeholders,
    Settled,
    Started,
    Writing,
    Written,
)
from opsconsole.state.rescue import rescue

_AGAIN: Final = 0.5
"""Seconds between one try of a background write and the next."""


@dataclass(frozen=True, slots=True)
class Cadence:
    """When state is written during a run: after `seconds` or `changes`, whichever comes first.

    Each write costs as much as the whole state is large, so a fixed pace would make a run's cost
    grow with the square of its length. No new write begins, therefore, before the one before it
    makes up less than `share` of the time since. The cost of all writes is then at most that share
    of the run, plus one write: linear. What is not in state yet is durable in the journal.
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


class Pacer:
    """Writes state in the background while changes wait.

    It does nothing for a local state, whose journal is enough.

    Args:
        write: Writes state if its turn has come.
        waiting: Returns how many changes wait for a write.
        cadence: Its seconds are the pause before the first write.
        backend: One with a backup file is local.
    """

    def __init__(
        self,
        write: Callable[[], Awaitable[bool]],
        waiting: Callable[[], int],
        cadence: Cadence,
        backend: Backend,
    ) -> None:
        self._write = write
        self._waiting = waiting
        self._seconds = cadence.seconds
        self._stopped = backend.backup is not None
        self._task: asyncio.Task[None] | None = None
        self._problem: UserError | None = None

    def wake(self) -> None:
        """Note that there is a change; without an event loop there is no background."""
        if self._stopped or (self._task is not None and not self._task.done()):
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._task = loop.create_task(self._run())

    def check(self) -> None:
        """Raise the error of a background write: no further call may be made.

        Raises:
            UserError: State could not be written.
        """
        if self._problem is not None:
            raise self._problem

    def stop(self) -> None:
        """Start no further write. The caller of a write that has begun finishes it."""
        self._stopped = True
        task, self._task = self._task, None
        if task is not None and not task.done() and not task.get_loop().is_closed():
            task.get_loop().call_soon_threadsafe(task.cancel)

    async def _run(self) -> None:
        pause = self._seconds
        while not self._stopped:
            await asyncio.sleep(pause)
            pause = _AGAIN
            try:
                await self._write()
            except UserError as error:
                self._problem = error
                return
            if not self._waiting():
                return


class StateSession:
    """An open state. Change `state`, `record` what belongs together, `flush` before what depends.

    Leaving the `with` block closes it, whatever happened: what was done is in state.

    Attributes:
        state: The state to read and to change; every change is noticed here.
        unresolved: Calls of earlier runs whose outcome is still not known.
        folded: How many changes of a run that crashed were added when this session was opened.
    """

    def __init__(self, backend: Backend, state: State, cadence: Cadence, folded: int = 0) -> None:
        self.state = state
        self.folded = folded
        self.unresolved: Sequence[Intent] = tuple(read_unresolved(backend.unresolved))
        self._backend = backend
        self._cadence = cadence
        self._base = Started(
            state.lineage,
            state.serial,
            state.digest(),
            state.empty,
            timestamp(utc_now()),
        )
        self._journal: Journal | None = None
        self._pending: list[StateChange] = []
        self._intents: dict[str, Intent] = {}
        self._run, self._numbers = secrets.token_hex(6), itertools.count(1)
        self._unsent: set[str] = set()
        self._placeholders = Placeholders()
        self._since_write = 0
        self._wrote_at = time.monotonic()
        self._last_cost = 0.0
        self._backed_up = False
        self._closed = False
        self._released = False
        self._writing = asyncio.Lock()
        self._disk = threading.Lock()
        self._pacer = Pacer(self.checkpoint_if_due, lambda: self._since_write, cadence, backend)
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
        """Make sure that what a run does can be written, before it asks for anything.

        Raises:
            UserError: The journal cannot be written.
        """
        with held_signals():
            self._started().flush_now()

    @property
    def shows_creates(self) -> bool:
        """Whether `intend` wants to know what the stored state shows of a create."""
        return self._backend.shows_creates

    @property
    def has_done_nothing(self) -> bool:
        """Whether this run changed nothing in state, and made no call of unknown outcome."""
        state = self.state
        return not (state.changed or state.serial != self._base.serial or self._intents)

    @property
    def unrecorded(self) -> int:
        """How many changes of `state` are not in the journal yet."""
        return len(self._pending)

    @property
    def creates_at_once(self) -> int:
        """How many creates should share one write of the state; 0 where they wait for none."""
        return self._placeholders.worth(self._last_cost)

    def intend(
        self,
        address: str,
        call: str,
        details: Mapping[str, Any],
        shown: InstanceObject | None = None,
    ) -> str:
        """Note that a call is about to be made that cannot safely be repeated; return its id.

        It must be flushed before the call. Nothing secret belongs in `details`.

        Args:
            shown: What the stored state shows at `address` until the outcome is known, where
                `shows_creates`. What is there now is shown as put aside.
        """
        placeholder = None
        if shown is not None and self.shows_creates:
            aside = new_deposed_key() if address in self.state else ""
            placeholder = Placeholder(address, shown, aside)
            details = {**details, PLACEHOLDER_DETAIL: placeholder.detail}
        intent = Intent(
            f"{self._run}-{next(self._numbers)}",
            address,
            call,
            dict(details),
            timestamp(utc_now()),
        )
        self._intents[intent.id] = intent
        if placeholder is not None:
            self._placeholders.add(intent.id, placeholder)
        self._unsent.add(intent.id)
        self._started().append(intent)
        return intent.id

    def settle(self, intent: str, outcome: str) -> None:
        """Note that the outcome of an intent is known and changed nothing: a refusal, say."""
        if self._close_intent(intent):
            self._started().append(Settled(intent, outcome))

    def record(self, settles: Iterable[str] = ()) -> None:
        """Put what `state` was changed by since the last call into the journal, as one record.

        Args:
            settles: The intents whose outcome these changes are.
        """
        known = [intent for intent in settles if self._close_intent(intent)]
        if self._pending or known:
            self._pacer.wake()
            self._started().append(Changed(tuple(self._pending), tuple(known)))
            self._since_write += len(self._pending)
            self._pending.clear()

    def _close_intent(self, intent: str) -> bool:
        """Note that the outcome of an intent is known; return whether it was open."""
        self._placeholders.drop(intent)
        return self._intents.pop(intent, None) is not None

    async def flush(self) -> None:
        """Return once all that was noted and recorded is durable. Callers share one write.

        Raises:
            UserError: The journal cannot be written, or the state that is to show what may be
                created: make no further call.
        """
        self.record()
        noted = set(self._unsent)
        try:
            self._pacer.check()
            if self._journal is not None:
                await self._journal.flush()
                self._journal.check_name()
            self._backend.check_name()
            await self._show_creates()
        except Exception as error:
            # Their calls wait for this flush, so they are not made: nobody has to ask later.
            for intent in list(self._unsent):
                self.settle(intent, "not sent")
            self._unsent.clear()
            raise self._explained(error) from error
        self._unsent -= noted

    async def _show_creates(self) -> None:
        """Return once the stored state shows every create that was noted. Callers share a write."""
        noted = self._placeholders.open
        if not self._placeholders.are_stored(noted):
            async with self._writing:
                if not self._placeholders.are_stored(noted):
                    await self._write_draft()

    def is_due(self) -> bool:
        """Return whether it is time to write state (`Cadence`)."""
        since = time.monotonic() - self._wrote_at
        changes = self._since_write + len(self._pending)
        due = self._cadence.due(changes, since, self._last_cost)
        return due and not self._writing.locked()

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
            await self._write_draft()

    async def _write_draft(self) -> None:
        draft = self._draft()
        if draft is None:
            return
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, draft))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            # A write that has begun cannot be called back, and the next must not overtake it.
            await writing
            raise

    def resolve(self, intents: Iterable[str]) -> None:
        """Remove calls from the list of unknown outcomes: theirs are known now.

        Raises:
            UserError: The list cannot be written.
        """
        done = set(intents)
        left = tuple(call for call in self.unresolved if call.id not in done)
        if len(left) != len(self.unresolved):
            write_unresolved(self._backend.unresolved, left)
            self._backend.store_unresolved()
            self.unresolved = left

    def close(self) -> None:
        """Write state, remove the journal, release the lock. Calls still open become unresolved.

        Raises:
            UserError: State cannot be written. The journal then stays, and the error names what
                not even the journal holds.
        """
        with held_signals():
            self._close()

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            self._finish(self._save)

    def _save(self) -> None:
        with self._disk:
            draft = self._draft()
        if draft is not None:
            self._write(draft)
        if self._journal is not None:
            self._backend.check_name()
            self._end(self._journal)

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
        """Save what was done, and let others in whether or not that works.

        Raises:
            UserError: It does not. The error names what nothing else holds.
        """
        problem: UserError | None = None
        try:
            save()
        except Exception as error:
            problem = self._unsaved(self._explained(error))
            raise problem from error
        finally:
            try:
                self._release()
            except Exception as error:
                if problem is None:
                    raise
                problem.message += f" {self._explained(error).message}"

    def _started(self) -> Journal:
        if self._journal is None:
            mirror = Mirror(self._backend) if self._backend.keeps_companions else None
            self._journal = Journal.create(self._backend.journal, mirror)
            self.state.lineage = self.state.lineage or str(uuid.uuid4())
            self._base = replace(self._base, lineage=self.state.lineage, at=timestamp(utc_now()))
            self._journal.append(self._base)
        return self._journal

    def _draft(self) -> _Draft | None:
        """Take what is to be written out of the state, which may change while it is written."""
        self.record()
        self.state.changed |= self._placeholders.changed
        # A first run that made nothing leaves no state: one would say that it was applied.
        was_stored = self.state.serial or not self._base.empty
        shows_nothing = self.state.empty and not self._placeholders.open
        if not self.state.changed or (shows_nothing and not was_stored):
            return None
        count, self._since_write = self._since_write, 0
        before = self.state.serial
        serial = self.state.raise_serial()
        journal = self._started()
        snapshot = self._placeholders.shown_in(self.state).copy()
        shown = self._placeholders.open
        return _Draft(journal, snapshot, before, serial, count, journal.appended, shown)

    def _write(self, draft: _Draft) -> None:
        with self._disk:
            if self._released:
                # It was begun and its turn came too late: the lock is no longer held.
                return
            begun = time.monotonic()
            try:
                draft.journal.flush_now()
                if not self._backed_up:
                    self._backend.back_up()
                    self._backed_up = True
                draft.journal.append(Writing(draft.serial, draft.snapshot.digest()))
                draft.journal.flush_now()
                wanted = SnapshotMeta(self.state.lineage, draft.serial)
                stored = self._backend.write(draft.snapshot.to_bytes(), wanted)
                self.state.lineage, self.state.serial = stored
                self._placeholders.note_stored(draft.shown)
            except Exception:
                self.state.serial, self.state.changed = draft.before, True
                self._since_write += draft.count
                raise
            finally:
                self._wrote_at = time.monotonic()
                self._last_cost = self._wrote_at - begun
            draft.journal.append(Written(stored.serial, stored.lineage))
            if draft.journal.mirror is not None:
                digest = draft.snapshot.digest()
                base = Started(stored.lineage, stored.serial, digest, False, self._base.at)
                draft.journal.mirror.restart(base, draft.position)

    def _end(self, journal: Journal) -> None:
        if self._intents:
            listed = (*self.unresolved, *self._intents.values())
            write_unresolved(self._backend.unresolved, listed)
            self._backend.store_unresolved()
            self.unresolved = listed
        journal.append(Ended())
        journal.flush_now()
        if journal.mirror is not None:
            journal.mirror.remove()
        journal.remove()
        self._journal = None

    def _explained(self, error: Exception) -> UserError:
        """Return an error for the user, whatever kept the state or its journal from being kept."""
        if isinstance(error, UserError):
            return error
        if isinstance(error, (OSError, MemoryError)):
            return file_error("write", f"the state {self._backend.name}", error, "")
        return UserError(
            f"Cannot write the state {self._backend.name}: {type(error).__name__}: {error}."
        )

    def _unsaved(self, error: UserError) -> UserError:
        """Say what neither state nor journal holds, and keep the whole state in another file."""
        journal = self._journal
        is_kept = journal is None or journal.mirror is not None or _passes(journal.check_name)
        lost = [*self._pending]
        if journal is not None and is_kept:
            lost = [*journal.waiting_changes(), *lost]
        elif journal is not None and (self.state.changed or not _passes(self._backend.check_name)):
            with contextlib.suppress(OSError, UserError):
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
            twin = self._placeholders.shown_in(self.state).copy()
            # Newer than anything that the journal notes, so that it is never taken for a torn one.
            twin.serial = self.state.serial + 2
            return rescue(twin.to_bytes(), self._backend.journal.parent)
        return None

    def _release(self) -> None:
        self.state.on_change = None
        self._pacer.stop()
        with self._disk:
            self._released = True
            try:
                if self._journal is not None:
                    self._journal.close()
            finally:
                self._backend.close()


@dataclass(frozen=True, slots=True)
class _Draft:
    """What one write of state needs, fixed when it begins."""

    journal: Journal
    snapshot: State
    before: int
    serial: int
    count: int
    position: int
    shown: frozenset[str]


def _passes(check: Callable[[], None]) -> bool:
    """Return whether a check raises no error."""
    try:
        check()
    except UserError:
        return False
    return True
