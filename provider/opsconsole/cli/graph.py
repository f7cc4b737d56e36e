"""`opsconsole graph`: what depends on what in the program, as Mermaid or DOT."""

from __future__ import annotations

import argparse
import sys

from opsconsole.cli import opening
from opsconsole.language import build_graph
from opsconsole.reports import graph_text


def run(args: argparse.Namespace) -> int:
    program = opening.load_program(args)
    sys.stdout.write(graph_text.FORMATS[args.format](program, build_graph(program)))
    return 0
