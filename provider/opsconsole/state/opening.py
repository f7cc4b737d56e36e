"""Opening a state: choice of its backend, folding of a crashed run's journal, unlocked reads."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.local_terraform import ConfiguredBackend, noted_backend
from opsconsole.state.backend import (
    DEFAULT_OPTIONS,
    Backend,
    LocalBackend,
    RunOptions,
)
from opsconsole.state.files import read_file
from opsconsole.state.folding import Folded, base_of, fold_journals
from opsconsole.state.journal import Journal, Record, decode_lines
from opsconsole.state.model import State
from opsconsole.state.place import (
    LastPlace,
    expression_in,
    is_native_backend,
    local_path,
    merge_settings,
    workspace_of,
)
from opsconsole.state.session import StateSession
from opsconsole.user_files import file_error

_LIBRARIES: Final = {
    "azurerm": "azure-storage-blob and azure-identity",
    "gcs": "google-cloud-storage",
    "pg": "psycopg 3",
    "s3": "boto3",
}


def must_encrypt_states(environ: Mapping[str, str]) -> bool:
    """Return whether the environment asks OpenTofu to encrypt states."""
    return re.search(r'\bstate"?\s*[:={]', environ.get("TF_ENCRYPTION", "")) is not None


def native_backend(
    kind: str,
    block: Mapping[str, Any],
    workspace: str,
    options: RunOptions = DEFAULT_OPTIONS,
) -> Backend:
    """Return a backend that needs no Terraform; its libraries are imported only now.

    Raises:
        UserError: A setting or a library is missing.
    """
    try:
        backend = resolve_name(f"opsconsole.state.backends.{kind}:{kind.capitalize()}Backend")
    except ImportError as error:
        raise UserError(
            f"The {kind} backend needs {_LIBRARIES[kind]}, which is not installed ({error}).",
            f"Install the extra: pip install 'opsconsole[{kind}]'.",
        ) from error
    made: Backend = backend(block, workspace, options)
    return made


def backend_for(
    configured: ConfiguredBackend | None,
    options: RunOptions,
    *,
    workspace: str | None = None,
    state_path: Path | None = None,
    given: Mapping[str, Any] | None = None,
) -> Backend:
    """Choose the backend of a program.

    Args:
        configured: The program's `terraform.backend`; of the kind `cloud` for a `cloud` block. None
            selects the local backend.
        workspace: Terraform's workspace; None is the selected workspace of the working directory.
        state_path: A state file given by the user (`-state`), which takes precedence over the
            program's.
        given: Settings from `-backend-config`. None uses the block alone and ignores the note of
            `init`.

    Raises:
        UserError: A setting or a library of the backend is missing. Or the backend needs Terraform
            or OpenTofu, and neither is installed.
    """
    configured = configured or ConfiguredBackend("local", {})
    kind, settings = configured.kind, configured.settings
    directory = options.directory
    workspace = workspace or workspace_of(directory)
    if state_path is not None:
        return LocalBackend(state_path, options)
    checks_last_place = given is not None and noted_backend(directory) is None
    if given is not None:
        if text := expression_in(settings):
            raise UserError(
                f"The settings of the backend {kind} hold an expression: {text}. OpenTofu alone"
                " knows where that state is.",
                "Run it with `tofu`, or write the value itself.",
            )
        settings = merge_settings(directory, kind, settings, given)
    if kind != "local" and is_native_backend(kind):
        options = options._replace(checks_place=checks_last_place)
        return native_backend(kind, settings, workspace, options)
    if checks_last_place:
        LastPlace(directory, workspace, kind).check()
    if kind != "local":
        from opsconsole.state.terraform_backend import TerraformBackend

        return TerraformBackend(kind, options)
    return LocalBackend(local_path(directory, settings, workspace), options)


def open_state(backend: Backend) -> StateSession:
    """Lock a state, fold the journal that a crash left, and return a session on the state.

    Raises:
        UserError: The state is locked (the error names the holder), unreadable or of a newer
            version, or a journal beside it does not belong to it.
    """
    if must_encrypt_states(os.environ):
        raise UserError(
            "TF_ENCRYPTION asks for an encrypted state, and the native engine would write the state"
            f" {backend.name} in clear.",
            "Run it with `tofu`, or unset TF_ENCRYPTION.",
        )
    try:
        backend.open()
        try:
            return _open_session(backend)
        except BaseException:
            backend.close()
            raise
    except (OSError, MemoryError) as error:
        raise file_error("open", f"the state {backend.name}", error, _UNCHANGED) from error


def _open_session(backend: Backend) -> StateSession:
    run = secrets.token_hex(6)
    data, stored = backend.read_with_journal()
    remote = decode_lines(stored, backend.name)[0]
    copy_to = backend if backend.keeps_journal else None
    journal, local = None, list[Record]()
    if backend.journal.exists():
        journal, local = Journal.resume(backend.journal, copy_to, stored)
    if not local and not remote:
        if journal is not None:
            # A run that died before its first record was durable left an empty journal.
            journal.remove()
        state = State.parse(data, backend.name)
        return StateSession(backend, Folded(state, base_of(run, state)))
    journal = journal or Journal.create(backend.journal, copy_to, stored)
    try:
        folded = fold_journals(
            local,
            remote,
            data,
            backend.read_copy(),
            backend.name,
            run=run,
            keeps_journal=backend.keeps_journal,
        )
        journal.replace(folded.records)
        session = StateSession(backend, folded, journal)
        session.finish_folding()
        return session
    except BaseException:
        journal.close()
        raise


_UNCHANGED: Final = "Nothing was changed."

_REREADS = 9
"""How often an unreadable state is read again, as a write may be under way."""


def read_state(backend: Backend) -> State:
    """Read a state without locking it, for commands that only show the state.

    The result includes the changes in the journal of a crashed run or of a run in progress. Nothing
    is written, and no other run is kept from starting.

    Raises:
        UserError: The state is unreadable, even after waiting for a write under way.
    """
    return read_stored(backend)[0]


def read_stored(backend: Backend) -> tuple[State, bytes]:
    """Return a state, and a digest of the bytes that were read; otherwise as `read_state`."""
    for _ in range(_REREADS):
        contents = _read_all(backend)
        try:
            return _fold(backend, *contents), _digest(contents)
        except UserError:
            # A write in place may be under way, so that the bytes are partly old and partly new.
            time.sleep(0.05)
    contents = _read_all(backend)
    return _fold(backend, *contents), _digest(contents)


def is_as_stored(backend: Backend, digest: bytes) -> bool:
    """Return whether a state and its journals still have a digest that `read_stored` returned."""
    return _digest(_read_all(backend)) == digest


def _digest(contents: Sequence[bytes]) -> bytes:
    return b"".join(hashlib.blake2b(data).digest() for data in contents)


def read_foreign(
    directory: Path, kind: str, config: Mapping[str, Any], workspace: str
) -> tuple[str, State]:
    """Read the state of another stack; return the name of its place, and the state.

    Args:
        directory: The base of a local backend's relative paths.

    Raises:
        UserError: The state is unreadable.
    """
    # Only Terraform accesses the other kinds; it reads the state in a folder made for that.
    if not is_native_backend(kind):
        from opsconsole.state.terraform_backend import read_with_terraform

        return read_with_terraform(kind, config, workspace)
    if not isinstance(config, Mapping):
        raise UserError(f"The config of the backend {kind} is not an object.")
    configured, options = ConfiguredBackend(kind, config), RunOptions(directory, "read")
    backend = backend_for(configured, options, workspace=workspace)
    return backend.name, read_state(backend)


def _read_all(backend: Backend) -> tuple[bytes, bytes, bytes]:
    """Return the local journal, the state and the stored journal, which may not match."""
    # Read the journal first: changes that leave it meanwhile are in the state by then.
    return (read_file(backend.journal), *backend.read_with_journal())


def _fold(backend: Backend, here: bytes, data: bytes, stored: bytes) -> State:
    local = decode_lines(here, str(backend.journal))[0]
    remote = decode_lines(stored, backend.name)[0]
    if not local and not remote:
        return State.parse(data, backend.name)
    return fold_journals(local, remote, data, backend.read_copy(), backend.name).state
