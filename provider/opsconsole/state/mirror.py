"""The journal beside a remote state: what the next run needs if this machine is gone.

The local journal grows for a whole run. The stored one holds only what the stored state lacks: it
begins again with each write of state, and keeps the intents that are still open.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from opsconsole.state.backend import Backend
from opsconsole.state.records import Record, Started, encode_records, open_intents


class Mirror:
    """The records that the stored state lacks."""

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
            self._backend.check()
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
