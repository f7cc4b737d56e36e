"""Copies a state from one backend to another, where `init` finds that the backend has changed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from opsconsole.errors import UserError
from opsconsole.phrases import plural
from opsconsole.standin.command_line import Arguments
from opsconsole.standin.engine_choice import supports_backend
from opsconsole.standin.recorded_backend import RecordedBackend
from opsconsole.state import (
    DEFAULT_WORKSPACE,
    Backend,
    LocalBackend,
    Locking,
    SnapshotMeta,
    State,
    backend_for,
    open_state,
    read_state,
    workspace_of,
)

_QUESTION = """\
Do you want to copy existing state to the new backend?
  The state that is there ({source}) holds {count}. {other}
  Enter "yes" to copy it, and "no" to go on without it.

  Enter a value: """


def migrate(
    directory: Path,
    source: RecordedBackend | None,
    target: RecordedBackend | None,
    given: Arguments,
    say: Callable[[str, str], None],
) -> None:
    """Copy the state of `source` to `target`, if there is one and the user agrees; None: default.

    Raises:
        UserError: It cannot be copied, or nothing may be asked. Nothing was changed then.
    """
    from opsconsole.cli.arguments import seconds  # loads the engine's options

    _check_source(directory, source)
    locking = Locking(given.on("lock", True), seconds(given.text("lock-timeout", "0")))
    old, new = (
        backend_for(
            directory, None if item is None else {item.kind: item.settings}, "init", locking
        )
        for item in (source, target)
    )
    if isinstance(old, LocalBackend) and isinstance(new, LocalBackend) and old.path == new.path:
        return
    if read_state(old).empty:
        return
    with open_state(old) as session:
        state = session.state
        there = read_state(new)
        if there.lineage == state.lineage and there.digest() == state.digest():
            return
        if not _agreed(given, old, state, there):
            return
        _write(new, state.snapshot().pieces(), SnapshotMeta(state.lineage, state.serial))
        say(f"Copied the state to {new.name}.", "")
    if source is None:
        # The default state file is left empty, its content in the backup, as Terraform does.
        _write(old, [], SnapshotMeta("", 0))


def _check_source(directory: Path, source: RecordedBackend | None) -> None:
    if source is not None and not supports_backend(source.kind):
        raise UserError(
            f"The state is in the backend {source.kind}, which only Terraform supports.",
            "Set OPSCONSOLE_ENGINE=terraform to let Terraform copy it.",
        )
    settings = source.settings if source is not None and source.kind == "local" else {}
    folder = directory / (settings.get("workspace_dir") or "terraform.tfstate.d")
    if workspace_of(directory) != DEFAULT_WORKSPACE or (folder.is_dir() and any(folder.iterdir())):
        raise UserError(
            "There are several workspaces, which the native engine does not copy.",
            "Set OPSCONSOLE_ENGINE=terraform to let Terraform copy them.",
        )


def _agreed(given: Arguments, old: Backend, state: State, there: State) -> bool:
    if given.on("force-copy"):
        return True
    other = "There is none in the new one." if there.empty else "It would replace another one."
    if not given.on("input", True):
        raise UserError(
            "The state is to be copied to another backend, and -input=false forbids the question.",
            "Add -force-copy to copy it, or -reconfigure to leave it where it is.",
        )
    held = plural(len(state), "instance")
    sys.stdout.write(_QUESTION.format(source=old.name, count=held, other=other))
    sys.stdout.flush()
    answer = sys.stdin.readline().strip()
    sys.stdout.write("\n")
    if answer not in ("yes", "no"):
        raise UserError("The answer is neither yes nor no.", "Nothing was changed.")
    return answer == "yes"


def _write(backend: Backend, pieces: Sequence[str], meta: SnapshotMeta) -> None:
    """Replace the state that a backend holds, which is backed up."""
    backend.open()
    try:
        if backend.read():
            backend.back_up()
        backend.write(pieces, meta)
    finally:
        backend.close()
