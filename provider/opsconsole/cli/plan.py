"""`opsconsole plan`: what applying the program would do."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from opsconsole.cli import arguments, events, opening, planning
from opsconsole.cli.event_loop import make_runner
from opsconsole.diagnostics import has_error
from opsconsole.language.model import Program
from opsconsole.reconcile.changes import Plan
from opsconsole.reconcile.saving import save_plan
from opsconsole.state.opening import open_state

FAILED, CHANGES = 1, 2


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of `opsconsole`."""
    parser = subparsers.add_parser(
        "plan",
        help="show what applying the program would do",
        description="Compare program, state and console, and show what applying would do.",
        epilog=arguments.DASHES,
    )
    arguments.option(
        parser, "out", metavar="FILE", type=Path, help="save the plan, to apply exactly it"
    )
    arguments.flag(
        parser, "detailed-exitcode", "exit with 0 for no changes, 2 for changes, 1 for errors"
    )
    arguments.flag(parser, "json", "print the plan in Terraform's JSON format")
    arguments.flag(parser, "input", "nothing is ever asked by a plan", default=True)
    arguments.add_place(parser)
    arguments.add_variables(parser)
    arguments.add_planning(parser)
    arguments.add_guards(parser)
    arguments.add_locking(parser)
    arguments.add_reports(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make a plan, show and save it; return the exit code."""
    program = opening.open_program(args)
    variables = opening.variables_of(args, program)
    backend = opening.open_backend(args, program, "plan")
    with open_state(backend) as session, make_runner() as runner:
        planning.tell_folded(session)
        space = planning.workspace(args, program, variables, session)
        plan = planning.planned(runner, args, space, session)
        objection = planning.guard_of(args).objection(plan)
        if objection is not None:
            warned = (*plan.diagnostics, planning.softened(objection))
            plan = replace(plan, diagnostics=warned)
        _show(args, plan, program)
        failed = has_error(plan.diagnostics)
        if args.out is not None and not failed:
            save_plan(args.out, space, plan, args.state)
    if args.out is not None and not failed:
        _tell_saved(args)
    return _exit_code(args, plan, failed)


def _show(args: argparse.Namespace, plan: Plan, program: Program) -> None:
    planning.write_reports(args, plan, program.stack)
    if args.json and arguments.stands_in(args):
        events.tell_plan(plan)
    elif args.json:
        sys.stdout.write(planning.as_json(plan, program))
        planning.show_diagnostics(args, plan.diagnostics)
    else:
        planning.show(args, plan)


def _tell_saved(args: argparse.Namespace) -> None:
    if not arguments.stands_in(args):
        sys.stderr.write(
            f"\nSaved the plan to {args.out}. To carry out exactly these actions:\n"
            f'    opsconsole apply "{args.out}"\n'
        )
    elif not args.json:
        sys.stdout.write(f"\nSaved the plan to: {args.out}\n")


def _exit_code(args: argparse.Namespace, plan: Plan, failed: bool) -> int:
    if failed:
        return FAILED
    return CHANGES if args.detailed_exitcode and not plan.empty else 0
