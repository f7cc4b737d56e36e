"""What a session asks of the place where a state is kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from opsconsole.errors import UserError


class SnapshotMeta(NamedTuple):
    """What tells one snapshot of a state from the others, as Terraform keeps it."""

    lineage: str
    serial: int


class Backend(Protocol):
    """A place for one state: a `LocalBackend` or a `RemoteBackend`, from `open` to `close`.

    Attributes:
        journal: Where the journal of a run on it lies.
        unresolved: Where its calls of unknown outcome are listed.
        backup: Where `back_up` copies it; None where a write replaces it whole or not at all.
        name: What to call it in messages.
        keeps_companions: Whether the journal and the unresolved calls are stored beside it too.
        shows_creates: Whether the stored state shows each create before it is sent, because nothing
            can be stored beside it.
    """

    journal: Path
    unresolved: Path
    backup: Path | None
    name: str
    keeps_companions: bool
    shows_creates: bool

    def open(self) -> None:
        """Exclude others."""

    def read(self) -> bytes:
        """Return the state's bytes; none when there is no state yet."""

    def back_up(self) -> None:
        """Copy the state to `backup`, durably."""

    def write(self, pieces: Sequence[str], meta: SnapshotMeta) -> SnapshotMeta:
        """Replace the state, durably; return what it is stored under, which may differ."""

    def check(self) -> None:
        """Do nothing while others are excluded; raise LockLost."""

    def fetch_journal(self) -> bytes:
        """Return the journal that is stored beside the state; none when there is none."""

    def store_journal(self, data: bytes) -> None:
        """Replace the journal that is stored beside the state; without bytes, remove it."""

    def fetch_unresolved(self) -> None:
        """Bring the list of unresolved calls here, where it is stored beside the state."""

    def store_unresolved(self) -> None:
        """Store the list of unresolved calls beside the state."""

    def close(self) -> None:
        """Let others in."""


class NoCompanions:
    """For a backend whose journal lies on this machine only."""

    keeps_companions = False
    shows_creates = False

    def check(self) -> None:
        """Do nothing: nobody takes this lock away."""

    def fetch_journal(self) -> bytes:
        """Return nothing: the journal lies beside the state already."""
        return b""

    def store_journal(self, data: bytes) -> None:
        """Do nothing: the journal lies beside the state already."""

    def fetch_unresolved(self) -> None:
        """Do nothing: the list lies beside the state already."""

    def store_unresolved(self) -> None:
        """Do nothing: the list lies beside the state already."""


class Unreadable(NoCompanions):
    """Replaces a backend that cannot be set up; reading its state raises the reason."""

    def __init__(self, name: str, problem: UserError) -> None:
        self.journal = self.unresolved = Path(os.curdir) / ".no-journal"
        self.backup: Path | None = None
        self.name = name
        self._problem = problem

    def open(self) -> None:
        """Raise the problem."""
        raise self._problem

    def read(self) -> bytes:
        """Raise the problem."""
        raise self._problem

    def back_up(self) -> None:
        """Do nothing."""

    def write(self, pieces: Sequence[str], meta: SnapshotMeta) -> SnapshotMeta:
        """Raise the problem."""
        raise self._problem

    def close(self) -> None:
        """Do nothing."""
