"""What a session asks of the place where a state is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from opsconsole.errors import UserError
from opsconsole.journal_files import journal_of, unresolved_of


class SnapshotMeta(NamedTuple):
    """What tells one snapshot of a state from the others, as Terraform keeps it."""

    lineage: str
    serial: int


class Backend:
    """A place for one state, from `open` to `close`.

    Unless a kind says otherwise, nobody can take its lock, a write replaces the state whole or
    not at all, and its journal is on this machine only. Every method raises a `UserError` where
    the place cannot be reached, or refuses.

    Attributes:
        journal: The path of the journal of a run on it.
        unresolved: Where its calls of unknown outcome are listed.
        backup: Where `back_up` copies it; None where the place keeps earlier versions itself.
        name: What to call it in messages.
        keeps_companions: Whether the journal and the unresolved calls are stored beside it too.
        shows_creates: Whether the stored state shows each create before it is sent, because nothing
            can be stored beside it.
    """

    backup: Path | None = None
    keeps_companions = False
    shows_creates = False

    def __init__(self, name: str, marker: Path) -> None:
        """Begin a backend whose journal and unresolved calls lie beside `marker`."""
        self.name = name
        self.journal = journal_of(marker)
        self.unresolved = unresolved_of(marker)

    def open(self) -> None:
        """Exclude others."""
        raise NotImplementedError

    def read(self) -> bytes:
        """Return the state's bytes; none when there is no state yet."""
        raise NotImplementedError

    def back_up(self) -> None:
        """Copy the state to `backup`, durably, where there is one."""

    def write(self, pieces: Sequence[str], meta: SnapshotMeta) -> SnapshotMeta:
        """Replace the state, durably; return what it is stored under, which may differ."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise LockLost if others are no longer excluded."""

    def fetch_journal(self) -> bytes:
        """Return the journal that is stored beside the state; none when there is none."""
        return b""

    def store_journal(self, data: bytes) -> None:
        """Replace the journal that is stored beside the state; without bytes, remove it."""

    def fetch_unresolved(self) -> None:
        """Bring the list of unresolved calls here, where it is stored beside the state."""

    def store_unresolved(self) -> None:
        """Store the list of unresolved calls beside the state."""

    def close(self) -> None:
        """Let others in."""
        raise NotImplementedError


class Unreadable(Backend):
    """Replaces a backend that cannot be set up; opening it or reading its state raises why."""

    def __init__(self, name: str, problem: UserError) -> None:
        super().__init__(name, Path(".unreadable"))
        self._problem = problem

    def open(self) -> None:
        """Raise the problem."""
        raise self._problem

    def read(self) -> bytes:
        """Raise the problem."""
        raise self._problem
