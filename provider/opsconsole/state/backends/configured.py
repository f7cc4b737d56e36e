"""The backend of a program: its kind, and its settings from the block, from what `terraform init`
noted, and from `-backend-config`.

A block may leave settings to `init` (`-backend-config`), which notes all of them in
`.terraform/terraform.tfstate`. A note of another place than the block's means that
the state has not been moved yet: then nothing may be planned, as it would create everything again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.journal_files import noted_backend
from opsconsole.state.backends.storage import DEFAULT, Storage

_PLACE: Final = {
    "azurerm": ("storage_account_name", "container_name", "key"),
    "gcs": ("bucket", "prefix"),
    "http": ("address",),
    "pg": ("schema_name",),
    "s3": ("bucket", "key", "workspace_key_prefix"),
}
"""Kind: the settings that say where a state lies. Others may change without moving it.

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
        "Move the state: `terraform init -migrate-state`. If it lies at the new place already:"
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
