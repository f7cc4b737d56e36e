"""`opsconsole force-unlock ID`: release the lock of a run that is gone."""

from __future__ import annotations

import argparse
import sys

from opsconsole.cli import arguments, opening
from opsconsole.cli.command_line import Parser
from opsconsole.errors import UserError
from opsconsole.state import LocalBackend, LockInfo, StorageBackend, info_file


def register(parser: Parser) -> None:
    """Describe the command and add its arguments."""
    parser.describe(
        "Release the lock of this ID. Make sure that no run holds it any more: one that still goes "
        "on stops at its next write, and keeps what it did in its journal.",
        example="opsconsole force-unlock 6638e010-8fb0-4ab0-bdd4-3f1cb8ae1b0e",
    )
    parser.add_argument("id", metavar="ID", help="the lock's ID, as the refusal names it")
    arguments.flag(parser, "force", "do not ask")
    arguments.add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Release the lock; return the exit code."""
    backend = opening.state_backend(args, "force-unlock")
    if isinstance(backend, LocalBackend):
        raise _local(backend)
    if not isinstance(backend, StorageBackend):
        raise UserError(
            f"{backend.name} is reached through Terraform.",
            f"Run `terraform force-unlock {args.id}` there.",
        )
    if not args.force and not _confirmed(backend.name):
        sys.stdout.write("Nothing was released.\n")
        return 1
    try:
        backend.storage.force_unlock(args.id)
    finally:
        backend.storage.close()
    sys.stdout.write(f"The state {backend.name} is not locked any more.\n")
    return 0


def _confirmed(name: str) -> bool:
    sys.stdout.write(
        f"Release the lock of {name}? Two runs at once must not follow from it.\n"
        "Only 'yes' is taken as approval: "
    )
    sys.stdout.flush()
    return sys.stdin.readline().strip() == "yes"


def _local(backend: LocalBackend) -> UserError:
    holder = LockInfo.read(info_file(backend.path))
    who = f" It is held by {holder}." if holder else ""
    return UserError(
        f"The lock of the file {backend.path} belongs to a process of this machine and ends with"
        f" it.{who}",
        "End that process.",
    )
