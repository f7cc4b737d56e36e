"""`opsconsole emulator`: a console for development, the demo and tests."""

from __future__ import annotations

import argparse
from typing import Any

from opsconsole.emulator import command


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of `opsconsole`."""
    parser = subparsers.add_parser("emulator", help="serve a console for development and tests")
    command.add_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until stopped; return the exit code."""
    return command.run(args)
