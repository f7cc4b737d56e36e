"""The files that engines leave in a working directory: the note of `init`, states and journals.

Both engines use this module. It knows the names of states and journals, not their content.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JOURNAL_SUFFIX = ".opsconsole-journal"
"""The suffix after a state file's name. A journal holds changes that may not be in state yet, and
open intents."""

WORKSPACES_FOLDER = "terraform.tfstate.d"
"""The folder of a local backend for the states of workspaces; `workspace_dir` names another."""


def data_directory(directory: Path) -> Path:
    """Return the directory of Terraform's notes on a working directory."""
    return directory / (os.environ.get("TF_DATA_DIR") or ".terraform")


@dataclass(frozen=True, slots=True)
class ConfiguredBackend:
    """A backend as a program declares it, or as `init` notes it.

    Attributes:
        settings: Unset ones may be None or absent.
        block_hash: Terraform's hash of the block, which does not include `-backend-config`.
    """

    kind: str
    settings: Mapping[str, Any]
    block_hash: int = 0


def noted_backend(directory: Path) -> ConfiguredBackend | None:
    """Return the backend that `init` recorded, or None."""
    try:
        noted = json.loads((data_directory(directory) / "terraform.tfstate").read_bytes())
        backend = noted["backend"]
        settings, block_hash = backend.get("config") or {}, backend.get("hash") or 0
        return ConfiguredBackend(str(backend["type"]), dict(settings), int(block_hash))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        # The directory is not initialised, or not by a known Terraform, so nothing is recorded.
        return None


def cdktf_states(directory: Path) -> Iterator[Path]:
    """Yield the path of cdktf's state, if `directory` belongs to a stack."""
    stacks, stack = directory.parent, directory.name
    # cdktf runs Terraform in `cdktf.out/stacks/STACK`, and keeps the state beside `cdktf.json`.
    if stacks.name == "stacks":
        yield stacks.parent.parent / f"terraform.{stack}.tfstate"


def journal_of(state: Path) -> Path:
    return state.with_name(state.name + JOURNAL_SUFFIX)


def unfolded_journals(directory: Path) -> list[Path]:
    """Return the journals in a working directory, or beside the state it uses.

    The search covers the directory, its workspaces, the local backend that `terraform init`
    recorded, and cdktf's state of a stack (`terraform.STACK.tfstate` beside `cdktf.json`). While a
    journal exists, state may lack objects of the console. No other engine may plan before
    `opsconsole state fold` has added the journal to the state.
    """
    directory = Path(os.path.realpath(directory))
    pattern = f"*{JOURNAL_SUFFIX}"
    names = {*directory.glob(pattern), *(directory / WORKSPACES_FOLDER).glob(f"*/{pattern}")}
    for state in _states_of(directory):
        # A link leads to a state whose journal lies beside the file itself.
        beside = journal_of(Path(os.path.realpath(state)))
        if beside.is_file():
            names.add(beside)
    return sorted(names)


def _states_of(directory: Path) -> Iterator[Path]:
    yield directory / "terraform.tfstate"
    yield from (directory / WORKSPACES_FOLDER).glob("*/terraform.tfstate")
    yield from cdktf_states(directory)
    noted = noted_backend(directory)
    if noted is None or noted.kind != "local":
        return
    path, workspaces = noted.settings.get("path"), noted.settings.get("workspace_dir")
    # Opening the state refuses a text that is not a path.
    if isinstance(path, str) and "\0" not in path:
        yield directory / path
    if isinstance(workspaces, str) and "\0" not in workspaces:
        for folder in (directory / workspaces).glob("*/"):
            yield folder / "terraform.tfstate"
