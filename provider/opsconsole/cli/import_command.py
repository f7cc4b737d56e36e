"""`opsconsole import ADDRESS ID`: take what the console has under an address of the program."""

from __future__ import annotations

import argparse
import sys

from opsconsole.cli import arguments, opening, planning
from opsconsole.cli.command_line import FAILED, Parser
from opsconsole.cli.interrupts import make_runner, run_stoppable
from opsconsole.diagnostics import has_error
from opsconsole.reconcile.runs import import_instance
from opsconsole.resources import RESOURCES
from opsconsole.state import Address, open_state


def register(parser: Parser) -> None:
    """Describe the command and add its arguments."""
    parser.describe(
        "Read the object that ID names, and keep it in state under ADDRESS.",
        example="opsconsole import opsconsole_host.web hst_0123456789",
    )
    parser.add_argument("address", metavar="ADDRESS", help="where the program declares it")
    parser.add_argument(
        "id",
        metavar="ID",
        help=", ".join(item.import_id for item in RESOURCES.values()),
    )
    arguments.flag(parser, "input", "nothing is ever asked by an import", default=True)
    arguments.flag(parser, "no-color", "print without colour")
    parser.add_argument("--parallelism", metavar="N", type=int, help=argparse.SUPPRESS)
    arguments.add_place(parser)
    arguments.add_variables(parser)
    arguments.add_locking(parser)


def run(args: argparse.Namespace) -> int:
    """Import one object; return the exit code."""
    address = Address.parse(args.address)
    program = opening.open_program(args)
    variables = opening.variables_of(args, program)
    backend = opening.open_backend(args, program, "import")
    with open_state(backend) as session, make_runner() as runner:
        planning.report_folded(session)
        session.begin()
        space = planning.workspace(args, program, variables, session)
        diagnostics = run_stoppable(
            runner,
            lambda interrupts: import_instance(
                space, session, address, args.id, interrupts.on_stop
            ),
        )
    planning.show_diagnostics(args, diagnostics)
    if has_error(diagnostics):
        return FAILED
    sys.stdout.write(f"Imported {args.id} as {address}.\n")
    return 0
