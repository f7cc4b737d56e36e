"""A `Backend` on a storage: one state of a team, locked for the whole run and fenced at each write.

The journal of a run is a file of this machine. Where the storage holds companions, what the journal
holds is also stored beside the state, so that the next run on any machine finds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opsconsole.errors import UserError
from opsconsole.state.backend import Backend, LastPlace, SnapshotMeta, replace_durably
from opsconsole.state.backends.storage import Companion, LockLost, Storage
from opsconsole.state.lock import DEFAULT_LOCKING, LockInfo, Locking, take_lock

_PAUSES = (0.25, 0.5, 1.0, 2.0)


class StorageBackend(Backend):
    """A state in a storage, from `open` to `close`.

    Args:
        marker: The path beside which the journal and the list of unresolved calls lie.
        place: Where the state was at the last run; None does not check.
        journal: The journal's own file, where the user named one.
    """

    def __init__(
        self,
        storage: Storage,
        marker: Path,
        operation: str = "apply",
        locking: Locking = DEFAULT_LOCKING,
        place: LastPlace | None = None,
        journal: Path | None = None,
    ) -> None:
        super().__init__(storage.name, marker, journal)
        self.storage = storage
        self._place = place
        self.keeps_companions = storage.keeps_companions
        self.shows_creates = not storage.keeps_companions
        self._operation = operation
        self._locks = locking.lock and storage.lockable
        self._locking = locking
        self._open = False

    def open(self) -> None:
        """Take the lock, waiting for another holder as long as the user allows.

        Raises:
            LockHeld: Another holds it.
        """
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        try:
            if self._locks:
                info = LockInfo.own(self._operation, self.name)
                take_lock(lambda: self.storage.lock(info), self._locking, _PAUSES)
            self._open = True
        finally:
            if not self._open:
                self.storage.close()

    def read(self) -> bytes:
        """Return the state's bytes; none when there is no state yet.

        Raises:
            UserError: The backend cannot be reached, or refuses; or it has none, and there is one
                here.
        """
        try:
            data = self.storage.read()
        finally:
            self._close_unless_open()
        if not data and self._place is not None:
            self._place.check_nothing_here()
        return data

    def write(self, data: bytes, meta: SnapshotMeta) -> SnapshotMeta:
        """Replace the state.

        Raises:
            LockLost: The lock is no longer held, or someone else wrote; nothing was overwritten.
            UserError: It cannot be written; it is as it was.
        """
        with self._naming_the_journal():
            self.storage.write(data)
        if self._place is not None:
            self._place.note()
        return meta

    def check(self) -> None:
        """Check that the lock is held.

        Raises:
            LockLost: It is no longer held.
        """
        if self._locks:
            with self._naming_the_journal():
                self.storage.check_lock()

    def fetch_journal(self) -> bytes:
        """Return the journal that is stored beside the state; none when there is none."""
        return self._fetch(Companion.JOURNAL)

    def store_journal(self, data: bytes) -> None:
        """Replace the journal that is stored beside the state; without bytes, remove it."""
        if self.keeps_companions:
            self.storage.write_companion(Companion.JOURNAL, data)

    def fetch_unresolved(self) -> None:
        """Bring the list of unresolved calls here, where it is stored beside the state."""
        if not self.keeps_companions:
            return
        if found := self._fetch(Companion.UNRESOLVED):
            replace_durably(self.unresolved, found)
        else:
            self.unresolved.unlink(missing_ok=True)

    def store_unresolved(self) -> None:
        """Store the list of unresolved calls beside the state."""
        if self.keeps_companions:
            found = self.unresolved.read_bytes() if self.unresolved.exists() else b""
            self.storage.write_companion(Companion.UNRESOLVED, found)

    def close(self) -> None:
        """Release the lock and close the connections.

        Raises:
            UserError: The lock cannot be released.
        """
        if not self._open:
            return
        self._open = False
        try:
            self.storage.unlock()
        except UserError as error:
            error.remedy += (
                " If the state stays locked, the next run shows the ID of the lock: release it "
                "with `opsconsole force-unlock ID`."
            )
            raise
        finally:
            self.storage.close()

    @contextmanager
    def _naming_the_journal(self) -> Iterator[None]:
        try:
            yield
        except UserError as error:
            if str(self.journal) not in error.remedy:
                error.remedy += (
                    f" Its journal is {self.journal}."
                    if isinstance(error, LockLost)
                    else f" What this run did is in its journal, {self.journal}: keep that file,"
                    " and run again in this directory."
                )
            raise

    def _fetch(self, which: Companion) -> bytes:
        if not self.keeps_companions:
            return b""
        try:
            return self.storage.read_companion(which)
        finally:
            self._close_unless_open()

    def _close_unless_open(self) -> None:
        if not self._open:
            self.storage.close()
