"""`opsconsole apply` and `destroy`: carry out a saved plan, or make one, show it and ask."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from opsconsole.cli import applying, arguments, events, opening, planning
from opsconsole.cli.command_line import FAILED, Parser
from opsconsole.cli.interrupts import make_runner, run_stoppable
from opsconsole.diagnostics import has_error
from opsconsole.errors import OpsconsoleError, Stopped, UserError
from opsconsole.reconcile.saved import read_plan
from opsconsole.reconcile.saving import check_state, console_moved, reopen
from opsconsole.state import open_state

_FIXED = ("target", "replace", "refresh_only", "destroy", "preflight", "stack", "dir", "state")
"""The options that a saved plan fixes."""


def register(parser: Parser) -> None:
    """Describe the command and add its arguments."""
    parser.describe(
        "Make a plan, show it, ask, and carry it out; or carry out a saved plan.",
        example="opsconsole apply --auto-approve",
    )
    parser.add_argument("planfile", metavar="PLANFILE", nargs="?", type=Path, help="a saved plan")
    _add_arguments(parser)
    arguments.add_planning(parser)


def register_destroy(parser: Parser) -> None:
    """Describe the command `destroy`, and add its arguments: those of an apply."""
    parser.describe(
        "Plan the removal of everything in state, show it, ask, and carry it out.",
        example="opsconsole destroy --target opsconsole_host.web",
    )
    _add_arguments(parser)
    arguments.add_planning(parser, destroying=True)
    parser.set_defaults(planfile=None)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.flag(parser, "auto-approve", "do not ask")
    arguments.flag(parser, "input", "never ask: fail where an answer is needed", default=True)
    parser.add_argument("--checksum", metavar="SUM", help="apply only a plan with this checksum")
    arguments.flag(parser, "json", "print Terraform's machine-readable messages")
    arguments.add_place(parser)
    arguments.add_variables(parser)
    arguments.add_guards(parser)
    arguments.add_locking(parser)
    arguments.add_reports(parser)


def run(args: argparse.Namespace) -> int:
    """Carry out a plan; return the exit code."""
    if args.json and not args.auto_approve and args.planfile is None:
        raise UserError(
            "With --json, no question can be asked.", "Add --auto-approve, or apply a saved plan."
        )
    apply = _apply_program if args.planfile is None else _apply_saved
    if not args.json:
        return apply(args)
    try:
        return apply(args)
    except Stopped:
        raise
    except OpsconsoleError as problem:
        events.emit_error(problem)
        return FAILED


def _apply_program(args: argparse.Namespace) -> int:
    program = opening.open_program(args)
    variables = opening.variables_of(args, program)
    backend = opening.open_backend(args, program, args.command)
    with open_state(backend) as session, make_runner() as runner:
        opening.report_folded(session)
        session.begin()
        space = planning.workspace(args, program, variables, session)
        ui = applying.ApplyUI(args, destroying=args.destroy)
        plan = planning.planned(runner, args, space, session)
        plan = ui.shown(plan, program.stack)
        if has_error(plan.diagnostics):
            return FAILED
        applying.demand(args, plan)
        if not ui.approved(plan):
            return FAILED
        return applying.carry_out(runner, ui, space, plan, session)


def _apply_saved(args: argparse.Namespace) -> int:
    """Carry out a saved plan, unless something moved since it was made."""
    for name in _FIXED:
        if getattr(args, name):
            raise UserError(
                f"--{name.replace('_', '-')} cannot be given with a saved plan: the plan fixes it.",
                "Plan again with this option.",
            )
    saved = read_plan(args.planfile)
    program, variables = reopen(saved, args.variables, os.environ)
    args.state = Path(saved.state) if saved.state else None
    backend = opening.open_backend(args, program, args.command)
    with open_state(backend) as session, make_runner() as runner:
        opening.report_folded(session)
        check_state(saved, session.state)
        session.begin()
        applying.demand(args, saved.plan)
        space = planning.workspace(args, program, variables, session)
        ui = applying.ApplyUI(args, destroying=saved.plan.mode == "destroy")
        objection = planning.objection_to(args, saved.plan)
        if objection is not None:
            diagnostics = [objection]
        else:
            diagnostics = run_stoppable(
                runner, lambda interrupts: console_moved(space, saved.plan, interrupts.on_stop)
            )
        if diagnostics:
            ui.refuse(diagnostics)
            return FAILED
        plan = replace(saved.plan, diagnostics=())
        ui.begin(plan)
        return applying.carry_out(runner, ui, space, plan, session)
