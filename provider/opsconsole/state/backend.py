"""What a session asks of the place where a state is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol


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
    """

    journal: Path
    unresolved: Path
    backup: Path | None
    name: str

    def open(self) -> None:
        """Exclude others."""

    def read(self) -> bytes:
        """Return the state's bytes; none when there is no state yet."""

    def back_up(self) -> None:
        """Copy the state to `backup`, durably."""

    def write(self, pieces: Sequence[str], meta: SnapshotMeta) -> SnapshotMeta:
        """Replace the state, durably; return what it is stored under, which may differ."""

    def close(self) -> None:
        """Let others in."""
