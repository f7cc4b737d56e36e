"""The backend that `init` notes for a directory, in `.terraform/terraform.tfstate`.

The file has Terraform's format: both programs find the directory initialised.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.language import Program
from opsconsole.local_terraform import (
    TERRAFORM_VERSION,
    ConfiguredBackend,
    data_directory,
    noted_backend,
)
from opsconsole.state import replace_durably

SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {"local": ("path", "workspace_dir")}
"""All settings of a backend, by its kind; unset settings are noted as null.

For other kinds, only the set ones are noted. Terraform reads such a note too, and adds the rest.
"""

_CHANGED = "Backend initialization required: please run `init`"


@dataclass(frozen=True, slots=True)
class DeclaredBackend(ConfiguredBackend):
    """The backend of a program, with the settings of its block and of `-backend-config`.

    Attributes:
        block: The settings of the block alone.
    """

    block: Mapping[str, Any] = field(default_factory=dict)


def declared_backend(program: Program) -> DeclaredBackend | None:
    """Return the backend that a program declares, or None; raise UserError for a wrong setting."""
    block = program.backend
    if block is None:
        return None
    known = SETTINGS.get(block.kind, tuple(sorted(block.settings)))
    for name in block.settings:
        if name not in known:
            raise UserError(
                f'The backend {block.kind} has no setting "{name}".',
                f"It has: {', '.join(known)}.",
            )
    settings = {name: block.settings.get(name) for name in known}
    return DeclaredBackend(block.kind, settings, _hash_block(block.kind, settings), block.settings)


def _hash_block(kind: str, settings: Mapping[str, Any]) -> int:
    """Return Terraform's hash of a backend block, from its kind and its sorted settings."""
    # cty hashes the pair of kind and settings: the CRC-32 of their spelling, with attributes sorted
    # by name.
    values = "".join(f"{_hash_text(settings[name])};" for name in sorted(settings))
    return zlib.crc32(f"<{_hash_text(kind)};<{values}>;>".encode())


def _hash_text(value: Any) -> str:
    if value is None:
        return "~"
    if isinstance(value, bool):
        return "T" if value else "F"
    return json.dumps(value, ensure_ascii=False)


def note_backend(directory: Path, backend: ConfiguredBackend | None) -> None:
    """Note a backend, or the default; raise UserError if the file cannot be written."""
    # Terraform still writes this note in version 3 of the state format.
    content: dict[str, Any] = {"version": 3, "terraform_version": TERRAFORM_VERSION}
    file = data_directory(directory) / "terraform.tfstate"
    if backend is not None:
        content["backend"] = {
            "type": backend.kind,
            "config": dict(backend.settings),
            "hash": backend.block_hash,
        }
    elif not file.exists():
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{file.parent} cannot be made: {error.strerror}.", "Nothing was changed."
        ) from error
    replace_durably(file, json.dumps(content, indent=2).encode())


def is_same_backend(wanted: DeclaredBackend | None, noted: ConfiguredBackend | None) -> bool:
    """Return whether a directory was initialised for the backend of a program."""
    if wanted is None or noted is None:
        return wanted is noted
    if wanted.kind != noted.kind:
        return False
    same_hash = hash_as_noted(wanted, noted) == noted.block_hash
    return same_hash or has_same_settings(wanted, noted)


def has_same_settings(one: ConfiguredBackend, other: ConfiguredBackend) -> bool:
    """Return whether two backends have the same settings; unset ones may be null or absent."""
    return _set_settings(one.settings) == _set_settings(other.settings)


def hash_as_noted(wanted: DeclaredBackend, noted: ConfiguredBackend) -> int:
    """Return Terraform's hash of a block as the engine that wrote a note computes it."""
    said = _set_settings(wanted.block)
    if not said.keys() <= noted.settings.keys():
        return wanted.block_hash
    # The hash includes every setting that an engine knows, set or not, and its note lists them all.
    return _hash_block(wanted.kind, {name: said.get(name) for name in noted.settings})


def _set_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def check_initialised(program: Program) -> None:
    """Raise UserError if the directory is not initialised for the backend of the program."""
    wanted, noted = declared_backend(program), noted_backend(program.root)
    if is_same_backend(wanted, noted):
        return
    if noted is None:
        raise UserError(
            f"{_CHANGED}.\nReason: the program has a backend block, and nothing is noted yet.",
            "`init` notes it and offers to copy the state that there is.",
        )
    what = "has changed" if wanted else f'"{noted.kind}" is no longer in the program'
    raise UserError(
        f"{_CHANGED}.\nReason: the backend configuration {what}.",
        "`init -migrate-state` copies the state there, `init -reconfigure` leaves it where it is. "
        "Nothing was changed.",
    )
