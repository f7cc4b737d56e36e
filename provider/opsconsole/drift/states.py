"""Finding state files: one that is named, or all under a folder. Reads directories only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from opsconsole.errors import UserError
from opsconsole.state import DEFAULT_WORKSPACE

_SUFFIX: Final = ".tfstate"
_WORKSPACES: Final = "terraform.tfstate.d"
# Only root may read `lost+found`, so that a check of a whole file system would fail on it.
_PASSED_OVER: Final = frozenset({"node_modules", "__pycache__", "lost+found"})
_ERRORED: Final = "errored.tfstate"
"""What Terraform leaves behind when a state cannot be stored: a copy, not a stack's state."""


def state_files(places: Iterable[Path]) -> list[Path]:
    """Return the state files that `places` name: files, and all files under folders.

    Hidden folders (`.terraform` among them), backups and `errored.tfstate` are passed over, links
    to folders are not followed. A file that is named twice, or linked to, is there once.

    Raises:
        UserError: There is no such place, a folder that holds no state, or one that cannot be read.
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
        # os.walk descends into the folders that this list still holds.
        folders[:] = [name for name in folders if name[0] != "." and name not in _PASSED_OVER]
        yield from (
            Path(root) / name for name in files if name.endswith(_SUFFIX) and name != _ERRORED
        )


def _refuse(problem: OSError) -> None:
    # Skipping it would hide the states in it.
    raise UserError(
        f"The folder {problem.filename} cannot be read: {problem.strerror}.",
        "Give this user read access, or name the state files.",
    ) from problem


def stack_names(paths: Sequence[Path]) -> list[str]:
    """Return what to call the stacks of these states: short, meaningful and unique.

    `terraform.STACK.tfstate` is called STACK, as cdktf names its states; a `terraform.tfstate`
    goes by its folder, one of a workspace by folder and workspace.
    """
    full = [path.absolute() for path in paths]
    for depth in range(1, max((len(path.parts) for path in full), default=1) + 1):
        names = [_name(path, depth) for path in full]
        if len(set(names)) == len(names):
            return names
    return [str(path).encode("utf-8", "backslashreplace").decode() for path in full]


def _name(path: Path, depth: int) -> str:
    folder, own = path.parent, path.name.removesuffix(_SUFFIX)
    if own == "terraform":
        workspace = workspace_of_state(path)
        folder = folder if workspace == DEFAULT_WORKSPACE else folder.parent.parent
        own = folder.name if workspace == DEFAULT_WORKSPACE else f"{folder.name}/{workspace}"
        folder = folder.parent
    else:
        own = own.removeprefix("terraform.")
    above = folder.parts[max(0, len(folder.parts) - (depth - 1)) :]
    name = "/".join([*(part for part in above if part != folder.root), own])
    # On Linux a name may hold bytes that are not text; a report cannot hold them.
    return name.encode("utf-8", "backslashreplace").decode()


def workspace_of_state(path: Path) -> str:
    """Return the workspace that a state file belongs to, by its folder."""
    folder = path.absolute().parent
    return folder.name if folder.parent.name == _WORKSPACES else DEFAULT_WORKSPACE
