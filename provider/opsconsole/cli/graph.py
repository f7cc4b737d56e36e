"""`opsconsole graph`: what depends on what in the program, as Mermaid or DOT."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from opsconsole.cli import arguments, opening
from opsconsole.cli.command_line import add_command
from opsconsole.language import build_graph
from opsconsole.reports import graph_text


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of `opsconsole`."""
    parser = add_command(
        subparsers,
        "graph",
        "Print the resources of the program and their dependencies as a graph.",
        example="opsconsole graph --format dot | dot -Tsvg > graph.svg",
    )
    arguments.option(
        parser,
        "format",
        choices=tuple(graph_text.FORMATS),
        default="mermaid",
        help="mermaid (for Markdown; default) or dot (for Graphviz)",
    )
    arguments.add_place(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the graph; return the exit code."""
    program = opening.open_program(args)
    sys.stdout.write(graph_text.FORMATS[args.format](program, build_graph(program)))
    return 0
