"""`opsconsole show [PLANFILE]`: a saved plan, or the state."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from opsconsole.cli import arguments, opening, planning
from opsconsole.cli.command_line import Parser
from opsconsole.cli.terminal import coloured
from opsconsole.reconcile.saved import read_plan
from opsconsole.reconcile.saving import program_of
from opsconsole.state import read_state


def register(parser: Parser) -> None:
    """Describe the command and add its arguments."""
    parser.describe(
        "Show a saved plan, or without one what the state holds.",
        example="opsconsole show reviewed.plan",
    )
    parser.add_argument("planfile", metavar="PLANFILE", nargs="?", type=Path, help="a saved plan")
    arguments.flag(parser, "json", "print Terraform's JSON format")
    arguments.add_place(parser)
    arguments.add_reports(parser)


def run(args: argparse.Namespace) -> int:
    """Show what is asked for; return the exit code."""
    if args.planfile is None:
        _show_state(args)
        return 0
    saved = read_plan(args.planfile)
    planning.write_reports(args, saved.plan, saved.stack)
    if args.json:
        sys.stdout.write(planning.as_json(saved.plan, program_of(saved), saved.variables))
    else:
        planning.show(args, saved.plan)
    return 0


def _show_state(args: argparse.Namespace) -> None:
    from opsconsole.reports import state_report

    state = read_state(opening.state_backend(args, "show"))
    if args.json:
        sys.stdout.write(state_report.render_json(state))
    else:
        sys.stdout.write(state_report.render_text(state, colour=coloured(args)))
