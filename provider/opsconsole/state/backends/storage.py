"""What a kind of backend does: read, write, lock, unlock, and say who holds the lock.

A storage holds one state of one workspace. It has no journal and no pace: `storage_backend` has
them. Every lower library's exception becomes a `UserError` in the storage's own module.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from opsconsole.errors import UserError
from opsconsole.state.lock import LockInfo

DEFAULT = "default"


class Companion(StrEnum):
    """What is stored beside a state, where the backend can hold further objects."""

    JOURNAL = "opsconsole-journal"
    UNRESOLVED = "opsconsole-unresolved"


class LockHeld(UserError):
    """Somebody else holds the lock; `holder` is None where the backend does not say who."""

    def __init__(self, name: str, holder: LockInfo | None) -> None:
        who = str(holder) if holder else "someone whom the backend does not name"
        unlock = f"`opsconsole force-unlock {holder.id}`" if holder else "`opsconsole force-unlock`"
        super().__init__(
            f"The state {name} is locked by {who}.",
            "Wait for it to end, or give -lock-timeout=DURATION to wait for it here."
            f" If that run is gone, release its lock with {unlock}.",
        )
        self.holder = holder


class LockLost(UserError):
    """This run no longer holds the state: it may begin no request and write nothing any more."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"This run has lost the lock of the state {name}: {why}. The state is as others left"
            " it, and nothing more is written to it.",
            "Find out who released the lock. Then run again in this directory: what this run did"
            " is in its journal, and the next run takes it in.",
        )


class Storage(Protocol):
    """One state in one backend.

    `read` and `write` remember which version was last seen; a write over another version is
    refused. All methods may be called from any thread, but `read`, `write`, `lock` and `unlock`
    never overlap each other.

    Attributes:
        name: What to call the state in messages, such as `s3://bucket/key`.
        identity: What tells it from every other state of this kind, without credentials.
        lockable: Whether the settings name a lock at all.
        keeps_companions: Whether `read_companion` and `write_companion` work.
    """

    name: str
    identity: str
    lockable: bool
    keeps_companions: bool

    def read(self) -> bytes:
        """Return the state's bytes; none when there is no state.

        Raises:
            UserError: The backend cannot be reached, or refuses.
        """

    def write(self, data: bytes) -> None:
        """Replace the state, if this run still holds the lock and nobody else wrote.

        Raises:
            LockLost: The lock is no longer held, or someone else wrote; nothing was overwritten.
            UserError: It cannot be written.
        """

    def lock(self, info: LockInfo) -> None:
        """Take the lock, without waiting.

        Raises:
            LockHeld: Somebody else holds it.
            UserError: The backend cannot be reached, or refuses.
        """

    def unlock(self) -> None:
        """Release the lock that this storage holds; one that was lost is left alone.

        Raises:
            UserError: It cannot be released.
        """

    def check_lock(self) -> None:
        """Do nothing while the lock is held.

        Raises:
            LockLost: It is no longer held.
            UserError: The backend cannot be reached.
        """

    def force_unlock(self, lock_id: str) -> None:
        """Release the lock of this ID, whoever holds it.

        Raises:
            UserError: There is no lock of this ID.
        """

    def holder(self) -> LockInfo | None:
        """Return who holds the lock, as far as the backend tells; None when it is free."""

    def read_companion(self, which: Companion) -> bytes:
        """Return what is stored beside the state; none when there is nothing."""

    def write_companion(self, which: Companion, data: bytes) -> None:
        """Replace what is stored beside the state; without bytes, remove it."""

    def workspaces(self) -> list[str]:
        """Return the names of all workspaces: `default` first, then sorted."""

    def delete(self) -> None:
        """Delete the state of this workspace, its lock and its companions."""

    def close(self) -> None:
        """Close the connections. A later call opens them again."""


def no_such_lock(name: str, wanted: str, found: LockInfo | None) -> UserError:
    """Say that a lock cannot be released by force because its ID is not the given one."""
    if found is None:
        return UserError(f"The state {name} is not locked.", "There is nothing to release.")
    return UserError(
        f"The state {name} is locked by {found}: the ID {wanted} is not that of the lock.",
        f"If that run is gone, give its ID: `opsconsole force-unlock {found.id}`.",
    )
