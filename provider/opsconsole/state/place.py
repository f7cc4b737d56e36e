"""The place of a program's state, and whether it has changed since the last run.

A backend's settings come from the program's block, from `-backend-config`, and from the note that
`terraform init` keeps of all settings in `.terraform/terraform.tfstate`. If that note and the block
name different places, the state has not been moved yet. Nothing is planned then, because the plan
would create everything again. Without that note, the place that this program noted at its last
write (`LastPlace`) is compared instead.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.local_terraform import (
    WORKSPACES_FOLDER,
    cdktf_states,
    cli_of,
    data_directory,
    noted_backend,
)
from opsconsole.state.backend import DEFAULT_WORKSPACE
from opsconsole.state.files import read_file, replace_durably
from opsconsole.state.model import State
from opsconsole.text import plural

_PLACE: Final[Mapping[str, Mapping[str, str]]] = {
    "azurerm": {"storage_account_name": "", "container_name": "", "key": ""},
    "gcs": {"bucket": "", "prefix": ""},
    "http": {"address": ""},
    "local": {"path": "terraform.tfstate", "workspace_dir": WORKSPACES_FOLDER},
    "pg": {"schema_name": "terraform_remote_state", "table_name": "states"},
    "s3": {"bucket": "", "key": "", "workspace_key_prefix": "env:"},
}
"""By kind, the settings that say where a state is, and their default values.

Other settings may change without moving the state. Each kind but `local` has a module of the same
name in `backends`, with a class such as `GcsBackend`.
"""

_WORKSPACE: Final = re.compile(r"[A-Za-z0-9_.~$&+=:@-]+")
"""As in Terraform: the characters that a URL's path holds without an escape."""

_NOTE_FILE: Final = "opsconsole-backend.json"


def is_native_backend(kind: str) -> bool:
    """Return whether this program accesses a kind of backend without Terraform."""
    return kind in _PLACE


def workspace_of(directory: Path) -> str:
    """Return the selected workspace of a working directory, as Terraform determines it.

    Raises:
        UserError: TF_WORKSPACE, or the file that notes the selection, holds no name of a workspace.
    """
    given = os.environ.get("TF_WORKSPACE")
    if given:
        return check_workspace_name(given, "TF_WORKSPACE: ")
    file = data_directory(directory) / "environment"
    noted = read_file(file).decode(errors="backslashreplace").strip()
    return check_workspace_name(noted, f"{file}: ") if noted else DEFAULT_WORKSPACE


def check_workspace_name(name: str, where: str = "") -> str:
    """Return `name`; UserError if it cannot be the name of a workspace."""
    # These two would lead to the state of another workspace.
    if name in (".", "..") or not _WORKSPACE.fullmatch(name):
        raise UserError(
            f'{where}"{name}" cannot be the name of a workspace.',
            "Use letters, digits, -, _, . and ~; it must not be . or .. alone.",
        )
    return name


def local_path(directory: Path, settings: Mapping[str, Any], workspace: str) -> Path:
    """Return the path at which a local backend keeps its state.

    Raises:
        UserError: `path` or `workspace_dir` in the settings is not a path.
    """
    name = "path" if workspace == DEFAULT_WORKSPACE else "workspace_dir"
    value = settings.get(name) or _PLACE["local"][name]
    if not isinstance(value, str) or "\0" in value:
        raise UserError(
            f"`{name}` of the local backend is not a path: {json.dumps(value, default=str)}.",
            "Write it as a text, relative to the directory of the program.",
        )
    if workspace == DEFAULT_WORKSPACE:
        return directory / value
    return directory / value / workspace / "terraform.tfstate"


def merge_settings(
    directory: Path, kind: str, block: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge the settings of the block, of `-backend-config` and of the note of `init`.

    Args:
        given: The settings of `-backend-config`, which take precedence over the block.

    Raises:
        UserError: `init` noted another place.
    """
    wanted = {name: value for name, value in {**block, **given}.items() if value is not None}
    noted = noted_backend(directory)
    if noted is None:
        return wanted
    if noted.kind != kind:
        raise _moved_error(directory, noted.kind, kind, "")
    for name, default in _PLACE.get(kind, {}).items():
        before, now = noted.settings.get(name) or default, wanted.get(name)
        # A setting given to `terraform init` alone is only in the note, and unchanged.
        if before and now is not None and before != now:
            raise _moved_error(directory, kind, kind, f": `{name}` was {before!r}, and is {now!r}")
    kept = {name: value for name, value in noted.settings.items() if value is not None}
    return {**kept, **wanted}


def _moved_error(directory: Path, before: str, now: str, how: str) -> UserError:
    what = f"from {before} to {now}" if before != now else f"within {now}"
    cli = cli_of(directory).command
    return UserError(
        f"The backend of {directory} changed {what} since it was initialised{how}.",
        f"Move the state: `{cli} init -migrate-state`. If it is at the new place already:"
        f" `{cli} init -reconfigure`.",
    )


def expression_in(settings: Any) -> str:
    """Return the first expression in a backend's settings. Only OpenTofu evaluates expressions."""
    if isinstance(settings, str):
        return settings if "${" in settings or "%{" in settings else ""
    if isinstance(settings, Mapping):
        settings = list(settings.values())
    if not isinstance(settings, list):
        return ""
    return next(filter(None, map(expression_in, settings)), "")


class LastPlace:
    """The record, in the working directory, of the place of a workspace's state at the last write.

    Args:
        name: The name of the place in messages.
        identity: Distinguishes the place from all others. Only its digest is stored.
    """

    def __init__(
        self, directory: Path, workspace: str, kind: str, name: str = "", identity: str = ""
    ) -> None:
        self._directory = directory
        self._file = data_directory(directory) / _NOTE_FILE
        self._workspace = workspace
        digest = hashlib.sha256(identity.encode()).hexdigest()
        self._here = {"type": kind, "name": name, "digest": digest}
        self._noted = False

    def check(self) -> None:
        """Raise UserError if the last run wrote the state elsewhere."""
        before = self._places().get(self._workspace)
        if not before or all(before.get(key) == self._here[key] for key in ("type", "digest")):
            return
        now = self._here["name"] or f"the {self._here['type']} backend"
        raise UserError(
            f"The backend of {self._directory} changed since the last run: the state was written to"
            f" {before.get('name')} ({before.get('type')}), and the program names {now}"
            f" ({self._here['type']}).",
            "Name the earlier place again, or move the state with `opsconsole-terraform init"
            f" -migrate-state`. If it is at the new place already, remove {self._file}.",
        )

    def note(self) -> None:
        """Note this place, after the first write of a run."""
        if self._noted:
            return
        self._noted = True
        places = {**self._places(), self._workspace: self._here}
        content = json.dumps({"places": places}, indent=2).encode()
        # The state is already written: a run does not fail because its place cannot be noted.
        with contextlib.suppress(UserError, OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            replace_durably(self._file, content)

    def check_nothing_here(self) -> None:
        """For an empty place, check that no local backend here keeps a state with resources.

        Raises:
            UserError: There is one, so the program would be planned as if nothing existed.
        """
        here = local_path(self._directory, {}, self._workspace)
        for path in (here, *cdktf_states(self._directory.absolute())):
            if not path.is_file():
                continue
            state = State.parse(path.read_bytes(), str(path))
            if not state.empty:
                first = "" if path == here else f"copy it to {here}, then "
                raise UserError(
                    f"There is no state in {self._here['name']}, and a state with"
                    f" {plural(len(state), 'object')} is in {path}.",
                    f"To go on with it, {first}run `opsconsole-terraform init -migrate-state` in"
                    f" {self._directory}. If it is of another program, move it away.",
                )

    def _places(self) -> dict[str, Any]:
        try:
            places = dict(json.loads(self._file.read_bytes())["places"])
        except (OSError, ValueError, LookupError, TypeError):
            return {}
        return {key: item for key, item in places.items() if isinstance(item, dict)}
