"""The backend of a program: its kind, and its settings from the block, from what `terraform init`
noted, and from `-backend-config`.

A block may leave settings to `init` (`-backend-config`), which notes all of them in
`.terraform/terraform.tfstate`. A note of another place than the block's means that
the state has not been moved yet: then nothing may be planned, as it would create everything again.

For the same reason this program notes where the state of a working directory was when it was last
written (`LastPlace`). Terraform's own note, where there is one, outranks that.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.journal_files import data_directory, noted_backend
from opsconsole.phrases import plural
from opsconsole.state.backend import local_path, replace_durably
from opsconsole.state.backends.storage import DEFAULT, Storage
from opsconsole.state.model import State

_PLACE: Final = {
    "azurerm": ("storage_account_name", "container_name", "key"),
    "gcs": ("bucket", "prefix"),
    "http": ("address",),
    "pg": ("schema_name",),
    "s3": ("bucket", "key", "workspace_key_prefix"),
}
"""Kind: the settings that say where a state is. Others may change without moving it.

Each kind has a module of its name here, with a class such as `GcsStorage`.
"""


def configured(
    directory: Path, kind: str, block: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings to use.

    Args:
        given: What `-backend-config` says; it outranks the block.

    Raises:
        UserError: `init` noted another place.
    """
    wanted = {name: value for name, value in {**block, **given}.items() if value is not None}
    noted = noted_backend(directory)
    if noted is None:
        return wanted
    if noted[0] != kind:
        raise _moved(directory, noted[0], kind, "")
    if kind == "local":
        return wanted
    for name in _PLACE.get(kind, ()):
        before, now = noted[1].get(name), wanted.get(name)
        if before is not None and now is not None and before != now:
            raise _moved(directory, kind, kind, f": `{name}` was {before!r}, and is {now!r}")
    kept = {name: value for name, value in noted[1].items() if value is not None}
    return {**kept, **wanted}


def read_backend_config(arguments: list[str]) -> dict[str, Any]:
    """Read `-backend-config`: each is NAME=VALUE, or a file of such lines or of JSON.

    Raises:
        UserError: One is neither.
    """
    found: dict[str, Any] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals:
            found[name.strip()] = value
            continue
        try:
            found.update(_of_file(Path(argument).read_text()))
        except (OSError, ValueError) as error:
            raise UserError(
                f"-backend-config={argument} is neither NAME=VALUE nor a file of settings: {error}."
            ) from error
    return found


def _of_file(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        found: dict[str, Any] = json.loads(text)
        return found
    lines = [line.strip() for line in text.splitlines()]
    pairs = [line.partition("=") for line in lines if line and not line.startswith(("#", "//"))]
    if not all(equals for _, equals, _ in pairs):
        raise ValueError("a line is not NAME = VALUE")
    return {name.strip(): _literal(value.strip()) for name, _, value in pairs}


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _moved(directory: Path, before: str, now: str, how: str) -> UserError:
    what = f"from {before} to {now}" if before != now else f"within {now}"
    return UserError(
        f"The backend of {directory} changed {what} since it was initialised{how}.",
        "Move the state: `terraform init -migrate-state`. If it is at the new place already:"
        " `terraform init -reconfigure`.",
    )


def is_native(kind: str) -> bool:
    """Return whether a kind of backend is spoken to without Terraform."""
    return kind in _PLACE


def storage_for(kind: str, block: Mapping[str, Any], workspace: str = DEFAULT) -> Storage:
    """Return the storage of a kind of backend; its libraries are imported only now.

    Args:
        block: The backend's settings, merged.

    Raises:
        UserError: A setting or a library is missing.
    """
    module = import_module(f"opsconsole.state.backends.{kind}")
    made: Storage = getattr(module, f"{kind.capitalize()}Storage")(block, workspace)
    return made


_FILE: Final = "opsconsole-backend.json"
_VERSION: Final = 1


class LastPlace:
    """The note of one workspace in one working directory.

    Args:
        name: What to call the place in messages.
        identity: What tells the place from all others; only its digest is noted.
    """

    def __init__(
        self, directory: Path, workspace: str, kind: str, name: str = "", identity: str = ""
    ) -> None:
        self._directory = directory
        self._file = data_directory(directory) / _FILE
        self._workspace = workspace
        digest = hashlib.sha256(identity.encode()).hexdigest()
        self._now = {"type": kind, "name": name, "digest": digest}
        self._noted = False

    def check(self) -> None:
        """Check that the state was at this place at the last run, if a place is noted.

        Raises:
            UserError: It was elsewhere.
        """
        before = self._places().get(self._workspace)
        if not before or all(before.get(key) == self._now[key] for key in ("type", "digest")):
            return
        now = self._now["name"] or f"the {self._now['type']} backend"
        raise UserError(
            f"The backend of {self._directory} changed since the last run: the state was written to"
            f" {before.get('name')} ({before.get('type')}), and the program names {now}"
            f" ({self._now['type']}).",
            "Name the earlier place again, or move the state with `opsconsole-terraform init"
            f" -migrate-state`. If it is at the new place already, remove {self._file}.",
        )

    def note(self) -> None:
        """Note this place, after the first write of a run."""
        if self._noted:
            return
        self._noted = True
        places = {**self._places(), self._workspace: self._now}
        content = json.dumps({"version": _VERSION, "places": places}, indent=2).encode()
        # The state is written. A run does not fail because its place cannot be noted.
        with contextlib.suppress(UserError, OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            replace_durably(self._file, content)

    def check_nothing_here(self) -> None:
        """Check, for a place that is empty, that no state with resources is here.

        Raises:
            UserError: There is one: the program would be planned as if nothing existed.
        """
        for path in self._local_states():
            if not path.is_file():
                continue
            found = State.parse(path.read_bytes(), str(path))
            if not found.empty:
                own = self._directory / "terraform.tfstate"
                first = "" if path == own else f"copy it to {own}, then "
                raise UserError(
                    f"There is no state in {self._now['name']}, and a state with"
                    f" {plural(len(found), 'object')} is in {path}.",
                    f"To go on with it, {first}run `opsconsole-terraform init -migrate-state` in"
                    f" {self._directory}. If it is of another program, move it away.",
                )

    def _local_states(self) -> Iterator[Path]:
        """Return where the default backends of Terraform and of cdktf keep a state."""
        yield local_path(self._directory, {}, self._workspace)
        where = self._directory.absolute()
        if where.parent.name == "stacks":
            yield where.parents[2] / f"terraform.{where.name}.tfstate"

    def _places(self) -> dict[str, Any]:
        try:
            found = json.loads(self._file.read_bytes())["places"]
        except (OSError, ValueError, LookupError, TypeError):
            return {}
        return {key: item for key, item in dict(found).items() if isinstance(item, dict)}
