"""`opsconsole graph`: what depends on what in the program, as Mermaid or DOT."""

from __future__ import annotations

import argparse
import sys

from opsconsole.cli import arguments, opening
from opsconsole.cli.command_line import Parser
from opsconsole.language import build_graph
from opsconsole.reports import graph_text


def register(parser: Parser) -> None:
    """Describe the command and add its arguments."""
    parser.describe(
        "Print the resources of the program and their dependencies as a graph.",
        example="opsconsole graph --format dot | dot -Tsvg > graph.svg",
    )
    parser.add_argument(
        "--format",
        choices=tuple(graph_text.FORMATS),
        default="mermaid",
        help="mermaid (for Markdown; default) or dot (for Graphviz)",
    )
    arguments.add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Print the graph; return the exit code."""
    program = opening.open_program(args)
    sys.stdout.write(graph_text.FORMATS[args.format](program, build_graph(program)))
    return 0
