"""Making a plan from the command line, and showing it."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from opsconsole.cli.interrupts import Interrupts, run_stoppable
from opsconsole.cli.options import FEWEST_GUARDED
from opsconsole.cli.progress import show_spinner
from opsconsole.cli.standard_streams import has_colour, pen_for, terminal_width
from opsconsole.cli.table import FAILED
from opsconsole.clock import timestamp, utc_now
from opsconsole.diagnostics import Diagnostic, Mistakes, Severity, are_temporary, has_error
from opsconsole.errors import TRY_LATER, UserError
from opsconsole.language import Program, find_mistakes
from opsconsole.reconcile.plan import Plan, PlanOptions, checksum, guard_objection
from opsconsole.reconcile.planner import make_plan
from opsconsole.reconcile.providers import OpenedProviders
from opsconsole.reconcile.stack import OpenedStack
from opsconsole.reports import plan_text, terminal
from opsconsole.reports.plan_text import Detail
from opsconsole.state import State, StateSession, workspace_of
from opsconsole.user_files import check_report_file, find_shared_file, write_named


def failure_code(diagnostics: Iterable[Diagnostic]) -> int:
    return TRY_LATER if are_temporary(diagnostics) else FAILED


def plan_options(args: argparse.Namespace) -> PlanOptions:
    """Return the options of a plan; raise UserError if they exclude each other, as in Terraform."""
    if args.destroy and args.refresh_only:
        raise UserError(
            "--destroy and --refresh-only exclude each other.", "Leave one of them out."
        )
    if args.refresh_only and not args.refresh:
        raise UserError("--refresh-only with --refresh=false has nothing to do.", "Leave one out.")
    if args.replace and (args.destroy or args.refresh_only):
        raise UserError(
            "--replace is for a plan of changes, not for a destroy or --refresh-only.",
            "Leave it out.",
        )
    mode = "destroy" if args.destroy else "refresh-only" if args.refresh_only else "normal"
    return PlanOptions(
        mode=mode,
        targets=tuple(args.target),
        unknown_targets=args.standin,
        replace=tuple(args.replace),
        refresh=args.refresh,
        preflight=args.preflight,
    )


def open_stack(
    args: argparse.Namespace, program: Program, variables: dict[str, object], session: StateSession
) -> OpenedStack:
    """Return the stack that plan and apply work on; raise UserError for a wrong reference."""
    limit = args.parallelism
    if limit is not None and limit < 1:
        raise UserError("--parallelism must be 1 or more.")
    return OpenedStack(program, variables, session, os.environ, workspace_of(program.root), limit)


def check_program(
    args: argparse.Namespace, program: Program, variables: dict[str, object], state: State
) -> None:
    """Refuse a program with mistakes before any request to a console.

    Raises:
        Mistakes: All mistakes in the program.
        OnlyTerraform: Only Terraform or OpenTofu can check the program.
    """
    # A program that is only destroyed or read may contain mistakes.
    if plan_options(args).mode != "normal":
        return

    def present() -> frozenset[str]:
        from opsconsole.reconcile.moves import present_addresses  # rarely needed

        return present_addresses(state, program)

    workspace = workspace_of(program.root)
    mistakes = find_mistakes(program, variables, workspace=workspace, present=present)
    if has_error(mistakes):
        raise Mistakes(item for item in mistakes if item.is_error)


def plan_program(
    runner: asyncio.Runner,
    args: argparse.Namespace,
    stack: OpenedStack,
    *,
    guard: Severity = Severity.ERROR,
) -> Plan:
    """Make the plan that the command line asks for.

    Args:
        guard: The severity of the guard's objection, if the plan must be forced.
    """
    with show_spinner("Planning…", colour=has_colour(args, sys.stderr)) as shown:

        async def work(interrupts: Interrupts) -> Plan:
            def watch(providers: OpenedProviders) -> None:
                shown.count = lambda: sum(providers.calls.values())
                shown.held = lambda: providers.waiting
                interrupts.watch(providers)

            return await make_plan(stack, plan_options(args), watch)

        plan = run_stoppable(runner, work)
    objection = guard_objection_to(args, plan)
    if objection is None:
        return plan
    return replace(plan, diagnostics=(*plan.diagnostics, replace(objection, severity=guard)))


def guard_objection_to(args: argparse.Namespace, plan: Plan) -> Diagnostic | None:
    """Return why a plan must be forced, if the command line does not force it."""
    if args.force:
        return None
    # The options of the guard are not Terraform's, so the stand-in has none.
    options = not args.standin
    return guard_objection(plan, args.max_destroy, FEWEST_GUARDED, options=options)


def print_plan(args: argparse.Namespace, plan: Plan) -> None:
    """Print a plan as text, with its checksum."""
    sys.stdout.write(plan_text.render(plan, pen_for(args), _choose_detail(args, plan)))
    if not plan.empty and not has_error(plan.diagnostics):
        sys.stdout.write(f"\nChecksum of this plan: {checksum(plan)}\n")
    sys.stdout.flush()


_CLIENT_ROWS: Final = 100
"""How many lines of a plan a client of the stand-in is assumed to show, if it reads a pipe."""
_AROUND: Final = 4
"""Lines that a command writes around its plan: the checksum, a question."""


def _choose_detail(args: argparse.Namespace, plan: Plan) -> Detail:
    """Return how much of a plan is shown: as requested, or as much as fits."""
    if args.compact:
        return Detail.NAMES
    is_terminal = terminal_width() > 0
    if args.full or not (is_terminal or args.standin):
        return Detail.FULL
    rows = shutil.get_terminal_size().lines - _AROUND if is_terminal else _CLIENT_ROWS
    return plan_text.choose_detail(plan, rows)


def print_diagnostics(args: argparse.Namespace, diagnostics: Sequence[Diagnostic]) -> None:
    sys.stderr.write(terminal.render_diagnostics(diagnostics, pen_for(args, sys.stderr)))


def check_reports(args: argparse.Namespace) -> None:
    reports = [path for path in (args.html, args.markdown) if path is not None]
    for path in reports:
        if str(path) == "-":
            raise UserError(
                "--html and --markdown cannot write to standard output (-), which has the plan.",
                "Name a file.",
            )
        check_report_file(path)
    plans = [args.out, args.planfile]
    if place := find_shared_file([*reports, *filter(None, plans)]):
        raise UserError(
            f"The plan and its reports would share the file {place}.",
            "Name a file of its own for each.",
        )


def write_reports(args: argparse.Namespace, plan: Plan, title: str) -> None:
    """Write the plan into the report files that the command line names."""
    if args.html is None and args.markdown is None:
        return
    from opsconsole.reports.plan_view import make_view

    if args.html is not None:
        from opsconsole.reports.html import page  # loads the templates

        at = utc_now().isoformat()
        write_named(args.html, page.render(make_view(plan, title=title, timestamp=at)))
    if args.markdown is not None:
        from opsconsole.reports import markdown

        write_named(args.markdown, markdown.render(make_view(plan)))


def as_json(plan: Plan, program: Program, variables: Mapping[str, Any]) -> str:
    """Return the plan of a program in Terraform's JSON format.

    Args:
        variables: The values that may be written to a file.
    """
    from opsconsole.reports import plan_json

    document = plan_json.document(
        plan, timestamp=timestamp(utc_now()), program=program, variables=variables
    )
    # A fraction in the program is a Fraction, which JSON does not know.
    return json.dumps(document, separators=(",", ":"), default=float) + "\n"
