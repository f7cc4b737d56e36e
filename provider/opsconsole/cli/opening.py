"""Loads the program of a command and its variables, and opens the backend of its state."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from opsconsole import language, resources
from opsconsole.address import LOCAL_NAME
from opsconsole.diagnostics import Mistakes
from opsconsole.errors import UserError
from opsconsole.language import (
    Evaluator,
    Program,
    ProgramMistakes,
    example_values,
    find_mistakes,
    find_output,
    load_directory,
    read_backend_options,
    readable_part,
    resolve_variables,
    stacks_of,
)
from opsconsole.state import (
    Backend,
    ConfiguredBackend,
    LockInfo,
    Locking,
    RunOptions,
    State,
    StateSession,
    backend_for,
    noted_backend,
    open_state,
    read_state,
)
from opsconsole.text import plural

if TYPE_CHECKING:
    from opsconsole.reconcile.providers import Providers
    from opsconsole.v1.settings import Settings


def program_form(directory: Path) -> Literal["app", "files", ""]:
    if (directory / "cdktf.json").exists():
        return "app"
    if _has_files(directory):
        return "files"
    return "app" if (directory / "cdktf.out" / "manifest.json").exists() else ""


def _find_program(args: argparse.Namespace) -> tuple[Path, Literal["app", "files", ""]]:
    """Return the directory of the program that the command line names, and its form."""
    here = Path.cwd()
    if args.dir is not None:
        return args.dir, "files"
    # Like Terraform, the stand-in knows only files.
    if args.standin:
        return here, "files" if _has_files(here) else ""
    return here, program_form(here)


def load_program(args: argparse.Namespace, *, again: bool = True) -> Program:
    """Load the program that the command line names, or raise UserError.

    `again` runs the app of a cdktf.json although there is output of an earlier run.
    """
    directory, form = _find_program(args)
    if form == "files" or args.standin:
        if args.stack:
            raise UserError(
                f"--stack names a stack of an app, and the program is the files of {directory}.",
                "Leave --stack out, or run the command beside the cdktf.json of the app.",
            )
        return load_directory(directory, resources)
    if not args.stack:
        print_warning_of_files(directory)
    return language.load_program(directory, resources, args.stack, again=again)


def each_stack(args: argparse.Namespace) -> list[argparse.Namespace]:
    """Return the arguments of a command once for each stack: of `--stack`, or all of the app."""
    directory, form = _find_program(args)
    if args.stack or args.environment or form != "app":
        return [args]
    names = stacks_of(find_output(directory, again=False))
    return [argparse.Namespace(**{**vars(args), "stack": name}) for name in names] or [args]


def print_warning_of_files(directory: Path) -> None:
    """Warn on stderr that the app is used, if the directory also has `*.tf.json` files."""
    files = ", ".join(sorted(path.name for path in directory.glob("*.tf.json")))
    # In such a directory, `terraform` and the stand-in use the files.
    if files and (directory / "cdktf.json").exists():
        sys.stderr.write(
            f"Warning: {directory} holds {files} beside cdktf.json: the app is used. Give --dir=. "
            "for the files.\n"
        )


def load_checked(args: argparse.Namespace) -> Program:
    """Load the program that the command line names.

    Raises:
        Mistakes: It cannot be read; the mistakes in its readable part are reported too.
        UserError: There is none.
    """
    try:
        return load_program(args)
    except ProgramMistakes as unread:
        further = find_mistakes(unread.program, example_values(unread.program))
        errors = (item for item in further if item.is_error)
        raise Mistakes([*unread.diagnostics, *errors]) from unread


def has_program(args: argparse.Namespace) -> bool:
    """Return whether there is a program here, or the command line names one."""
    return args.stack is not None or _find_program(args)[1] != ""


def _has_files(directory: Path) -> bool:
    return any(directory.glob("*.tf.json"))


def read_variables(args: argparse.Namespace, program: Program) -> dict[str, Any]:
    """Return the values of a program's variables, from all of Terraform's sources."""
    return resolve_variables(
        program, directory=program.root, environment=os.environ, arguments=args.variables
    )


def read_settings(args: argparse.Namespace) -> tuple[Settings, str]:
    """Return the settings of a command without a plan, and words for their source.

    They come from the program's provider block; without a program, from the environment alone.
    """
    from opsconsole.v1.settings import Settings  # loads the client

    if args.environment or not has_program(args):
        if args.provider:
            # Otherwise the command would go to another console than the one that it names.
            why = "--environment is given" if args.environment else f"{Path.cwd()} has no program"
            raise UserError(
                f"--provider names a provider configuration of a program, and {why}.",
                "Leave --provider out for the settings of the environment.",
            )
        return Settings.from_values({}, os.environ), "the environment"
    providers = providers_of(args)
    key = f"{LOCAL_NAME}.{args.provider}" if args.provider else LOCAL_NAME
    stack = f" of stack {providers.program.stack}" if providers.program.stack else ""
    return providers.settings(key), f"provider {key}{stack}, and the environment"


def providers_of(args: argparse.Namespace) -> Providers:
    """Return the providers of the program, for settings that need no state.

    Raises:
        UserError: The program cannot be read.
    """
    from opsconsole.reconcile.providers import Providers  # loads the client

    program = load_program(args, again=False)
    evaluator = Evaluator(program, read_variables(args, program), lambda address: None)
    return Providers(program, evaluator, os.environ)


def open_backend(
    args: argparse.Namespace, program: Program, command: str, workspace: str | None = None
) -> Backend:
    """Open the backend of a program's state.

    Args:
        command: The name of this command, for another run that waits for the lock.
        workspace: By default the selected one.
    """
    configured = program.backend
    if configured is not None and args.standin:
        # Settings from `init -backend-config` override the block, and only the note has them.
        noted = noted_backend(program.root)
        configured = noted if noted and noted.kind == configured.kind else configured
    return _open_backend_at(args, program.root, configured, command, workspace)


def _open_backend_at(
    args: argparse.Namespace,
    directory: Path,
    configured: ConfiguredBackend | None,
    command: str,
    workspace: str | None,
) -> Backend:
    journals = args.journal_dir or os.environ.get("OPSCONSOLE_JOURNAL_DIR")
    options = RunOptions(
        directory,
        command,
        Locking(args.lock, args.lock_timeout, _report_wait),
        Path(journals) if journals else None,
        args.journal,
    )
    given = read_backend_options(args.backend_config)
    return backend_for(configured, options, workspace=workspace, state_path=args.state, given=given)


@contextmanager
def open_session(
    args: argparse.Namespace, backend: Backend, *, writes: bool = True, quiet: bool = False
) -> Iterator[StateSession]:
    """Open a state and lock it; report on stderr what it got from an interrupted run.

    Args:
        writes: Whether the command writes the state; without a lock, this requires consent.
        quiet: Report warnings alone, because the command itself tells of the changes.
    """
    check_lockable(args, backend, writes=writes)
    with open_state(backend) as session:
        report_folded(session, quiet=quiet)
        yield session


def report_folded(session: StateSession, *, quiet: bool = False) -> None:
    """Report on stderr how many changes of an interrupted run the state got, and the warnings."""
    if session.folded_count and not quiet:
        changes = plural(session.folded_count, "change")
        sys.stderr.write(f"Added {changes} of an interrupted run to the state.\n")
    sys.stderr.writelines(f"Warning: {warning}\n" for warning in session.warnings)


def check_lockable(args: argparse.Namespace, backend: Backend, *, writes: bool = True) -> None:
    """Warn that a backend cannot be locked; require the user's consent to a write."""
    if not args.lock:
        return
    why = backend.unlocked_reason()
    if not why:
        return
    message = f"{why} Another run may write at the same time. What it writes is not overwritten."
    if writes and not args.unlocked_backend:
        raise UserError(
            message,
            "Give --unlocked-backend (OPSCONSOLE_UNLOCKED_BACKEND=1) to go on without a lock.",
        )
    sys.stderr.write(f"Warning: {message}\n")


def _report_wait(holder: LockInfo) -> None:
    sys.stderr.write(f"Waiting for the state lock, held by {holder}…\n")


def program_directory(args: argparse.Namespace) -> Path:
    """Return the working directory of the program or the state that the command line names."""
    # The files here need not be read, as their directory is known.
    is_elsewhere = args.dir is not None or _find_program(args)[1] == "app"
    program = _synthesised_program(args) if is_elsewhere else None
    return Path.cwd() if program is None else program.root


def _synthesised_program(args: argparse.Namespace) -> Program | None:
    return readable_part(lambda: load_program(args, again=False))


def open_state_backend(
    args: argparse.Namespace, command: str, workspace: str | None = None
) -> Backend:
    """Open the backend of a state, for commands that need no program.

    In this order: `--state`, the backend of the program synthesised before, the backend noted by
    `terraform init` in this directory, `terraform.tfstate`.
    """
    here = Path.cwd()
    if args.state is not None:
        return _open_backend_at(args, here, None, command, workspace)
    program = _synthesised_program(args) if _find_program(args)[1] else None
    if program is not None:
        return open_backend(args, program, command, workspace)
    noted = noted_backend(here)
    if noted is None and not (here / "terraform.tfstate").exists():
        raise UserError(
            f"There is neither a program nor a state in {here}.",
            "Go to the directory of the app, or name the state with --state=PATH.",
        )
    return _open_backend_at(args, here, noted, command, workspace)


def load_state(args: argparse.Namespace, command: str) -> State:
    """Return the state of `open_state_backend`, for commands that only show it."""
    backend = open_state_backend(args, command)
    # For `terraform output`, a state that does not exist has no outputs.
    must_exist = args.state is not None and not (args.standin and command == "output")
    # A crashed first run may have left only a journal.
    if must_exist and not args.state.exists() and not backend.journal.exists():
        raise UserError(f"There is no state {args.state}.", "Check the path.")
    return read_state(backend)
