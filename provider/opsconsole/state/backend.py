"""The interface of a backend, and the local backend.

The local backend is one state file, locked, read and rewritten in place through one descriptor. It
is never replaced by rename: a Terraform that waits for the lock holds the old file open and would
write to that file.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final, NamedTuple, Never

from opsconsole.errors import UserError
from opsconsole.local_terraform import journal_of
from opsconsole.state.files import (
    NOT_OPEN,
    check_regular,
    is_file,
    is_mount_point,
    put_in_place,
    read_all,
    read_file,
    removed_error,
    replace_durably,
    reserve_room,
    sync_directory,
    write_at,
)
from opsconsole.state.lock import (
    LockInfo,
    Locking,
    info_file,
    is_locked,
    lock_file,
    release_file,
    remove_unwritten,
)
from opsconsole.text import first_items
from opsconsole.user_files import check_no_device, file_errors


class RunOptions(NamedTuple):
    """The command of a run, and its options.

    Attributes:
        directory: The working directory, in which Terraform would run.
        command: Such as `plan` or `apply`, shown to other runs that wait for the lock.
        journal_folder: The folder for the journal of a remote state; None is the working directory.
        journal: The journal that the user named (`--journal`), for local and remote states.
        checks_place: Whether the state must be where the last run in `directory` wrote it.
    """

    directory: Path = Path()
    command: str = "apply"
    locking: Locking = Locking()
    journal_folder: Path | None = None
    journal: Path | None = None
    checks_place: bool = False


DEFAULT_OPTIONS: Final = RunOptions()


class Backend:
    """The storage of one state, from `open` to `close`.

    By default, nobody can take the lock away, a write replaces the state completely or not at all,
    and the journal is on this machine only. Subclasses may differ. Every method raises a
    `UserError` if the storage cannot be reached or refuses the operation.

    Attributes:
        journal: The path of the run's journal.
        backup: Where `back_up` copies the state; None if the storage keeps earlier versions itself.
        name: The name in messages.
        keeps_journal: Whether a copy of the journal is stored beside the state.
        embeds_journal: Whether each write stores the rest of the journal within the state's own
            document, because nothing can be stored beside the state.
    """

    backup: Path | None = None
    keeps_journal = False
    embeds_journal = False

    def __init__(self, name: str, marker: Path, options: RunOptions) -> None:
        """Put the journal beside `marker`, unless the user named a journal.

        Raises:
            UserError: The journal is not a regular file.
        """
        self.name = name
        self._command, self._locking = options.command, options.locking
        named = options.journal
        self.journal = journal_of(marker) if named is None else Path(os.path.realpath(named))
        check_regular(self.journal, "journal", "Name a file with --journal=FILE.")

    def open(self) -> None:
        """Take the lock."""
        raise NotImplementedError

    def read(self) -> bytes:
        """Return the state's bytes; empty if there is no state yet."""
        raise NotImplementedError

    def back_up(self) -> None:
        """Copy the state durably to `backup`, if there is one."""

    def write(self, data: bytes, journal: bytes = b"") -> tuple[str, int] | None:
        """Replace the state durably.

        Args:
            journal: The rest of the journal, if the document embeds it.

        Returns:
            The lineage and the serial that were stored, or None if `data` has the same.
        """
        raise NotImplementedError

    def check_same_file(self) -> None:
        """Raise UserError if the state's file no longer has its name. Sends no request."""

    def is_gone(self) -> bool:
        return False

    def restore_hint(self, rescued: Path) -> str:
        """Return the instruction to put a state back that was saved to another file."""
        return f"Before the next run, put it back: `opsconsole state push {rescued}`."

    def read_with_journal(self) -> tuple[bytes, bytes]:
        """Return the state's bytes and the journal that is stored with the state."""
        return self.read(), b""

    def store_journal(self, data: bytes) -> None:
        """Replace the journal that is stored beside the state, or remove it if `data` is empty.

        Raises:
            LockLost: This run no longer holds the lock. Nothing was stored.
        """

    def read_copy(self) -> bytes:
        """Return the copy made before an interrupted write, if the state is rewritten in place."""
        return b""

    def finish_write(self) -> None:
        """Make the state durable and remove the copy. A run that died may have done neither."""

    def close(self) -> None:
        """Release the lock."""
        raise NotImplementedError

    def unlocked_reason(self) -> str:
        """Return why the lock cannot be held for a whole run; empty if it can."""
        return ""

    def check_force_unlock(self, lock_id: str) -> None:
        """Raise UserError if the backend's locks cannot be released by force."""

    def force_unlock(self, lock_id: str) -> None:
        """Release the lock with this ID, whoever holds it."""
        raise NotImplementedError

    def workspaces(self) -> list[str]:
        """Return the names of all workspaces: `default` first, then sorted."""
        raise NotImplementedError

    def delete(self) -> None:
        """Delete this workspace's state, lock and journal. The state must be open."""
        raise NotImplementedError


class UnreadableBackend(Backend):
    """Replaces a backend that cannot be set up; `open` and `read` raise the reason."""

    def __init__(self, name: str, problem: UserError) -> None:
        super().__init__(name, Path(".unreadable"), DEFAULT_OPTIONS)
        self._problem = problem

    def open(self) -> Never:
        raise self._problem

    read = open


DEFAULT_WORKSPACE = "default"
_AS_IT_WAS = "The state is as it was."


Stamp = tuple[int, int, int]
"""Size, time of the last write in nanoseconds, and number of a file."""


def not_locked_error(name: str) -> UserError:
    return UserError(f"The state {name} is not locked.", "There is nothing to release.")


class LocalBackend(Backend):
    """A state file on this machine."""

    def __init__(self, path: Path, options: RunOptions = DEFAULT_OPTIONS) -> None:
        # The journal lies beside the real file, even if the state is reached through a link.
        self.path = Path(os.path.realpath(path))
        super().__init__(str(path), self.path, options)
        self._has_own_journal = options.journal is not None
        self.backup: Path = self.path.with_name(f"{self.path.name}.backup")
        self._descriptor = NOT_OPEN
        self._copy = self.path.with_name(f"{self.path.name}.opsconsole-copy")
        self._made_file = False
        self._seen: Stamp | None = None

    def open(self) -> None:
        """Lock the state.

        Raises:
            UserError: Another process holds the lock, the state is not a regular file, the file
                cannot be opened, or it has a second name, beside which another run would look for
                the journal.
        """
        with file_errors("look at", self.path, _AS_IT_WAS):
            self._check_place()
        if self._locking.lock:
            with file_errors("lock", self.path, _AS_IT_WAS):
                self._descriptor = lock_file(
                    self.path, self._command, self._open_for_writing, self._locking
                )
            return
        # The journal needs the directory before the first write makes it.
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True)

    def read(self) -> bytes:
        with file_errors("read", self.path, _AS_IT_WAS):
            if self._descriptor != NOT_OPEN:
                return self._read_open(self._descriptor)
            try:
                with self.path.open("rb", buffering=0) as file:
                    return self._read_open(file.fileno())
            except FileNotFoundError:
                return b""

    def back_up(self) -> None:
        """Copy the state file durably to its backup, as Terraform does before the first change."""
        with file_errors("read", self.path, _AS_IT_WAS):
            self._check_untouched()
            before = read_all(self._descriptor)
        if before:
            replace_durably(self.backup, before)

    def write(self, data: bytes, journal: bytes = b"") -> None:
        """Make a durable copy of the new state, then rewrite the state in place, durably.

        Raises:
            UserError: Another process wrote the state meanwhile, or the disk is full: the state is
                unchanged. Or the disk failed: the next run uses the copy.
        """
        with file_errors("read", self.path, _AS_IT_WAS):
            self._check_untouched()
            size = os.fstat(self._descriptor).st_size
        with file_errors("write", self.path, _AS_IT_WAS):
            # The copy is durable first, so a crash leaves one of the two intact.
            os.close(put_in_place(self._copy, data))
            sync_directory(self.path.parent)
            try:
                # Reserve room first, so a full disk leaves the state unchanged.
                if len(data) > size:
                    reserve_room(self._descriptor, size, len(data) - size)
            except OSError:
                # The call may have enlarged the file before it failed.
                os.ftruncate(self._descriptor, size)
                self._seen = _stamp(self._descriptor)
                self._remove_copy()
                raise
        outcome = f"It is whole in {self._copy}: the next run puts it in its place."
        try:
            with file_errors("write", self.path, outcome):
                os.ftruncate(self._descriptor, write_at(self._descriptor, data, 0))
                self.finish_write()
        finally:
            # Also after an error: the file's content is now this run's own, not another process's.
            self._seen = _stamp(self._descriptor)

    def read_copy(self) -> bytes:
        return read_file(self._copy)

    def finish_write(self) -> None:
        if self._descriptor != NOT_OPEN:
            os.fsync(self._descriptor)
        self._remove_copy()

    def _remove_copy(self) -> None:
        # A remaining copy does no harm, because no journal names it.
        with contextlib.suppress(OSError):
            self._copy.unlink()

    def check_same_file(self) -> None:
        if not self._is_named():
            is_gone = not os.path.lexists(self.path)
            raise removed_error("state", self.path) if is_gone else self._written_by_other()

    def is_gone(self) -> bool:
        return not self._is_named() and not os.path.lexists(self.path)

    def restore_hint(self, rescued: Path) -> str:
        if self._is_named() or self.is_gone():
            return f"Before the next run, put it back: `mv {rescued} {self.path}`."
        return f"Compare it with {self.path}, which is another file now, and keep one of them."

    def check_force_unlock(self, lock_id: str) -> None:
        with file_errors("look at", self.path, ""):
            if not is_locked(self.path):
                raise not_locked_error(self.name)
        holder = LockInfo.read(info_file(self.path))
        who = f" It is held by {holder}." if holder else ""
        raise UserError(
            f"The lock of the file {self.path} belongs to a process of this machine and ends with"
            f" it.{who}",
            "End that process.",
        )

    def workspaces(self) -> list[str]:
        # Every caller asks the backend of a workspace other than `default`.
        folders = self.path.parent.parent.glob("*/")
        return [DEFAULT_WORKSPACE, *sorted(item.name for item in folders if item.is_dir())]

    def delete(self) -> None:
        beside = self.path.parent.glob(f"{self.path.name}.*")
        own = {info_file(self.path), *(item for item in beside if not item.is_dir())}
        others = {*self.path.parent.iterdir()} - {*own, self.path}
        if others:
            raise UserError(
                f"{self.path.parent} holds more than the state: "
                f"{first_items(sorted(item.name for item in others))}. Nothing was deleted.",
                "Move it away, then delete the workspace again.",
            )
        # The state goes last: once its name is free, another run may begin beside it.
        for file in (*own, self.path):
            file.unlink(missing_ok=True)
        self.path.parent.rmdir()

    def close(self) -> None:
        """Release the lock and close the file; remove a file that was created and never written."""
        if self._descriptor == NOT_OPEN:
            return
        descriptor, self._descriptor = self._descriptor, NOT_OPEN
        try:
            if self._made_file and is_file(descriptor, self.path) and not self.journal.exists():
                remove_unwritten(self.path, descriptor)
        finally:
            if self._locking.lock:
                release_file(self.path, descriptor)
            else:
                os.close(descriptor)

    def _check_place(self) -> None:
        """Raise UserError if another path leads to the state, and so to another journal."""
        remedy = "Name a file with --state=PATH, or as the `path` of the backend."
        status = check_regular(self.path, "state", remedy)
        if status is None or self._has_own_journal:
            return
        if status.st_nlink > 1:
            why = "it has a second name (a hard link)"
        elif is_mount_point(self.path):
            why = "the file itself is mounted there from elsewhere"
        else:
            return
        raise UserError(
            f"The state {self.path} can be reached by another path: {why}. A run that reaches it"
            " there would not find the journal of this one.",
            "Give one journal to every run on it, whatever the path: --journal=FILE.",
        )

    def _open_for_writing(self) -> int:
        with file_errors("open", self.path, _AS_IT_WAS):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                # O_EXCL tells whether this run created the file; only then may `close` remove it.
                # If the file exists, it may be gone by the next call, so that call may create it
                # too.
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                return os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            self._made_file = True
            return descriptor

    def _read_open(self, descriptor: int) -> bytes:
        check_no_device(descriptor)
        self._seen = _stamp(descriptor)
        return read_all(descriptor)

    def _check_untouched(self) -> None:
        if self._descriptor == NOT_OPEN:
            self._descriptor = self._open_for_writing()
        self.check_same_file()
        now = _stamp(self._descriptor)
        # Without a stamp, `read` found no state: this run's new file must still be empty.
        if now != (self._seen or (0, *now[1:])):
            raise self._written_by_other()

    def _is_named(self) -> bool:
        return self._descriptor == NOT_OPEN or is_file(self._descriptor, self.path)

    def _written_by_other(self) -> UserError:
        return UserError(
            f"The state {self.path} was written by someone else since it was read.",
            "It is as they left it. Run again: what was done here is kept in the journal.",
        )


def _stamp(descriptor: int) -> Stamp:
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns, status.st_ino
