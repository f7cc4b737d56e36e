"""Reading files that people name: pipes are read, devices that hold something are not.

Nothing is read without a bound.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 256 * 2**20


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
