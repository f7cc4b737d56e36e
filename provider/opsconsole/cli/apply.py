"""`opsconsole apply` and `destroy`: carry out a saved plan, or a new one after approval."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from opsconsole.cli import message_stream, opening, planning
from opsconsole.cli.interrupts import Interrupts, make_runner, run_stoppable
from opsconsole.cli.progress import TICK, ApplyMessages, show_progress
from opsconsole.cli.standard_streams import ask, has_colour, pen_for, write_or_stderr
from opsconsole.cli.table import FAILED, INTERRUPTED
from opsconsole.diagnostics import has_error
from opsconsole.errors import TRY_LATER, ProblemKind, UserError
from opsconsole.reconcile.applier import apply_plan
from opsconsole.reconcile.executor import ApplyResult
from opsconsole.reconcile.plan import Plan, checksum
from opsconsole.reconcile.providers import OpenedProviders
from opsconsole.reconcile.stack import OpenedStack
from opsconsole.reports import messages, plan_text
from opsconsole.reports.plan_parts import apply_summary
from opsconsole.state import StateSession, workspace_of
from opsconsole.text import first_lines

_FIXED_BY_PLAN = (
    "target",
    "replace",
    "refresh_only",
    "destroy",
    "preflight",
    "stack",
    "dir",
    "state",
)
"""The options that a saved plan fixes."""


def run(args: argparse.Namespace) -> int:
    apply = _apply_program if args.planfile is None else _apply_saved
    if not args.json or args.standin:
        return apply(args)
    return message_stream.run_with_messages(lambda: apply(args))


def _apply_program(args: argparse.Namespace) -> int:
    if args.json and not args.auto_approve:
        raise UserError(
            "With --json, no question can be asked.", "Add --auto-approve, or apply a saved plan."
        )
    planning.check_reports(args)
    program = opening.load_checked(args)
    variables = opening.read_variables(args, program)
    backend = opening.open_backend(args, program, args.command)
    with opening.open_session(args, backend) as session, make_runner() as runner:
        session.begin()
        planning.check_program(args, program, variables, session.state)
        stack = planning.open_stack(args, program, variables, session)
        plan = planning.plan_program(runner, args, stack)
        planning.write_reports(args, plan, program.stack)
        if args.json:
            message_stream.emit_plan(plan)
        else:
            planning.print_plan(args, plan)
        if has_error(plan.diagnostics):
            return planning.failure_code(plan.diagnostics)
        _check_checksum(args, plan)
        if not _ask_for_approval(args, plan):
            return FAILED
        return _apply_and_report(runner, args, stack, plan)


def _apply_saved(args: argparse.Namespace) -> int:
    """Carry out a saved plan, unless something changed since it was made."""
    from opsconsole.reconcile.saved_plan import (
        check_state,
        check_workspace,
        compare_with_console,
        read_plan,
        reopen,
    )

    given = [name for name in _FIXED_BY_PLAN if getattr(args, name)]
    if not args.refresh:
        given.append("refresh=false")
    if given:
        raise UserError(
            f"--{given[0].replace('_', '-')} cannot be given with a saved plan: the plan fixes it.",
            "Plan again with this option.",
        )
    planning.check_reports(args)
    saved = read_plan(args.planfile)
    program, variables = reopen(saved, args.variables, os.environ)
    check_workspace(saved, workspace_of(program.root))
    args.state = Path(saved.state) if saved.state else None
    backend = opening.open_backend(args, program, args.command)
    with opening.open_session(args, backend) as session, make_runner() as runner:
        check_state(saved, session)
        session.begin()
        _check_checksum(args, saved.plan)
        stack = planning.open_stack(args, program, variables, session)
        objection = planning.guard_objection_to(args, saved.plan)
        if objection is not None:
            diagnostics = [objection]
        else:
            diagnostics = run_stoppable(
                runner,
                lambda interrupts: compare_with_console(stack, saved.plan, interrupts.watch),
            )
        if diagnostics:
            if args.json:
                message_stream.emit_diagnostics(diagnostics)
            else:
                planning.print_diagnostics(args, diagnostics)
            return planning.failure_code(diagnostics)
        plan = replace(saved.plan, diagnostics=())
        planning.write_reports(args, plan, saved.stack)
        if args.json:
            message_stream.emit_plan(plan)
        return _apply_and_report(runner, args, stack, plan)


def _check_checksum(args: argparse.Namespace, plan: Plan) -> None:
    if args.checksum and args.checksum != checksum(plan):
        raise UserError(
            f"The plan has the checksum {checksum(plan)}, not {args.checksum}.",
            "It is not the plan that was reviewed. Nothing was changed.",
        )


def _command_of(plan: Plan) -> str:
    return "destroy" if plan.mode == "destroy" else "apply"


def _ask_for_approval(args: argparse.Namespace, plan: Plan) -> bool:
    """Ask for approval of a plan if it is needed; raise UserError if nobody can be asked."""
    if plan.changes_nothing or args.auto_approve:
        return True
    if not args.input:
        raise UserError(
            "The plan is not approved, and --input=false does not allow a question.",
            "Add --auto-approve.",
        )
    answer = ask(_question(plan))
    sys.stdout.write("\n")
    if answer == "yes":
        return True
    sys.stdout.write(f"{_command_of(plan).capitalize()} cancelled.\n")
    return False


def _question(plan: Plan) -> str:
    # cdktf, cdktn and others wait for the first line of each question, word for word.
    remark = ""
    if plan.mode == "destroy":
        asked = "Do you really want to destroy all resources?"
        remark = "  There is no undo.\n"
    else:
        asked = "Do you want to perform these actions?"
        if plan.mode == "refresh-only":
            remark = "  Only the state is updated; the console is not changed.\n"
    return f"\n{asked}\n{remark}  Only 'yes' is taken as approval.\n\n  Enter a value: "


def _not_started_text(applied: ApplyResult) -> str:
    left = applied.not_started
    lines = [f"\nNot begun, because the run was interrupted: {len(left):,}"]
    lines += first_lines([f"  {step.kind.value} {step.change.address}" for step in left])
    return "\n".join([*lines, ""])


def _show_end(
    args: argparse.Namespace, command: str, applied: ApplyResult, session: StateSession
) -> None:
    outputs = session.state.outputs
    left = _not_started_text(applied) if applied.not_started else ""
    if not args.json:
        text = plan_text.render_apply(applied, outputs, pen_for(args), command=command)
        write_or_stderr(f"\n{text}{left}")
        return
    message_stream.emit_diagnostics(applied.diagnostics)
    if applied.complete:
        message_stream.emit(messages.change_summary(applied.counts, command))
        if outputs:
            message_stream.emit(messages.outputs(outputs))
    else:
        text = apply_summary(applied.counts, command, complete=False)
        for line in (text, *left.strip().splitlines()):
            message_stream.emit(messages.log(line.strip()))


def _apply_and_report(
    runner: asyncio.Runner,
    args: argparse.Namespace,
    stack: OpenedStack,
    plan: Plan,
) -> int:
    command = _command_of(plan)
    title = "Destroying" if command == "destroy" else "Applying"
    display = (
        nullcontext(ApplyMessages(message_stream.emit))
        if args.json
        else show_progress(title, colour=has_colour(args, sys.stderr))
    )
    try:
        with display as listener:
            applied = run_stoppable(
                runner,
                lambda interrupts: _apply_and_save(stack, plan, listener, interrupts),
                "what is in flight is finished and saved",
            )
    except KeyboardInterrupt:
        sys.stderr.write(
            "Stopped. The journal beside the state holds what was done; the next run adds it to "
            "the state.\n"
        )
        return INTERRUPTED
    _show_end(args, command, applied, stack.state_session)
    if applied.not_started:
        return INTERRUPTED
    if applied.complete:
        return 0
    errors = [item for item in applied.diagnostics if item.is_error]
    # After a 503, a write may have taken effect or not. After a 429, it has not.
    is_refused = bool(errors) and all(
        item.cause and item.cause.kind is ProblemKind.TOO_MANY_REQUESTS for item in errors
    )
    return TRY_LATER if is_refused and stack.state_session.has_done_nothing else FAILED


async def _apply_and_save(
    stack: OpenedStack, plan: Plan, listener: ApplyMessages, interrupts: Interrupts
) -> ApplyResult:
    def watch(providers: OpenedProviders) -> None:
        interrupts.watch(providers)
        listener.waiting = lambda: providers.waiting

    interrupts.on_abandon(stack.state_session.abandon)
    ticking = asyncio.ensure_future(_tick(listener))
    try:
        applied = await apply_plan(stack, plan, listener, watch)
        await stack.state_session.checkpoint()
        return applied
    finally:
        ticking.cancel()


async def _tick(listener: ApplyMessages) -> None:
    while True:
        await asyncio.sleep(TICK)
        listener.tick()
