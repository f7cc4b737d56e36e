"""A `Backend` on a storage: one state of a team, locked for the whole run and fenced at each write.

The journal of a run is a file of this machine. Where the storage holds companions, what the journal
holds is also stored beside the state, so that the next run on any machine finds it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from opsconsole.journal_files import journal_of, unresolved_of
from opsconsole.state.backend import SnapshotMeta
from opsconsole.state.backends.storage import Companion, LockHeld, Storage
from opsconsole.state.lock import LockInfo

_PAUSES = (0.25, 0.5, 1.0)


class StorageBackend:
    """A state in a storage, from `open` to `close`.

    Args:
        marker: The path beside which the journal and the list of unresolved calls lie.
        lock: False takes no lock; what another wrote meanwhile is still never written over.
        lock_timeout: Seconds to wait for another holder.
        on_wait: Is told once who is waited for.
    """

    def __init__(
        self,
        storage: Storage,
        marker: Path,
        operation: str = "apply",
        *,
        lock: bool = True,
        lock_timeout: float = 0.0,
        on_wait: Callable[[LockInfo], None] | None = None,
    ) -> None:
        self.storage = storage
        self.journal = journal_of(marker)
        self.unresolved = unresolved_of(marker)
        self.backup: Path | None = None
        self.name = storage.name
        self.keeps_companions = storage.keeps_companions
        self._operation = operation
        self._locks = lock and storage.lockable
        self._lock_timeout = lock_timeout
        self._on_wait = on_wait
        self._open = False

    def open(self) -> None:
        """Take the lock, waiting for another holder as long as the user allows.

        Raises:
            LockHeld: Another holds it.
            UserError: The backend cannot be reached, or refuses.
        """
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        try:
            if self._locks:
                self._take_lock()
            self._open = True
        finally:
            if not self._open:
                self.storage.close()

    def read(self) -> bytes:
        """Return the state's bytes; none when there is no state yet.

        Raises:
            UserError: The backend cannot be reached, or refuses.
        """
        try:
            return self.storage.read()
        finally:
            self._close_unless_open()

    def back_up(self) -> None:
        """Do nothing: a write replaces the state whole, and backends keep their own versions."""

    def write(self, pieces: Sequence[str], meta: SnapshotMeta) -> SnapshotMeta:
        """Replace the state.

        Raises:
            LockLost: The lock is no longer held, or someone else wrote; nothing was overwritten.
            UserError: It cannot be written; it is as it was.
        """
        self.storage.write("".join(pieces).encode())
        return meta

    def check(self) -> None:
        """Do nothing while the lock is held.

        Raises:
            LockLost: It is no longer held.
            UserError: The backend cannot be reached.
        """
        if self._locks:
            self.storage.check_lock()

    def read_companion(self, which: Companion) -> bytes:
        """Return what is stored beside the state; none where there is nothing.

        Raises:
            UserError: The backend cannot be reached, or refuses.
        """
        if not self.keeps_companions:
            return b""
        try:
            return self.storage.read_companion(which)
        finally:
            self._close_unless_open()

    def write_companion(self, which: Companion, data: bytes) -> None:
        """Replace what is stored beside the state; without bytes, remove it.

        Raises:
            UserError: The backend cannot be reached, or refuses.
        """
        if self.keeps_companions:
            self.storage.write_companion(which, data)

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
        finally:
            self.storage.close()

    def _take_lock(self) -> None:
        info = LockInfo.own(self._operation, self.name)
        deadline = time.monotonic() + self._lock_timeout
        pauses = iter(_PAUSES)
        told = False
        while True:
            try:
                return self.storage.lock(info)
            except LockHeld as held:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise
                if self._on_wait is not None and not told:
                    self._on_wait(held.holder or LockInfo(who="an unknown holder"))
                    told = True
            time.sleep(min(next(pauses, 2.0), left))

    def _close_unless_open(self) -> None:
        if not self._open:
            self.storage.close()
