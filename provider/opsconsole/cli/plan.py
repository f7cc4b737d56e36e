"""`opsconsole plan`: the changes that applying the program would make."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from opsconsole import resources
from opsconsole.cli import message_stream, opening, planning
from opsconsole.cli.interrupts import make_runner
from opsconsole.cli.table import CHANGES, FAILED
from opsconsole.diagnostics import Severity, diagnostics_of, has_error
from opsconsole.errors import TRY_LATER, OpsconsoleError, Stopped, UserError
from opsconsole.language import Program, find_output, load_stack, stacks_of
from opsconsole.reconcile.plan import Plan
from opsconsole.reconcile.saved_plan import check_plan_file, save_plan, shown_variables
from opsconsole.reconcile.stack import OpenedStack
from opsconsole.text import plural


def run(args: argparse.Namespace) -> int:
    if args.shard is None:
        return _plan_stack(args, opening.load_checked(args))
    _check_shard_options(args)
    output = find_output(Path.cwd())
    codes: dict[str, int] = {}
    for name in stacks_of(output):
        if args.shard.takes(name):
            codes[name] = _plan_stack_of_shard(args, output, name)
    count = Counter(codes.values())
    sys.stdout.write(
        f"Shard {args.shard}: {plural(len(codes), 'stack')}, {count[CHANGES]} with changes,"
        f" {count[FAILED] + count[TRY_LATER]} that could not be planned.\n"
    )
    # A later try helps only if it helps every stack that failed.
    for code in (FAILED, TRY_LATER):
        if count[code]:
            return code
    return CHANGES if args.detailed_exitcode and count[CHANGES] else 0


_FILES: Final = ("out", "html", "markdown")


def _check_shard_options(args: argparse.Namespace) -> None:
    given = [name for name in ("stack", "dir", "state", "json") if getattr(args, name)]
    if given:
        raise UserError(
            f"--shard plans several stacks, and --{given[0]} is for one stack.", "Give one of them."
        )
    if opening.program_form(Path.cwd()) == "files":
        raise UserError(
            f"--shard divides the stacks of an app, and the program is the files of {Path.cwd()}.",
            "Leave --shard out, or run the command beside the cdktf.json of the app.",
        )
    for name in _FILES:
        path = getattr(args, name)
        if path is not None and "{stack}" not in str(path):
            raise UserError(
                f"--{name}={path} names one file for the plans of several stacks.",
                "Write {stack} where the stack's name belongs.",
            )


def _plan_stack_of_shard(args: argparse.Namespace, output: Path, name: str) -> int:
    """Plan one stack; an error does not stop the planning of the other stacks."""
    stack_args = argparse.Namespace(**vars(args))
    # The line about the whole shard counts the stacks with changes by their exit codes.
    stack_args.stack, stack_args.detailed_exitcode = name, True
    for option in _FILES:
        path = getattr(args, option)
        if path is not None:
            setattr(stack_args, option, Path(str(path).replace("{stack}", name)))
    sys.stdout.write(f"Stack {name}:\n\n")
    sys.stdout.flush()
    try:
        return _plan_stack(stack_args, load_stack(output, resources, name))
    except Stopped:
        # An interrupt ends the whole shard, not this stack alone.
        raise
    except OpsconsoleError as problem:
        planning.print_diagnostics(args, diagnostics_of(problem))
        return TRY_LATER if problem.is_temporary else FAILED
    finally:
        sys.stdout.write("\n")


def _plan_stack(args: argparse.Namespace, program: Program) -> int:
    if args.out is not None:
        check_plan_file(args.out)
    planning.check_reports(args)
    variables = opening.read_variables(args, program)
    backend = opening.open_backend(args, program, "plan")
    with opening.open_session(args, backend, writes=False) as session, make_runner() as runner:
        planning.check_program(args, program, variables, session.state)
        stack = planning.open_stack(args, program, variables, session)
        # The guard forbids applying, not planning.
        plan = planning.plan_program(runner, args, stack, guard=Severity.WARNING)
        _show(args, plan, stack)
        failed = has_error(plan.diagnostics)
        if args.out is not None and not failed:
            save_plan(args.out, stack, plan, args.state)
    if args.out is not None and not failed:
        _report_saved(args)
    if failed:
        return planning.failure_code(plan.diagnostics)
    return CHANGES if args.detailed_exitcode and not plan.empty else 0


def _show(args: argparse.Namespace, plan: Plan, stack: OpenedStack) -> None:
    planning.write_reports(args, plan, stack.program.stack)
    if args.json and args.standin:
        message_stream.emit_plan(plan)
    elif args.json:
        sys.stdout.write(planning.as_json(plan, stack.program, shown_variables(stack)))
        planning.print_diagnostics(args, plan.diagnostics)
    else:
        planning.print_plan(args, plan)


def _report_saved(args: argparse.Namespace) -> None:
    if not args.standin:
        # The settings themselves may be secret.
        settings = ", with the same --backend-config" if args.backend_config else ""
        sys.stderr.write(
            f"\nSaved the plan to {args.out}. To carry out exactly these actions{settings}:\n"
            f'    opsconsole apply "{args.out}"\n'
        )
    elif not args.json:
        sys.stdout.write(f"\nSaved the plan to: {args.out}\n")
