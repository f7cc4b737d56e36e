"""Saves a state to a new file when neither the state nor its journal can be written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_NAMES: Final = ("errored.tfstate", *(f"errored.{number}.tfstate" for number in range(1, 100)))
"""Names for the file; the first is Terraform's. An existing file is never replaced."""


def rescue(state: bytes, beside: Path) -> Path | None:
    """Write a state durably into the first directory that accepts the file.

    The directories are tried in this order: the working directory, as in Terraform, then `beside`,
    then the directory for temporary files.

    Returns:
        The new file, or None if no directory accepted it.
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
