"""`opsconsole emulator`: serves the emulator, which itself knows nothing of the command line."""

from __future__ import annotations

from opsconsole.cli.command_line import Parser
from opsconsole.emulator.command import add_arguments, run

__all__ = ["register", "run"]


def register(parser: Parser) -> None:
    """Describe the command and add its arguments."""
    parser.describe(
        "Serve a console for development and tests on loopback. It prints the settings that reach "
        "it, and stops at an interrupt.",
        example="opsconsole emulator --port 8080 --seed fleet:100",
    )
    add_arguments(parser)
