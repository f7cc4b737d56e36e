"""Keeps a state in a file of its own, where neither the state nor its journal can be written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_NAMES: Final = ("errored.tfstate", *(f"errored.{number}.tfstate" for number in range(1, 100)))
"""The first one is Terraform's name for such a file. A file that is there is never replaced."""


def rescue(state: bytes, beside: Path) -> Path | None:
    """Write a state, durably, into the first directory that takes it.

    Tried are the working directory, as Terraform does, then `beside`, then the one for temporary
    files.

    Returns:
        The new file; None where no directory took it.
    """
    for directory in _directories(beside):
        for name in _NAMES:
            path = directory / name
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            # Another name in the same directory would be refused as well.
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
    # `gettempdir` raises where no such directory can be written to.
    with contextlib.suppress(OSError):
        yield Path(tempfile.gettempdir())
