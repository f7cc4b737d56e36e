"""Reads and writes files that people name, and explains failures.

Pipes are read. Devices are not, except the empty one. Every read has a size limit.
"""

from __future__ import annotations

import csv
import errno
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from opsconsole.errors import UserError
from opsconsole.text import plural

MOST_BYTES: Final = 256 * 2**20

_NO_ROOM: Final = ("there is no room for it", "Make room on that disk, then run again.")
_FORBIDDEN: Final = (
    "this user may not (read-only file, directory or disk)",
    "Make the file and its directory writable, then run again.",
)
_TOO_MANY_FILES: Final = (
    "too many files are open",
    "Raise the limit (`ulimit -n`), then run again.",
)
_NO_MEMORY: Final = (
    "there is not enough memory",
    "Give this process more memory, or split the stack, then run again.",
)
_GONE: Final = ("it, or its directory, is not there", "")
_REASONS: Final = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _NO_ROOM),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _FORBIDDEN),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), _TOO_MANY_FILES),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.ESTALE), _GONE),
    errno.ENOMEM: _NO_MEMORY,
    errno.EIO: ("the disk failed", "Check that disk, then run again."),
}
"""Error number to its meaning for a user, and the remedy."""


def check_no_device(descriptor: int) -> None:
    """Raise OSError if an open file is a device: some never end. The empty one passes."""
    status = os.fstat(descriptor)
    is_device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
    if is_device and status.st_rdev != Path(os.devnull).stat().st_rdev:
        raise OSError(errno.EINVAL, "it is a device, not a file")


def read_named(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: It cannot be read, is a device, or has more than `most` bytes.
    """
    with path.open("rb") as file:
        check_no_device(file.fileno())
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return data


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file; raise OSError if it cannot be read."""
    try:
        # Spreadsheet programs begin a file in UTF-8 with a mark, which would become part of the
        # first name.
        return read_named(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "it is not UTF-8 text") from None


class NotATable(Exception):
    """A text is not a table: `LINE: PROBLEM`."""


def read_table(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of CSV that are not blank, each with its number; the first names the columns.

    Raises:
        NotATable: It is not CSV, or a line has more or fewer cells than the first.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    end = columns = 0
    try:
        for cells in reader:
            # A quoted cell may hold line breaks: a row begins behind the last line of the row
            # before.
            line, end = end + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            columns = columns or len(cells)
            if len(cells) != columns:
                raise NotATable(
                    f"{line}: this row has {plural(len(cells), 'cell')}, and the table has "
                    f"{plural(columns, 'column')}"
                )
            yield line, cells
    except csv.Error as problem:
        raise NotATable(f"{reader.line_num}: this is not CSV: {problem}") from None


def replace_file(path: Path, text: str, mode: int | None = None) -> None:
    """Replace a file by one rename, because it may be read at any moment.

    A device, a pipe or a link (`/dev/stdout`) is written to, never replaced.

    Args:
        mode: The file's mode; None: the mode of the file in its place, if there is one.

    Raises:
        OSError: It cannot be written.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_text(text, "utf-8")
        return
    if mode is None and path.exists():
        mode = stat.S_IMODE(path.stat().st_mode)
    # The draft is in the same directory, as a file can replace another on one file system only.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8", newline="") as file:
            # Before the text is in it, which others may not be allowed to read. Some file systems
            # have one mode for all files, and refuse to set it.
            if mode not in (None, stat.S_IMODE(os.fstat(file.fileno()).st_mode)):
                os.fchmod(file.fileno(), mode)
            file.write(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before the work for its content.

    No directory is created for the file. Terraform creates none for a plan.

    Raises:
        UserError: The file is a directory, or its directory is missing or cannot be written.
    """
    if not path.parent.is_dir():
        raise UserError(
            f"Cannot write {path}: there is no directory {path.parent}.",
            "Create it, or name another file.",
        )
    if path.is_dir():
        raise UserError(f"Cannot write {path}: it is a directory.", "Name a file.")
    if not path.exists() and not os.access(path.parent, os.W_OK):
        refusal = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        raise file_error("write", path, refusal, "")


def check_report_file(path: Path) -> None:
    """Refuse a report file that `check_writable` refuses, or that is a program or a state.

    Raises:
        UserError: The report must not or cannot be written there.
    """
    check_writable(path)
    if content := _name_program_or_state(path):
        raise UserError(
            f"{path} exists already and is {content}, so it is not overwritten.",
            "Name another file, or remove that file first.",
        )


def find_shared_file(paths: Iterable[Path]) -> str:
    """Return a file that several of the paths lead to; empty: there is none."""
    # `resolve` raises an error at a loop of links.
    places = [os.path.realpath(path) for path in paths]
    return next((place for place in places if places.count(place) > 1), "")


_PROGRAMS = re.compile(r".*\.(tf|tofu|tfvars)(\.json)?|.*\.py|cdktf\.json")
_STATE = re.compile(rb'\{\s*"version":.{0,200}"serial":\s*\d+,\s*"lineage":', re.DOTALL)
_STATE_BEGINS_WITHIN = 500


def _name_program_or_state(path: Path) -> str:
    """Return "part of a program", "a state", or "" for any other file."""
    # An empty file holds nothing that could be lost.
    if not path.is_file() or not path.stat().st_size:
        return ""
    if _PROGRAMS.fullmatch(path.name):
        return "part of a program"
    with file_errors("read", path, ""), path.open("rb") as file:
        return "a state" if _STATE.match(file.read(_STATE_BEGINS_WITHIN)) else ""


def write_named(path: Path, text: str) -> None:
    """Write a file that the command line names; UserError if it cannot be written."""
    with file_errors("write", path, ""):
        replace_file(path, text)


@contextmanager
def file_errors(action: str, path: Path | str, outcome: str) -> Iterator[None]:
    """Turn an error of the system into a UserError, as `file_error` words it."""
    try:
        yield
    except OSError as problem:
        raise file_error(action, path, problem, outcome) from problem


def file_error(
    action: str, path: Path | str, error: OSError | MemoryError, outcome: str
) -> UserError:
    """Return the error for a failed action on a file, with the system's reason.

    Args:
        action: The verb of the failed action, such as `write`.
        outcome: A sentence on the result, such as "The state is as it was."
    """
    refusal = error if isinstance(error, OSError) else OSError(errno.ENOMEM, "MemoryError")
    why, remedy = _REASONS.get(refusal.errno or 0, ("the system refused", ""))
    said = f"{why} ({refusal.strerror or refusal})"
    return UserError(f"Cannot {action} {path}: {said}. {outcome}".rstrip(), remedy)
