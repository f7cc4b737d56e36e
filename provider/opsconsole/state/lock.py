"""Terraform's lock of a local state: an fcntl lock, and a file beside it that names its holder.

Both engines take the same lock, so they exclude each other. Nothing here reads or writes state.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import getpass
import itertools
import json
import os
import re
import signal
import socket
import struct
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from opsconsole import __version__
from opsconsole.clock import timestamp, utc_now
from opsconsole.errors import TryLater
from opsconsole.state.files import is_file
from opsconsole.user_files import file_error

_POLL = (0.1, 0.2, 0.4, 0.8, 1.0)
# POSIX allows either error for a lock that another process holds.
_HELD = (errno.EACCES, errno.EAGAIN)
# The process ID, last, must be 0 for an open file description. `0q` pads as C does.
_OFD_REQUEST = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


class LockInfo(NamedTuple):
    """The holder of a lock: the fields of the file that Terraform writes."""

    id: str = ""
    operation: str = ""
    who: str = ""
    version: str = ""
    created: str = ""
    path: str = ""
    info: str = ""

    @classmethod
    def own(cls, command: str, path: Path | str) -> LockInfo:
        """Describe this process; `command` is such as `apply`."""
        try:
            user = getpass.getuser()
        except (OSError, KeyError):
            # In a container the user ID may have no name. Python before 3.13 then raises KeyError.
            user = str(os.getuid())
        return cls(
            id=str(uuid.uuid4()),
            operation=f"opsconsole {command}",
            who=f"{user}@{socket.gethostname()}",
            version=f"opsconsole {__version__}",
            created=timestamp(utc_now(), "microseconds"),
            path=str(path),
        )

    @classmethod
    def read(cls, file: Path) -> LockInfo | None:
        """Read a lock info file; None if there is no readable one."""
        try:
            return cls.parse(file.read_bytes())
        except OSError:
            return None

    @classmethod
    def parse(cls, data: bytes | str) -> LockInfo | None:
        """Read the JSON of a lock; None if `data` is anything else."""
        try:
            fields = json.loads(data)
            return cls(*[str(fields.get(name, "")) for name in _NAMES])
        except (ValueError, AttributeError):
            return None

    def to_json(self) -> bytes:
        return json.dumps(dict(zip(_NAMES, self, strict=True))).encode()

    def __str__(self) -> str:
        created = re.sub(r"\.\d+Z$", "Z", self.created)
        known = [self.who, self.operation, f"since {created}" if created else ""]
        lock = f" (ID {self.id})" if self.id else ""
        session = f"; {self.info}" if self.info else ""
        return f"{', '.join(filter(None, known))}{lock}{session}"


_NAMES = ("ID", "Operation", "Who", "Version", "Created", "Path", "Info")


def info_file(path: Path) -> Path:
    """Return the path of the file that names the holder of a state's lock."""
    # Terraform's name for the file, which gives a hidden state file no second dot.
    return path.with_name(f".{path.name.removeprefix('.')}.lock.info")


class Locking(NamedTuple):
    """Terraform's `-lock` and `-lock-timeout`.

    Attributes:
        lock: False takes no lock. A state that another process wrote meanwhile is still never
            overwritten.
        timeout: How many seconds to wait for another holder.
        on_wait: Called once with the holder that the run waits for.
    """

    lock: bool = True
    timeout: float = 0.0
    on_wait: Callable[[LockInfo], None] | None = None


class LockHeld(TryLater):
    """Another process holds the lock; `holder` is None if the backend does not name the holder."""

    def __init__(self, name: str, holder: LockInfo | None, remedy: str = "") -> None:
        who = str(holder) if holder else "someone whom the backend does not name"
        super().__init__(
            f"The state {name} is locked by {who}.",
            f"Wait for it to end, or give --lock-timeout=DURATION to wait for it here.{remedy}",
        )
        self.holder = holder


_Taken = TypeVar("_Taken")


def take_lock(take: Callable[[], _Taken], locking: Locking, pauses: Sequence[float]) -> _Taken:
    """Call `take` until it does not raise LockHeld, for as long as the user allows.

    The last of `pauses`, in seconds, is repeated.

    Raises:
        LockHeld: Another process still holds the lock.
    """
    deadline = time.monotonic() + locking.timeout
    waits = itertools.chain(pauses, itertools.repeat(pauses[-1]))
    reported = False
    while True:
        try:
            return take()
        except LockHeld as held:
            left = deadline - time.monotonic()
            if left <= 0:
                raise
            if locking.on_wait is not None and not reported:
                locking.on_wait(held.holder or _UNKNOWN)
                reported = True
        time.sleep(min(next(waits), left))


_UNKNOWN = LockInfo(who="a process that left no note of itself")


def lock_file(path: Path, command: str, reopen: Callable[[], int], locking: Locking) -> int:
    """Lock a state file that `reopen` opens or creates, and return the locked descriptor.

    Raises:
        UserError: Another process holds the lock (the error names the holder), or the file cannot
            be opened.
    """
    return take_lock(lambda: _lock_now(path, command, reopen), locking, _POLL)


def _lock_now(path: Path, command: str, reopen: Callable[[], int]) -> int:
    while True:
        descriptor = reopen()
        try:
            if not _try_lock(descriptor):
                raise LockHeld(str(path), LockInfo.read(info_file(path)) or _UNKNOWN)
            # A holder that created the file may remove it on release; Terraform does so if nothing
            # was written. A lock on a removed file excludes nobody.
            if is_file(descriptor, path):
                _note(path, command)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def release_file(path: Path, descriptor: int) -> None:
    try:
        # Remove the note before the lock is released: afterwards it may be the next holder's note.
        with contextlib.suppress(OSError):
            info_file(path).unlink()
    finally:
        os.close(descriptor)


def remove_unwritten(path: Path, descriptor: int) -> None:
    """Remove a locked file that is still empty, if no other process has it open (needs leases)."""
    # Only a lease tells whether another process has the file open. A Terraform that waits for the
    # lock does, and its writes to a removed file would be lost.
    if os.fstat(descriptor).st_size or not hasattr(fcntl, "F_SETLEASE"):
        return
    with contextlib.suppress(OSError):
        # The lease is granted only while no other process has the file open. By default, a process
        # is killed when another process breaks its lease.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        path.unlink()


def _note(path: Path, command: str) -> None:
    note = info_file(path)
    try:
        target = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(target, "wb") as file:
            file.write(LockInfo.own(command, path).to_json())
    except OSError as error:
        with contextlib.suppress(OSError):
            note.unlink()
        raise file_error("write", note, error, "The state is as it was.") from error


def is_locked(path: Path) -> bool:
    """Return whether another process holds the lock of a state; OSError if it cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        if not hasattr(fcntl, "F_OFD_GETLK"):
            return not _try_lock(descriptor)
        # This only asks: a run that begins meanwhile finds the lock free.
        reply = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _OFD_REQUEST)
        return bool(struct.unpack_from("h", reply)[0] != fcntl.F_UNLCK)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        # A lock of the open file description conflicts with Terraform's fcntl lock just as another
        # fcntl lock does, but is kept when this process closes another descriptor of the file.
        if hasattr(fcntl, "F_OFD_SETLK"):
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _OFD_REQUEST)
        else:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise
    return True
