"""Finds state files: a named file, or all files under a folder. Reads directories only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from opsconsole.errors import UserError
from opsconsole.journal_files import WORKSPACES_FOLDER
from opsconsole.state import DEFAULT_WORKSPACE

_SUFFIX: Final = ".tfstate"
# Only root may read `lost+found`, so a check of a whole file system would fail there.
_PASSED_OVER: Final = frozenset({"node_modules", "__pycache__", "lost+found"})
_ERRORED: Final = "errored.tfstate"
"""The copy that Terraform leaves when a state cannot be stored. It is not a stack's state."""


def state_files(places: Iterable[Path]) -> list[Path]:
    """Return the state files that `places` name: files, and all files under folders.

    Hidden folders (such as `.terraform`), backups and `errored.tfstate` are skipped. Links to
    folders are not followed. A file that is named twice or linked is returned once.

    Raises:
        UserError: A place does not exist, a folder has no state, or a folder cannot be read.
    """
    found: dict[Path, Path] = {}
    for place in places:
        if place.is_dir():
            # os.walk follows the order of the file system, which differs between machines.
            under = sorted(_under(place))
            if not under:
                raise UserError(
                    f"There is no state file (*{_SUFFIX}) in {place.absolute()} or below it.",
                    "Apply the program first, go to its directory, or name a state file or a "
                    "folder that holds some.",
                )
            paths = under
        elif place.exists():
            paths = [place]
        else:
            raise UserError(f"There is no state {place}.", "Check the path.")
        for path in paths:
            found.setdefault(path.resolve(), path)
    return list(found.values())


def _under(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder, onerror=_refuse):
        # os.walk descends only into the folders that remain in this list.
        folders[:] = [name for name in folders if name[0] != "." and name not in _PASSED_OVER]
        yield from (
            Path(root) / name for name in files if name.endswith(_SUFFIX) and name != _ERRORED
        )


def _refuse(problem: OSError) -> None:
    # Skipping the folder would hide the states in it.
    raise UserError(
        f"The folder {problem.filename} cannot be read: {problem.strerror}.",
        "Give this user read access, or name the state files.",
    ) from problem


def stack_names(paths: Sequence[Path]) -> list[str]:
    """Return names for the stacks of these states: short, meaningful and unique.

    `terraform.STACK.tfstate` is called STACK, as cdktf names its states. A `terraform.tfstate` is
    named after its folder, and the state of a workspace after folder and workspace.
    """
    full = [path.absolute() for path in paths]
    deepest = max((path.parts for path in full), key=len, default=())
    for depth in range(1, len(deepest)):
        names = [_name(path, depth) for path in full]
        if len(set(names)) == len(names):
            return names
    return [str(path).encode("utf-8", "backslashreplace").decode() for path in full]


def _name(path: Path, depth: int) -> str:
    folder, stack = path.parent, path.name.removesuffix(_SUFFIX)
    if stack == "terraform":
        workspace = workspace_of_state(path)
        folder = folder if workspace == DEFAULT_WORKSPACE else folder.parent.parent
        stack = folder.name if workspace == DEFAULT_WORKSPACE else f"{folder.name}/{workspace}"
        folder = folder.parent
    else:
        stack = stack.removeprefix("terraform.")
    parts = [*folder.relative_to(folder.anchor).parts, stack]
    name = "/".join(parts[-depth:])
    # On Linux a name may contain bytes that are not text, which a report cannot contain.
    return name.encode("utf-8", "backslashreplace").decode()


def workspace_of_state(path: Path) -> str:
    """Return the workspace that a state file belongs to, by its folder."""
    folder = path.absolute().parent
    return folder.name if folder.parent.name == WORKSPACES_FOLDER else DEFAULT_WORKSPACE
