"""Files that people name: reading them, and the error where one cannot be read or written.

Pipes are read, devices that hold something are not. Nothing is read without a bound.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from opsconsole.errors import UserError

MOST_BYTES: Final = 256 * 2**20

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def check_no_device(descriptor: int) -> None:
    """Check that an open file is not a device, except the empty one: some of them never end.

    Raises:
        OSError: It is one.
    """
    found = os.fstat(descriptor)
    is_device = stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)
    if is_device and found.st_rdev != Path(os.devnull).stat().st_rdev:
        raise OSError(errno.EINVAL, "it is a device, not a file")


def read_named(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return what a file holds.

    Raises:
        OSError: It cannot be read, is a device, or has more than `most` bytes.
    """
    with path.open("rb") as file:
        check_no_device(file.fileno())
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return data


def file_error(action: str, path: Path, error: OSError, outcome: str) -> UserError:
    """Say in one error what could not be done with a file, and why the system refused.

    Args:
        action: A verb for what was tried, such as `write`.
        outcome: A sentence on what holds now, such as "The state is as it was."
    """
    if error.errno in _FULL:
        why, remedy = "there is no room for it", "Make room on that disk, then run again."
    elif error.errno in _FORBIDDEN:
        why = "this user may not (read-only file, directory or disk)"
        remedy = "Make the file and its directory writable, then run again."
    else:
        why, remedy = "the system refused", ""
    return UserError(f"Cannot {action} {path}: {why} ({error.strerror}). {outcome}", remedy)
