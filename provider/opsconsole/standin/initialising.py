"""`init`: notes the backend of the program, and copies the state of a former backend."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from opsconsole import resources
from opsconsole.cli.standard_streams import ask
from opsconsole.errors import UserError
from opsconsole.language import load_directory, read_backend_options
from opsconsole.local_terraform import WORKSPACES_FOLDER, ConfiguredBackend, cli_of, noted_backend
from opsconsole.standin.backend_note import (
    SETTINGS,
    DeclaredBackend,
    declared_backend,
    has_same_settings,
    hash_as_noted,
    is_same_backend,
    note_backend,
)
from opsconsole.standin.command_line import ProgramCall
from opsconsole.state import (
    DEFAULT_WORKSPACE,
    Backend,
    LocalBackend,
    Locking,
    RunOptions,
    State,
    backend_for,
    is_native_backend,
    open_state,
    read_state,
    workspace_of,
)
from opsconsole.text import join_words, plural

_QUESTION = """\
Do you want to copy existing state to the new backend?
  The state that is there ({source}) holds {count}. {other}
  Enter "yes" to copy it, and "no" to go on without it.

  Enter a value: """

Say = Callable[[str, str], None]
"""Prints a sentence, as text or as a message of Terraform; the second text is the message's code,
or empty."""


def run(call: ProgramCall) -> int:
    if not call.is_on("json"):
        return _prepare(Path.cwd(), call, _print_sentence)
    from opsconsole.cli import message_stream
    from opsconsole.reports import messages

    def say(text: str, code: str) -> None:
        message_stream.emit(messages.init_output(text, code))

    return message_stream.run_with_messages(lambda: _prepare(Path.cwd(), call, say))


def _print_sentence(text: str, code: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _prepare(directory: Path, call: ProgramCall, say: Say) -> int:
    cli = cli_of(directory).name
    if not any(directory.glob("*.tf.json")):
        say(f"{cli} initialized in an empty directory!", "output_init_empty_message")
        return 0
    program = load_directory(directory, resources)
    if call.is_on("backend", True):
        say("Initializing the backend...", "initializing_backend_message")
        wanted = _add_options(declared_backend(program), call.values_of("backend-config"))
        _set_backend(directory, wanted, call, say)
    say("Initializing provider plugins...", "initializing_provider_plugin_message")
    say("- the native engine needs none", "provider_already_installed_message")
    # Clients look for these words.
    say(f"\n{cli} has been successfully initialized!", "output_init_success_message")
    return 0


def _add_options(
    wanted: DeclaredBackend | None, options: tuple[str, ...]
) -> DeclaredBackend | None:
    """Add the settings of `-backend-config`: `NAME=VALUE`, or a file of them."""
    if not options:
        return wanted
    if wanted is None:
        raise UserError(
            "-backend-config is given, and the program has no backend block.", "Declare one."
        )
    settings = dict(wanted.settings)
    for name, value in read_backend_options(options).items():
        if name not in settings and wanted.kind in SETTINGS:
            raise UserError(
                f'-backend-config: the backend {wanted.kind} has no setting "{name}".',
                f"It has: {', '.join(settings)}.",
            )
        settings[name] = value
    return replace(wanted, settings=settings)


def _set_backend(
    directory: Path, wanted: DeclaredBackend | None, call: ProgramCall, say: Say
) -> None:
    noted = noted_backend(directory)
    unchanged = is_same_backend(wanted, noted)
    # The hash of a block, by which backends may be equal, does not include `-backend-config`.
    if unchanged and wanted and noted and call.values_of("backend-config"):
        unchanged = has_same_settings(wanted, noted)
    if unchanged:
        if wanted and noted:
            block_hash = hash_as_noted(wanted, noted)
            # The same settings may come from the block now, but from `-backend-config` before. The
            # hash of the block, which Terraform compares, then differs.
            if block_hash != noted.block_hash:
                note_backend(directory, replace(noted, block_hash=block_hash))
        return
    choices = ("reconfigure", "migrate-state", "force-copy")
    if noted is not None and not any(map(call.is_on, choices)):
        raise UserError(
            "Backend configuration changed\n\nThe program names another backend than the "
            "one that this directory was initialised with. The state may have to be copied.",
            "`init -migrate-state` copies the state, `init -reconfigure` leaves it where it is.",
        )
    # The state is copied before the backend is noted, so the old note stays valid after a failure.
    if not call.is_on("reconfigure"):
        _copy_state(directory, noted, wanted, call, say)
    note_backend(directory, wanted)
    if wanted is None:
        kind = noted.kind if noted else "local"
        say(f'\nSuccessfully unset the backend "{kind}". The state is kept locally.', "")
        return
    say(f'\nSuccessfully configured the backend "{wanted.kind}"!', "")


def _copy_state(
    directory: Path,
    source: ConfiguredBackend | None,
    target: ConfiguredBackend | None,
    call: ProgramCall,
    say: Say,
) -> None:
    """Copy the state of `source`, if it has one, to `target`, if the user agrees.

    None is the default backend.

    Raises:
        UserError: The state cannot be copied, or the user cannot be asked. Nothing was changed.
    """
    from opsconsole.cli import opening
    from opsconsole.cli.options import read_duration  # loads the definitions

    _check_source(directory, source)
    locking = Locking(call.is_on("lock", True), read_duration(call.text("lock-timeout", "0")))
    options = RunOptions(directory, "init", locking)
    old, new = (backend_for(backend, options) for backend in (source, target))
    if isinstance(old, LocalBackend) and isinstance(new, LocalBackend) and old.path == new.path:
        return
    stored = read_state(old)
    # A call of unknown outcome may be all that an interrupted run left.
    if stored.empty and not stored.serial and not old.journal.exists():
        return
    # Read the state again under the lock, because it may have changed since the first read.
    with open_state(old) as session:
        opening.report_folded(session)
        if session.open_intents:
            intents = [f"{item.address} ({item.operation})" for item in session.open_intents]
            raise UserError(
                "The state cannot be copied: an interrupted run did not learn the outcome of "
                f"{join_words(intents)}, and no run on the new backend would ask for it.",
                f"Name the backend of the state {old.name} in the program again and run `plan`, "
                "which asks the console. Then change the backend.",
            )
        state = session.state
        if state.empty:
            return
        there = read_state(new)
        if there.lineage == state.lineage and there.digest() == state.digest():
            return
        if not _ask_to_copy(call, old, state, there):
            return
        with open_state(new) as copy:
            copy.replace(state.to_bytes())
        say(f"Copied the state to {new.name}.", "")
        if source is None:
            # As in Terraform, the default state file is left empty, and its content is in the
            # backup.
            session.replace(b"")


def _check_source(directory: Path, source: ConfiguredBackend | None) -> None:
    cli = cli_of(directory).name
    if source is not None and not is_native_backend(source.kind):
        raise UserError(
            f"The state is in the backend {source.kind}, which only {cli} supports.",
            f"Set OPSCONSOLE_ENGINE=terraform to let {cli} copy it.",
        )
    settings = source.settings if source is not None and source.kind == "local" else {}
    folder = directory / (settings.get("workspace_dir") or WORKSPACES_FOLDER)
    if workspace_of(directory) != DEFAULT_WORKSPACE or (folder.is_dir() and any(folder.iterdir())):
        raise UserError(
            "There are several workspaces, which the native engine does not copy.",
            f"Set OPSCONSOLE_ENGINE=terraform to let {cli} copy them.",
        )


def _ask_to_copy(call: ProgramCall, old: Backend, state: State, there: State) -> bool:
    if call.is_on("force-copy"):
        return True
    other = "There is none in the new one." if there.empty else "It would replace another one."
    if not call.is_on("input", True):
        raise UserError(
            "The state is to be copied to another backend, and -input=false forbids the question.",
            "Add -force-copy to copy it, or -reconfigure to leave it where it is.",
        )
    held = plural(len(state), "instance")
    answer = ask(_QUESTION.format(source=old.name, count=held, other=other))
    sys.stdout.write("\n")
    if answer not in ("yes", "no"):
        raise UserError("The answer is neither yes nor no.", "Nothing was changed.")
    return answer == "yes"
