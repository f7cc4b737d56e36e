"""The place of a state, as a session uses it; the local backend; and the note of the place where
a state was last written (`LastPlace`).

The local backend is one state file, locked, read and rewritten in place through one descriptor. It
is never rewritten by rename: a Terraform that waits for the lock holds the old file open and would
write there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from opsconsole.errors import UserError
from opsconsole.journal_files import data_directory, journal_of
from opsconsole.named_files import check_no_device, file_error
from opsconsole.phrases import plural
from opsconsole.state.lock import (
    DEFAULT_LOCKING,
    LockInfo,
    Locking,
    info_file,
    is_file,
    lock_file,
    release_file,
    remove_unwritten,
)
from opsconsole.state.model import State


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
        backup: Where `back_up` copies it; None where the place keeps earlier versions itself.
        name: What to call it in messages.
        keeps_journal: Whether a copy of the journal is stored beside it.
        embeds_journal: Whether each write stores the rest of the journal within the state's own
            document, because nothing can be stored beside it.
    """

    backup: Path | None = None
    keeps_journal = False
    embeds_journal = False

    def __init__(self, name: str, marker: Path, journal: Path | None = None) -> None:
        """Set the place of the journal: beside `marker`.

        Args:
            journal: The journal's own file, where the user named one (`--journal`).

        Raises:
            UserError: It is no file.
        """
        self.name = name
        self.journal = journal_of(marker) if journal is None else Path(os.path.realpath(journal))
        check_regular(self.journal, "journal", "Name a file with --journal=FILE.")

    def open(self) -> None:
        """Exclude others."""
        raise NotImplementedError

    def read(self) -> bytes:
        """Return the state's bytes; none when there is no state yet."""
        raise NotImplementedError

    def back_up(self) -> None:
        """Copy the state to `backup`, durably, where there is one."""

    def write(self, data: bytes, meta: SnapshotMeta, journal: bytes = b"") -> SnapshotMeta:
        """Replace the state, durably; return what it is stored under, which may differ.

        Args:
            journal: The rest of the journal, if the document embeds it.
        """
        raise NotImplementedError

    def check_lock(self) -> None:
        """Raise LockLost if others are no longer excluded."""

    def check_name(self) -> None:
        """Raise a UserError if the state's file no longer has its name. Costs no request."""

    def is_gone(self) -> bool:
        """Return whether there is no file at the place of the state any more."""
        return False

    def way_back(self, rescued: Path) -> str:
        """Say how a state that was kept in another file gets back to its place."""
        return f"Before the next run, put it back: `opsconsole state push {rescued}`."

    def read_with_journal(self) -> tuple[bytes, bytes]:
        """Return the state's bytes, and the journal that is stored with it."""
        return self.read(), b""

    def store_journal(self, data: bytes) -> None:
        """Replace the journal that is stored beside the state; without bytes, remove it.

        Raises:
            LockLost: This run no longer holds the lock. Nothing was stored.
        """

    def read_copy(self) -> bytes:
        """Return the copy of a write that was cut off, where the state is rewritten in place."""
        return b""

    def finish_write(self) -> None:
        """Make the state durable, and remove that copy: a run that died may have done neither."""

    def close(self) -> None:
        """Let others in."""
        raise NotImplementedError

    def why_unlocked(self) -> str:
        """Return why its lock cannot be held for a whole run; empty: it can."""
        return ""

    def check_force_unlock(self, lock_id: str) -> None:
        """Raise a UserError if no lock of it can be released by force."""

    def force_unlock(self, lock_id: str) -> None:
        """Release the lock of this ID, whoever holds it."""
        raise NotImplementedError

    def workspaces(self) -> list[str]:
        """Return the names of all workspaces: `default` first, then sorted."""
        raise NotImplementedError

    def delete(self) -> None:
        """Delete the state of this workspace, its lock and its journal; it is not open."""
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


DEFAULT_WORKSPACE = "default"
_AS_IT_WAS = "The state is as it was."


def workspace_of(directory: Path) -> str:
    """Return the workspace that is selected in a working directory, as Terraform finds it."""
    chosen = os.environ.get("TF_WORKSPACE")
    try:
        noted = (data_directory(directory) / "environment").read_text().strip()
        return chosen or noted or DEFAULT_WORKSPACE
    except FileNotFoundError:
        return chosen or DEFAULT_WORKSPACE


def local_path(directory: Path, settings: Mapping[str, Any], workspace: str) -> Path:
    """Return where a local backend keeps its state.

    Args:
        settings: The backend's block: `path`, `workspace_dir`; both optional.
    """
    if workspace == DEFAULT_WORKSPACE:
        return directory / (settings.get("path") or "terraform.tfstate")
    folder = directory / (settings.get("workspace_dir") or "terraform.tfstate.d")
    return folder / workspace / "terraform.tfstate"


Stamp = tuple[int, int, int]
"""Size, time of the last write in nanoseconds, and number of a file."""


class LocalBackend(Backend):
    """A state file on this machine, from `open` to `close`."""

    def __init__(
        self,
        path: Path,
        operation: str = "apply",
        locking: Locking = DEFAULT_LOCKING,
        journal: Path | None = None,
    ) -> None:
        # However the state is reached, its journal lies beside the file that it is.
        self.path = Path(os.path.realpath(path))
        super().__init__(str(path), self.path, journal)
        self._has_own_journal = journal is not None
        self._backup = self.path.with_name(f"{self.path.name}.backup")
        self.backup = self._backup
        self._operation = operation
        self._locking = locking
        self._descriptor = -1
        self._copy = self.path.with_name(f"{self.path.name}.opsconsole-copy")
        self._made_file = False
        self._seen: Stamp | None = None

    def open(self) -> None:
        """Lock the state.

        Raises:
            UserError: Another holds it, it is no file, it has another name beside which another
                run would look for the journal, or it cannot be opened.
        """
        with self._translate_errors("look at"):
            self._check_place()
        if self._locking.lock:
            with self._translate_errors("lock"):
                self._descriptor = lock_file(
                    self.path, self._operation, self._open_for_writing, self._locking
                )

    def read(self) -> bytes:
        """Return the state file's bytes; none when there is no file.

        Raises:
            UserError: It cannot be read.
        """
        with self._translate_errors("read"):
            if self._descriptor >= 0:
                return self._read_open(self._descriptor)
            try:
                with self.path.open("rb", buffering=0) as file:
                    return self._read_open(file.fileno())
            except FileNotFoundError:
                return b""

    def back_up(self) -> None:
        """Copy the state file to its backup, as Terraform does before the first change; durable.

        Raises:
            UserError: It cannot be written; the state, and the backup before it, are as they were.
        """
        with self._translate_errors("read"):
            self._check_untouched()
            before = read_all(self._descriptor)
        if before:
            replace_durably(self._backup, before)

    def write(self, data: bytes, meta: SnapshotMeta, journal: bytes = b"") -> SnapshotMeta:
        """Rewrite the state in place, durably, once a copy is.

        Raises:
            UserError: Another wrote it meanwhile, or there is no room, and it is as it was; or the
                disk failed, and the next run takes the copy.
        """
        with self._translate_errors("read"):
            self._check_untouched()
            size = os.fstat(self._descriptor).st_size
        with self._translate_errors("write"):
            # Durable before the state is touched, so that a crash leaves one of the two whole.
            os.close(put_in_place(self._copy, data))
            sync_directory(self.path.parent)
            try:
                # Room is reserved before the first byte is overwritten, so that a full disk leaves
                # the state as it is.
                if len(data) > size:
                    os.posix_fallocate(self._descriptor, size, len(data) - size)
            except OSError:
                # The call may have enlarged the file before it failed.
                os.ftruncate(self._descriptor, size)
                self._remove_copy()
                raise
        try:
            os.ftruncate(self._descriptor, write_at(self._descriptor, data, 0))
            self.finish_write()
        except OSError as error:
            outcome = f"It is whole in {self._copy}: the next run puts it in its place."
            raise file_error("write", self.path, error, outcome) from error
        finally:
            # Also after an error: what is in the file then is of this run, and not of someone else.
            self._seen = _stamp(self._descriptor)
        return meta

    def read_copy(self) -> bytes:
        """Return the copy of a write that was cut off; none when there is none.

        Raises:
            UserError: It cannot be read.
        """
        return read_file(self._copy)

    def finish_write(self) -> None:
        """Make the state durable, and remove that copy: a run that died may have done neither.

        Raises:
            OSError: The disk failed.
        """
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
        self._remove_copy()

    def _remove_copy(self) -> None:
        """Remove the copy, if that can be done."""
        # A copy that stays does no harm: no journal names it.
        with contextlib.suppress(OSError):
            self._copy.unlink()

    def check_name(self) -> None:
        """Check that the open file still has its name.

        Raises:
            UserError: It has not: nothing that is written to it can be found again.
        """
        if self.is_gone():
            raise removed_error("state", self.path)
        if not self._is_named():
            raise self._written_by_other()

    def is_gone(self) -> bool:
        """Return whether there is no file of its name any more."""
        return not self._is_named() and not os.path.lexists(self.path)

    def way_back(self, rescued: Path) -> str:
        """Say how a state that was kept in another file gets back to its place."""
        if self._is_named() or self.is_gone():
            return f"Before the next run, put it back: `mv {rescued} {self.path}`."
        return f"Compare it with {self.path}, which is another file now, and keep one of them."

    def check_force_unlock(self, lock_id: str) -> None:
        """Refuse to release its lock, which ends with the process that holds it.

        Raises:
            UserError: Always; it names the holder.
        """
        holder = LockInfo.read(info_file(self.path))
        who = f" It is held by {holder}." if holder else ""
        raise UserError(
            f"The lock of the file {self.path} belongs to a process of this machine and ends with"
            f" it.{who}",
            "End that process.",
        )

    def workspaces(self) -> list[str]:
        """Return the names of all workspaces; the path is that of any but the default one."""
        found = self.path.parent.parent.glob("*/")
        return [DEFAULT_WORKSPACE, *sorted(item.name for item in found if item.is_dir())]

    def delete(self) -> None:
        """Delete the state file of a workspace, the files beside it, and their folder."""
        self.path.unlink(missing_ok=True)
        for file in self.path.parent.glob(f"{self.path.name}.*"):
            file.unlink()
        self.path.parent.rmdir()

    def close(self) -> None:
        """Release the lock and the file. One that this run made and never wrote goes."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            if self._made_file and is_file(descriptor, self.path) and not self.journal.exists():
                remove_unwritten(self.path, descriptor)
        finally:
            if self._locking.lock:
                release_file(self.path, descriptor)
            else:
                os.close(descriptor)

    def _check_place(self) -> None:
        """Check that the state is a file that has one name, unless its journal has a fixed place.

        Raises:
            UserError: It is not.
        """
        remedy = "Name a file with --state=PATH, or as the `path` of the backend."
        found = check_regular(self.path, "state", remedy)
        if found is None or self._has_own_journal:
            return
        if found.st_nlink > 1:
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

    @contextlib.contextmanager
    def _translate_errors(self, action: str) -> Iterator[None]:
        """Turn an error of the system into a UserError. The state is unchanged."""
        try:
            yield
        except OSError as error:
            raise file_error(action, self.path, error, _AS_IT_WAS) from error

    def _open_for_writing(self) -> int:
        with self._translate_errors("open"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                # O_EXCL tells whether this run made the file: only then may `close` remove it.
                # Where it is refused, the file may be gone again at the next call, which therefore
                # creates it too.
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
        if self._descriptor < 0:
            self._descriptor = self._open_for_writing()
        self.check_name()
        now = _stamp(self._descriptor)
        # Without a lock there is no stamp of a state that `read` did not find: the file made just
        # now must be empty.
        if now != (self._seen or (0, *now[1:])):
            raise self._written_by_other()

    def _is_named(self) -> bool:
        return self._descriptor < 0 or is_file(self._descriptor, self.path)

    def _written_by_other(self) -> UserError:
        return UserError(
            f"The state {self.path} was written by someone else since it was read.",
            "It is as they left it. Run again: what was done here is kept in the journal.",
        )


def check_regular(path: Path, what: str, remedy: str) -> os.stat_result | None:
    """Return the status of a file; None: there is no file of that name.

    Raises:
        UserError: It is a directory, a device, a pipe or a socket.
    """
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise UserError(f"The {what} {path} is not a regular file. Nothing was changed.", remedy)
    return found


_MOUNTS: Final = Path("/proc/self/mountinfo")


def is_mount_point(path: Path) -> bool:
    """Return whether something is mounted on exactly this path, as far as the system tells."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return False
    wanted = os.fsencode(path)
    return any(_unescape(line.split(b" ")[4]) == wanted for line in lines)


def _unescape(name: bytes) -> bytes:
    """Return a name of the mount table, where spaces and the like are octal numbers."""
    return re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), name)


def removed_error(what: str, path: Path) -> UserError:
    """Say that a file of this run lost its name: no request may be sent any more."""
    return UserError(
        f"The {what} {path} was removed or moved while this run used it. No further request is"
        " sent.",
        "Let nothing clear that directory while a run is in progress.",
    )


def _stamp(descriptor: int) -> Stamp:
    found = os.fstat(descriptor)
    return found.st_size, found.st_mtime_ns, found.st_ino


def read_all(descriptor: int) -> bytes:
    """Read a whole file through its open descriptor, from the beginning."""
    # Not through a second descriptor: closing that would drop a POSIX lock on the file.
    pieces = []
    at = 0
    while piece := os.pread(descriptor, 1 << 24, at):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


def read_file(path: Path) -> bytes:
    """Return the content of a file; empty if there is no file.

    Raises:
        UserError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise file_error("read", path, error, "Nothing was changed.") from error


def write_at(descriptor: int, data: bytes, at: int) -> int:
    """Write all of `data` at a place of an open file; return the place behind it."""
    view = memoryview(data)
    while view:
        count = os.pwrite(descriptor, view, at)
        at, view = at + count, view[count:]
    return at


def replace_durably(path: Path, content: bytes) -> None:
    """Put a file in place of another by rename, so that either the old or the new one is there.

    Not for state files: the docstring of this module says why.

    Raises:
        UserError: It cannot be written; the file is unchanged.
    """
    try:
        os.close(put_in_place(path, content))
        sync_directory(path.parent)
    except OSError as error:
        raise file_error("write", path, error, "The file is as it was.") from error


def put_in_place(
    path: Path, content: bytes, prepare: Callable[[int], None] = lambda descriptor: None
) -> int:
    """Put a file in place of another by rename; return its descriptor.

    Its content is durable, its name is not before the directory is synced.

    Args:
        prepare: Is called with the descriptor, before anything is written.

    Raises:
        OSError: It cannot be written; the file is unchanged.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        # A draft that an earlier process left under this name keeps its own mode.
        os.fchmod(descriptor, 0o600)
        prepare(descriptor)
        write_at(descriptor, content, 0)
        os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    return descriptor


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_NOTE_FILE: Final = "opsconsole-backend.json"


_NOTE_VERSION: Final = 1


class LastPlace:
    """The note of where the state of one workspace was last written, in its working directory.

    Args:
        name: What to call the place in messages.
        identity: What tells the place from all others; only its digest is noted.
    """

    def __init__(
        self, directory: Path, workspace: str, kind: str, name: str = "", identity: str = ""
    ) -> None:
        self._directory = directory
        self._file = data_directory(directory) / _NOTE_FILE
        self._workspace = workspace
        digest = hashlib.sha256(identity.encode()).hexdigest()
        self._here = {"type": kind, "name": name, "digest": digest}
        self._noted = False

    def check(self) -> None:
        """Check that the state was at this place at the last run, if a place is noted.

        Raises:
            UserError: It was elsewhere.
        """
        before = self._places().get(self._workspace)
        if not before or all(before.get(key) == self._here[key] for key in ("type", "digest")):
            return
        now = self._here["name"] or f"the {self._here['type']} backend"
        raise UserError(
            f"The backend of {self._directory} changed since the last run: the state was written to"
            f" {before.get('name')} ({before.get('type')}), and the program names {now}"
            f" ({self._here['type']}).",
            "Name the earlier place again, or move the state with `opsconsole-terraform init"
            f" -migrate-state`. If it is at the new place already, remove {self._file}.",
        )

    def note(self) -> None:
        """Note this place, after the first write of a run."""
        if self._noted:
            return
        self._noted = True
        places = {**self._places(), self._workspace: self._here}
        content = json.dumps({"version": _NOTE_VERSION, "places": places}, indent=2).encode()
        # The state is written. A run does not fail because its place cannot be noted.
        with contextlib.suppress(UserError, OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            replace_durably(self._file, content)

    def check_nothing_here(self) -> None:
        """Check, for a place that is empty, that no state with resources is here.

        Raises:
            UserError: There is one: the program would be planned as if nothing existed.
        """
        for path in self._local_states():
            if not path.is_file():
                continue
            found = State.parse(path.read_bytes(), str(path))
            if not found.empty:
                own = self._directory / "terraform.tfstate"
                first = "" if path == own else f"copy it to {own}, then "
                raise UserError(
                    f"There is no state in {self._here['name']}, and a state with"
                    f" {plural(len(found), 'object')} is in {path}.",
                    f"To go on with it, {first}run `opsconsole-terraform init -migrate-state` in"
                    f" {self._directory}. If it is of another program, move it away.",
                )

    def _local_states(self) -> Iterator[Path]:
        """Yield where the default backends of Terraform and of cdktf keep a state."""
        yield local_path(self._directory, {}, self._workspace)
        where = self._directory.absolute()
        # cdktf runs in cdktf.out/stacks/NAME, and its local backend keeps the state beside
        # cdktf.json.
        if where.parent.name == "stacks":
            yield where.parents[2] / f"terraform.{where.name}.tfstate"

    def _places(self) -> dict[str, Any]:
        try:
            found = json.loads(self._file.read_bytes())["places"]
        except (OSError, ValueError, LookupError, TypeError):
            return {}
        return {key: item for key, item in dict(found).items() if isinstance(item, dict)}
