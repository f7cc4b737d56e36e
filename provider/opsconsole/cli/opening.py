"""Opening what a command works on: the program, its variables and the backend of its state.

A directory with a cdktf.json needs no argument: its app is run. Nothing is planned here.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opsconsole.cli.arguments import stands_in
from opsconsole.errors import UserError
from opsconsole.language.model import Program
from opsconsole.language.sources import load_program
from opsconsole.language.synthesis import read_app
from opsconsole.language.variables import resolve_variables
from opsconsole.state.backend import Backend
from opsconsole.state.local import data_directory
from opsconsole.state.lock import LockInfo
from opsconsole.state.opening import Locking, backend_for


def open_program(args: argparse.Namespace, *, run_app: bool = True) -> Program:
    """Return the program that the command line names.

    Args:
        run_app: Whether the app of a cdktf.json is run; else what it wrote before is read, where
            it wrote anything.

    Raises:
        UserError: There is none, or it cannot be read.
    """
    here = Path.cwd()
    files = args.dir
    if files is None and not (here / "cdktf.json").exists() and _has_files(here):
        files = here
    if not run_app and not _synthesised(here):
        run_app = True
    return load_program(here, args.stack, files=files, run_app=run_app)


def has_program(args: argparse.Namespace) -> bool:
    """Tell whether there is a program here, or the command line names one."""
    here = Path.cwd()
    named = args.dir is not None or args.stack is not None
    return named or (here / "cdktf.json").exists() or _synthesised(here) or _has_files(here)


def _has_files(directory: Path) -> bool:
    return any(directory.glob("*.tf.json"))


def _synthesised(directory: Path) -> bool:
    config = directory / "cdktf.json"
    output = read_app(config).output if config.exists() else directory / "cdktf.out"
    return (output / "manifest.json").exists()


def variables_of(args: argparse.Namespace, program: Program) -> dict[str, Any]:
    """Return the values of a program's variables, from everywhere that Terraform takes them.

    Raises:
        UserError: One has no value, or does not fit its type.
    """
    return resolve_variables(
        program, directory=program.root, environment=os.environ, arguments=args.variables
    )


def open_backend(args: argparse.Namespace, program: Program, operation: str) -> Backend:
    """Return the backend of a program's state.

    Args:
        operation: What this process does, for whoever waits for the lock.

    Raises:
        UserError: It needs a program that is not installed.
    """
    block = program.backend
    settings: Mapping[str, Any] | None = None if block is None else {block.type: block.settings}
    if block is not None and stands_in(args):
        # What `init -backend-config` added stands in the note alone.
        noted = _noted_backend(program.root) or {}
        settings = noted if block.type in noted else settings
    return backend_for(program.root, settings, operation, locking(args), args.state)


def locking(args: argparse.Namespace) -> Locking:
    """Return how the state is locked, waiting told on stderr."""
    lock, timeout = getattr(args, "lock", True), getattr(args, "lock_timeout", 0.0)
    return Locking(lock, timeout, _tell_wait)


def _tell_wait(holder: LockInfo) -> None:
    sys.stderr.write(f"Waiting for the state lock, held by {holder}…\n")


def state_backend(args: argparse.Namespace, operation: str) -> Backend:
    """Return the backend of a state, for commands that look at no program.

    `-state`, else what the program says that synthesis wrote before, else the place that
    `terraform init` noted in this directory, else `terraform.tfstate`.

    Raises:
        UserError: There is neither a program nor a state here.
    """
    here = Path.cwd()
    if args.state is not None:
        return backend_for(here, None, operation, locking(args), args.state)
    if args.dir is not None or _synthesised(here) or (here / "cdktf.json").exists():
        return open_backend(args, open_program(args, run_app=False), operation)
    if _has_files(here):
        return open_backend(args, open_program(args), operation)
    noted = _noted_backend(here)
    if noted is None and not (here / "terraform.tfstate").exists():
        raise UserError(
            f"There is neither a program nor a state in {here}.",
            "Go to the directory of the app, or name the state with -state=PATH.",
        )
    return backend_for(here, noted, operation, locking(args))


def _noted_backend(directory: Path) -> Mapping[str, Any] | None:
    """Return the backend that `terraform init` set up in a directory."""
    try:
        noted = json.loads((data_directory(directory) / "terraform.tfstate").read_bytes())
        backend = noted["backend"]
        return {str(backend["type"]): backend.get("config") or {}}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        # Not initialised, or not by a Terraform that we know: then nothing is noted.
        return None
