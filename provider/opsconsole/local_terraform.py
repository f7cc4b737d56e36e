"""Terraform on this machine: its program, and the files that engines leave in a working directory.

The program is Terraform or OpenTofu, never the stand-in of this package. No process is started. The
files are the note of `init`, states and journals. Only the note is decoded. `cli_of` searches the
lock file and the local state for the name of a registry.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from opsconsole.address import OPENTOFU_HOST, TERRAFORM_HOST

STANDIN = "opsconsole-terraform"
"""The console script that stands in for `terraform`."""
FALLBACK = "OPSCONSOLE_TERRAFORM_FALLBACK"
"""The variable that names the real program."""
TERRAFORM_VERSION: Final = "1.11.4"
"""The release of Terraform whose formats are written, and whose verbs the stand-in follows."""


@dataclass(frozen=True, slots=True)
class TerraformCli:
    """One of the two programs that run a configuration with the provider.

    `host` is the registry that it assumes for a provider source without a host.
    """

    name: str
    command: str
    host: str


TERRAFORM: Final = TerraformCli("Terraform", "terraform", TERRAFORM_HOST)
OPENTOFU: Final = TerraformCli("OpenTofu", "tofu", OPENTOFU_HOST)

_MACHINES: Final = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "i386": "386",
    "i686": "386",
    "armv6l": "arm",
    "armv7l": "arm",
}
"""Python's words for processors, where Terraform has others."""


def platform_name(system: str, machine: str) -> str:
    """Return Terraform's word for a platform, such as `linux_amd64`."""
    machine = machine.lower()
    return f"{system.lower()}_{_MACHINES.get(machine, machine)}"


OF_OPENTOFU: Final = (".tofu", ".tofu.json")
"""Suffixes of the files that only OpenTofu reads."""


def cli_of(folder: Path | None = None, environ: Mapping[str, str] = os.environ) -> TerraformCli:
    """Return Terraform's or OpenTofu's CLI for a folder, by default the working directory.

    This is the CLI that OPSCONSOLE_TERRAFORM_FALLBACK names, else the one whose registry is in
    the folder's lock file. Otherwise it is OpenTofu if a file is for OpenTofu or the local state
    names its registry, else Terraform.
    """
    folder = Path.cwd() if folder is None else folder
    named = Path(environ.get(FALLBACK, "")).stem
    for cli in (OPENTOFU, TERRAFORM):
        if named == cli.command:
            return cli
    locked = _read(folder / ".terraform.lock.hcl")
    for cli in (OPENTOFU, TERRAFORM):
        if b'provider "%s/' % cli.host.encode() in locked:
            return cli
    written = any(path.name.endswith(OF_OPENTOFU) for path in folder.glob("*.tofu*"))
    registry = rb"provider[\"%s/" % OPENTOFU_HOST.encode()
    return OPENTOFU if written or registry in _read(_local_state(folder)) else TERRAFORM


def _local_state(folder: Path) -> Path:
    """Return the path of a folder's state, as `init` recorded it; the folder if it is elsewhere."""
    noted = noted_backend(folder)
    if noted is not None and noted.kind != "local":
        return folder
    path = noted.settings.get("path") if noted is not None else None
    return folder / str(path or "terraform.tfstate")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError):
        # ValueError: NUL in the path.
        return b""


def real_terraform(
    environ: Mapping[str, str], *further: str, cli: TerraformCli | None = None
) -> str | None:
    """Return the path of the real Terraform or OpenTofu, or None if there is none.

    If the variable OPSCONSOLE_TERRAFORM_FALLBACK is set, only its program counts.

    Args:
        further: Names that come before the usual ones.
        cli: The CLI of the folder: OpenTofu's folders are for `tofu` alone.
    """
    usual = ("tofu",) if cli is OPENTOFU else ("terraform", "tofu")
    named = environ.get(FALLBACK)
    names: tuple[str, ...] = (named,) if named else (*further, *usual)
    for name in names:
        path = shutil.which(name, path=environ.get("PATH")) if name else None
        if path is not None and not _is_standin(path):
            return path
    return None


def standin_in_place_of_terraform() -> str:
    """Return the shell command of the stand-in if there is no `terraform`, else "".

    cdktf and cdktn ask `terraform` for its version if an app declares a move.
    """
    if shutil.which("terraform"):
        return ""
    path = Path(sys.executable).with_name(STANDIN)
    return shlex.quote(str(path)) if path.exists() else shutil.which(STANDIN) or ""


def _is_standin(path: str) -> bool:
    if Path(path).resolve().name == STANDIN:
        return True
    own = shutil.which(STANDIN)
    try:
        return own is not None and Path(path).samefile(own)
    except OSError:
        return False


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
