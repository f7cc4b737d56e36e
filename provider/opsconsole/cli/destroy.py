"""`opsconsole destroy`: remove everything that is in state."""

from __future__ import annotations

import argparse
from typing import Any

from opsconsole.cli import apply, arguments


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of `opsconsole`."""
    parser = subparsers.add_parser(
        "destroy",
        help="remove everything that the program manages",
        description="Plan the removal of everything in state, show it, ask, and carry it out.",
        epilog=arguments.DASHES,
    )
    apply.add_arguments(parser)
    arguments.add_planning(parser, destroying=True)
    parser.set_defaults(run=apply.run, operation="destroy", planfile=None)
