"""`opsconsole emulator`: serves the emulator, which itself knows nothing of the command line."""

from __future__ import annotations

import argparse
from typing import Any

from opsconsole.cli.command_line import add_command
from opsconsole.emulator import command


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of `opsconsole`."""
    parser = add_command(
        subparsers,
        "emulator",
        "Serve a console for development and tests on loopback. It prints the settings that reach "
        "it, and stops at an interrupt.",
        example="opsconsole emulator --port 8080 --seed fleet:100",
    )
    command.add_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until stopped; return the exit code."""
    return command.run(args)
