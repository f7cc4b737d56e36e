"""Opening a state: choosing its backend, adding the journal of a run that crashed, and reading a
state without its lock.

A backend's settings are in the program's block, in `-backend-config`, and in the note of all of
them that `terraform init` keeps in `.terraform/terraform.tfstate`. Where that note names another
place than the block, the state has not been moved yet. Nothing is planned then: the plan would
create everything again. Where there is no such note, the place that this program noted at its last
write serves the same purpose (`LastPlace`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.journal_files import noted_backend
from opsconsole.named_files import file_error
from opsconsole.state.backend import (
    DEFAULT_WORKSPACE,
    Backend,
    LastPlace,
    LocalBackend,
    SnapshotMeta,
    local_path,
    replace_durably,
    workspace_of,
)
from opsconsole.state.backends.base import Run, SharedBackend
from opsconsole.state.backends.settings import need_extra
from opsconsole.state.fold import fold
from opsconsole.state.journal import Journal, read_unresolved, write_unresolved
from opsconsole.state.lock import DEFAULT_LOCKING, Locking
from opsconsole.state.model import State
from opsconsole.state.records import (
    Ended,
    Intent,
    Record,
    Started,
    Writing,
    Written,
    changes_of,
    decode_lines,
    encode_records,
    open_intents,
)
from opsconsole.state.remote import RemoteBackend, read_borrowed
from opsconsole.state.writer import Cadence, StateSession
from opsconsole.terraform_binary import engine_of

_PLACE: Final = {
    "azurerm": ("storage_account_name", "container_name", "key"),
    "gcs": ("bucket", "prefix"),
    "http": ("address",),
    "local": ("path", "workspace_dir"),
    "pg": ("schema_name", "table_name"),
    "s3": ("bucket", "key", "workspace_key_prefix"),
}
"""Kind: the settings that say where a state is. Others may change without moving it.

Each kind but `local` has a module of its name in `backends`, with a class such as `GcsBackend`.
"""

_DEFAULTS: Final = {
    "path": "terraform.tfstate",
    "schema_name": "terraform_remote_state",
    "table_name": "states",
    "workspace_dir": "terraform.tfstate.d",
    "workspace_key_prefix": "env:",
}
"""What those settings are where nothing sets them, as far as they have a default."""


def merged_settings(
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
    for name in _PLACE.get(kind, ()):
        before, now = noted[1].get(name) or _DEFAULTS.get(name), wanted.get(name)
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
    engine = engine_of(directory).command
    return UserError(
        f"The backend of {directory} changed {what} since it was initialised{how}.",
        f"Move the state: `{engine} init -migrate-state`. If it is at the new place already:"
        f" `{engine} init -reconfigure`.",
    )


def expression_in(settings: Any) -> str:
    """Return the first expression in the settings of a backend, which OpenTofu alone evaluates."""
    if isinstance(settings, str):
        return settings if "${" in settings or "%{" in settings else ""
    if isinstance(settings, Mapping):
        settings = list(settings.values())
    if not isinstance(settings, list):
        return ""
    return next(filter(None, map(expression_in, settings)), "")


def encrypts_states(environ: Mapping[str, str]) -> bool:
    """Return whether the environment asks OpenTofu to encrypt states."""
    return re.search(r'\bstate"?\s*[:={]', environ.get("TF_ENCRYPTION", "")) is not None


def is_native(kind: str) -> bool:
    """Return whether a kind of remote backend is spoken to without Terraform."""
    return kind in _PLACE and kind != "local"


def native_backend(
    kind: str, block: Mapping[str, Any], workspace: str = DEFAULT_WORKSPACE, run: Run | None = None
) -> SharedBackend:
    """Return a backend of a kind that is spoken to natively; its libraries are imported only now.

    Args:
        block: The backend's settings, merged.

    Raises:
        UserError: A setting or a library is missing.
    """
    try:
        module = import_module(f"opsconsole.state.backends.{kind}")
    except ImportError as error:
        raise need_extra(kind, error) from error
    made: SharedBackend = getattr(module, f"{kind.capitalize()}Backend")(
        block, workspace, run or Run()
    )
    return made


def backend_for(
    directory: Path,
    block: Mapping[str, Any] | None,
    operation: str,
    locking: Locking = DEFAULT_LOCKING,
    state_path: Path | None = None,
    journals: Path | None = None,
    workspace: str | None = None,
    journal: Path | None = None,
    given: Mapping[str, Any] | None = None,
) -> LocalBackend | RemoteBackend | SharedBackend:
    """Choose the backend of a program.

    Args:
        directory: The working directory: where Terraform would run.
        block: What the program has under `terraform.backend`, such as `{"local": {"path": …}}`; or
            `{"cloud": …}` for a `cloud` block. None is the local backend.
        operation: What this process does, for another process that waits for the lock: `plan`,
            `apply`.
        state_path: A state file given by the user (`-state`), which comes before the program's.
        journals: The folder for the journal of a remote state; None is the working directory.
        journal: The journal itself (`--journal`), wherever the state is.
        workspace: Terraform's workspace; None is the one that is selected in `directory`.
        given: Settings from `-backend-config`; None reads the block alone, whatever `init` noted.

    Raises:
        UserError: A setting or a library of the backend is missing; or it is one that only
            Terraform speaks to, and there is no Terraform or OpenTofu.
    """
    kind, settings = next(iter((block or {"local": {}}).items()))
    if isinstance(settings, list):
        settings = settings[0] if settings else {}
    workspace = workspace or workspace_of(directory)
    if state_path is not None:
        return LocalBackend(state_path, operation, locking, journal)
    checks_last_place = given is not None and noted_backend(directory) is None
    if given is not None:
        if text := expression_in(settings):
            raise UserError(
                f"The settings of the backend {kind} hold an expression: {text}. OpenTofu alone"
                " knows where that state is.",
                "Run it with `tofu`, or write the value itself.",
            )
        settings = merged_settings(directory, kind, settings or {}, given)
    if is_native(kind):
        run = Run(directory, operation, locking, journals, journal, checks_last_place)
        return native_backend(kind, settings or {}, workspace, run)
    if checks_last_place:
        LastPlace(directory, workspace, kind).check()
    if kind != "local":
        return RemoteBackend(directory, kind, operation, locking, journal)
    path = local_path(directory, settings or {}, workspace)
    return LocalBackend(path, operation, locking, journal)


def open_state(backend: Backend, cadence: Cadence | None = None) -> StateSession:
    """Lock a state, add the journal that a crash left, and return a session on it.

    Raises:
        UserError: It is locked (the holder is named), unreadable, of a newer version, or a journal
            lies beside it that does not belong to it.
    """
    if encrypts_states(os.environ):
        raise UserError(
            "TF_ENCRYPTION asks for an encrypted state, and the native engine would write the state"
            f" {backend.name} in clear.",
            "Run it with `tofu`, or unset TF_ENCRYPTION.",
        )
    try:
        backend.open()
        try:
            backend.fetch_unresolved()
            state, folded = _load(backend)
            pace = cadence or (Cadence() if backend.backup else Cadence(seconds=4.0, share=0.5))
            return StateSession(backend, state, pace, folded)
        except BaseException:
            backend.close()
            raise
    except (OSError, MemoryError) as error:
        raise file_error("open", f"the state {backend.name}", error, _UNCHANGED) from error


_UNCHANGED: Final = "Nothing was changed."

_READ_TRIES = 10
"""How often a state is read while a write is under way."""


def read_state(backend: Backend) -> State:
    """Read a state without locking it, for commands that only show it.

    The changes of a journal are in what is returned, whether a crash left it or a run is writing
    it. Nothing is written, and nobody is kept from starting.

    Raises:
        UserError: It is unreadable, also after waiting for a write that was under way.
    """
    return read_stored(backend)[0]


def read_stored(backend: Backend) -> tuple[State, bytes]:
    """Read a state as `read_state` does; return it, and a digest of the bytes that it was read of.

    Raises:
        UserError: As of `read_state`.
    """
    for _ in range(_READ_TRIES - 1):
        found = _found(backend)
        try:
            return _folded(backend, *found), _digest(found)
        except UserError:
            time.sleep(0.05)
    found = _found(backend)
    return _folded(backend, *found), _digest(found)


def is_as_stored(backend: Backend, digest: bytes) -> bool:
    """Return whether a state and its journals still have the digest of `read_stored`.

    Raises:
        UserError: They cannot be read.
    """
    return _digest(_found(backend)) == digest


def _digest(found: Sequence[bytes]) -> bytes:
    return b"".join(hashlib.blake2b(data, digest_size=16).digest() for data in found)


def read_foreign(
    directory: Path, kind: str, config: Mapping[str, Any], workspace: str
) -> tuple[str, State]:
    """Read the state of another stack; return what its place is called, and the state.

    A kind of backend that only Terraform speaks to is read by a Terraform in a folder made for it.

    Args:
        directory: Where relative paths of a local backend start.

    Raises:
        UserError: It is unreadable.
    """
    if kind != "local" and not is_native(kind):
        return read_borrowed(kind, config, workspace)
    backend = backend_for(directory, {kind: config}, "read", workspace=workspace)
    return backend.name, read_state(backend)


def _found(backend: Backend) -> tuple[bytes, bytes, bytes]:
    """Return the local journal, the stored one and the state, which need not fit."""
    return _bytes_of(backend.journal), backend.fetch_journal(), backend.read()


def _folded(backend: Backend, here: bytes, stored: bytes, data: bytes) -> State:
    records = _journalled(backend, here)
    if stored and not _same_run(records, stored):
        records = decode_lines(stored, backend.name)[0]
    if not records:
        return State.parse(data, backend.name)
    return fold(records, data, _backup(backend), backend.name).state


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise file_error("read", file, error, _UNCHANGED) from error


def _journalled(backend: Backend, data: bytes) -> list[Record]:
    """Return the whole records of a local journal, without claiming it."""
    return decode_lines(data.rstrip(b"\0"), str(backend.journal))[0]


def _same_run(records: Sequence[Record], stored: bytes) -> bool:
    """Return whether a journal here is of the run whose journal is stored: then it knows more."""
    here = next((item.at for item in records if isinstance(item, Started)), None)
    there = decode_lines(stored, "the stored journal")[0]
    return here is not None and here in [item.at for item in there if isinstance(item, Started)]


def _load(backend: Backend) -> tuple[State, int]:
    stored = backend.fetch_journal()
    if not backend.keeps_companions or not stored:
        # A journal that is only here was added elsewhere, or its run ended before it sent anything.
        return _load_here(backend, listing=not backend.keeps_companions)
    folded = 0
    if backend.journal.exists():
        here = _journalled(backend, _bytes_of(backend.journal))
        if not _same_run(here, stored):
            folded = _load_here(backend, listing=False)[1]
    if not backend.journal.exists():
        replace_durably(backend.journal, stored)
    state, count = _load_here(backend, listing=True)
    backend.store_unresolved()
    backend.store_journal(b"")
    return state, folded + count


def _load_here(backend: Backend, *, listing: bool) -> tuple[State, int]:
    """Read the state, and add the journal that is on this machine.

    Args:
        listing: Whether its open intents are listed as unresolved.
    """
    data = backend.read()
    if not backend.journal.exists():
        return State.parse(data, backend.name), 0
    journal, records = Journal.resume(backend.journal)
    try:
        if not records:
            journal.remove()
            return State.parse(data, backend.name), 0
        return _take_in(backend, journal, records, data, listing=listing)
    except BaseException:
        journal.close()
        raise


def _take_in(
    backend: Backend, journal: Journal, records: Sequence[Record], data: bytes, *, listing: bool
) -> tuple[State, int]:
    folded = fold(records, data, _backup(backend), backend.name)
    state = folded.state
    ended = isinstance(records[-1], Ended)
    if not ended:
        _update_unresolved(backend, records, listing=listing)
    backed_up = any(isinstance(record, Writing) for record in records)
    if folded.rebased is not None:
        replace_durably(backend.journal, encode_records(folded.rebased))
        journal.close()
        journal, records = Journal.resume(backend.journal)
        backed_up = False
    if state.changed:
        if not backed_up:
            backend.back_up()
        serial = state.raise_serial()
        journal.append(Writing(serial, state.digest()))
        journal.flush_now()
        wanted = SnapshotMeta(state.lineage, serial)
        stored = backend.write(state.to_bytes(), wanted)
        state.lineage, state.serial = stored
        journal.append(Written(stored.serial, stored.lineage))
    journal.append(Ended())
    journal.flush_now()
    journal.remove()
    return state, 0 if ended else len(changes_of(records))


def _update_unresolved(backend: Backend, records: Sequence[Record], *, listing: bool) -> None:
    """List the open intents as unresolved, or only strike off what this journal alone knows."""
    before = {call.id: call for call in read_unresolved(backend.unresolved)}
    left_open = {call.id: call for call in open_intents(records)}
    if listing:
        after = {**before, **left_open}
    else:
        settled = {item.id for item in records if isinstance(item, Intent)} - left_open.keys()
        after = {key: call for key, call in before.items() if key not in settled}
    if after.keys() != before.keys():
        write_unresolved(backend.unresolved, after.values())
        if not listing:
            backend.store_unresolved()


def _backup(backend: Backend) -> bytes | None:
    return None if backend.backup is None else _bytes_of(backend.backup)
