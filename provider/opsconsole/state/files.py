"""The files of a state and its journal: checks, whole reads and writes, and durable replacement."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from opsconsole.errors import UserError
from opsconsole.user_files import file_errors

NOT_OPEN: Final = -1
"""Stands for the descriptor of a file that is not open."""


def is_file(descriptor: int, path: Path) -> bool:
    """Return whether the open file is still the file of that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def check_regular(path: Path, what: str, remedy: str) -> os.stat_result | None:
    """Return the status of a file; None if there is no file of that name.

    Raises:
        UserError: The path is a directory, a device, a pipe or a socket.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode):
        raise UserError(f"The {what} {path} is not a regular file. Nothing was changed.", remedy)
    return status


_MOUNTS: Final = Path("/proc/self/mountinfo")


def is_mount_point(path: Path) -> bool:
    """Return whether a mount is at exactly this path; False if the system does not tell."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return False
    wanted = os.fsencode(path)
    return any(_unescape(line.split(b" ")[4]) == wanted for line in lines)


def _unescape(name: bytes) -> bytes:
    """Decode a name of the mount table, where octal numbers stand for spaces and the like."""
    return re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), name)


def removed_error(what: str, path: Path) -> UserError:
    """Return the error of a run whose file lost its name: it may send no further request."""
    return UserError(
        f"The {what} {path} was removed or moved while this run used it. No further request is"
        " sent.",
        "Let nothing clear that directory while a run is in progress.",
    )


def read_all(descriptor: int) -> bytes:
    # A second descriptor would not do: closing it would drop a POSIX lock on the file.
    pieces = []
    at = 0
    while piece := os.pread(descriptor, 1 << 24, at):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


def read_file(path: Path) -> bytes:
    """Return the content of a file; empty if there is no file.

    Raises:
        UserError: The file cannot be read.
    """
    with file_errors("read", path, "Nothing was changed."):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return b""


def write_at(descriptor: int, data: bytes, at: int) -> int:
    """Write all of `data` at an offset of an open file; return the offset after the data."""
    view = memoryview(data)
    while view:
        count = os.pwrite(descriptor, view, at)
        at, view = at + count, view[count:]
    return at


def reserve_room(descriptor: int, start: int, length: int) -> None:
    """Reserve room in a file, so that a full disk raises OSError before anything is written."""
    # macOS has no such call: there, the write itself meets the full disk.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, start, length)


def replace_durably(path: Path, content: bytes) -> None:
    """Replace a file by rename, so that a crash leaves either the old file or the new one.

    Not for state files (see `backend`).

    Raises:
        UserError: The file cannot be written. The old file is unchanged.
    """
    with file_errors("write", path, "The file is as it was."):
        os.close(put_in_place(path, content))
        sync_directory(path.parent)


def put_in_place(
    path: Path, content: bytes, prepare: Callable[[int], None] = lambda descriptor: None
) -> int:
    """Replace a file by rename; return the descriptor of the new file.

    The content is durable; the name is durable once the directory is synced.

    Args:
        prepare: Called with the descriptor before anything is written.

    Raises:
        OSError: The file cannot be written. The old file is unchanged.
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
    """Make the file names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_NAMES: Final = ("errored.tfstate", *(f"errored.{number}.tfstate" for number in range(1, 100)))
"""Names for the file; the first is Terraform's. An existing file is never replaced."""


def rescue(state: bytes, beside: Path) -> Path | None:
    """Write a state durably to a new file; return its path, or None if no directory accepts it.

    The working directory is tried first, as in Terraform, then `beside`, then the directory for
    temporary files.
    """
    for directory in _directories(beside):
        for name in _NAMES:
            path = directory / name
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            # The directory would refuse another name as well.
            except OSError:
                break
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(state)
                    file.flush()
                    os.fsync(file.fileno())
                return path.absolute()
            except OSError:
                with contextlib.suppress(OSError):
                    path.unlink()
                break
    return None


def _directories(beside: Path) -> Iterator[Path]:
    yield from (Path(), beside)
    # `gettempdir` raises an error if no temporary directory is writable.
    with contextlib.suppress(OSError):
        yield Path(tempfile.gettempdir())
