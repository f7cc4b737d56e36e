"""One translation: an operating system's refusal to read or write a file → a UserError."""

from __future__ import annotations

import errno
from pathlib import Path

from opsconsole.errors import UserError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def refused(action: str, path: Path, error: OSError, outcome: str) -> UserError:
    """Say in one error what could not be done.

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
