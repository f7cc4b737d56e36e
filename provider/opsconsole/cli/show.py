"""`opsconsole show` and `output`: a saved plan, the state, or the outputs in the state."""

from __future__ import annotations

import argparse
import json
import sys

from opsconsole.cli import opening
from opsconsole.cli.standard_streams import pen_for
from opsconsole.errors import UserError
from opsconsole.reports import plan_text, state_formats
from opsconsole.reports.value_diff import lines_of_value
from opsconsole.state import StateOutput, decode


def run(args: argparse.Namespace) -> int:
    if args.planfile is None:
        if args.html or args.markdown:
            raise UserError("--html and --markdown write a saved plan.", "Name its file.")
        state = opening.load_state(args, "show")
        if args.json:
            sys.stdout.write(state_formats.render_json(state))
        else:
            sys.stdout.write(state_formats.render_text(state, pen_for(args)))
        return 0
    # Showing the state does not need the modules for plans.
    from opsconsole.cli import planning
    from opsconsole.reconcile.saved_plan import program_of, read_plan

    planning.check_reports(args)
    saved = read_plan(args.planfile)
    planning.write_reports(args, saved.plan, saved.stack)
    if args.json:
        variables = decode(saved.variables)
        sys.stdout.write(planning.as_json(saved.plan, program_of(saved), variables))
    else:
        planning.print_plan(args, saved.plan)
    return 0


def run_output(args: argparse.Namespace) -> int:
    outputs = opening.load_state(args, "output").outputs
    if args.raw and (args.name is None or args.json):
        raise UserError("--raw takes the name of one output, and no --json.")
    # Terraform only warns that there are no outputs, except with -json.
    only_warns = args.standin and not outputs and not args.json
    if args.name is not None and not only_warns:
        sys.stdout.write(_output_text(args, outputs))
    elif args.json:
        sys.stdout.write(json.dumps(state_formats.outputs_json(outputs), indent=2) + "\n")
    elif outputs:
        text = plan_text.outputs_text(outputs, pen_for(args))
        sys.stdout.write(text.partition("\n\n")[2])
    else:
        sys.stderr.write("The state holds no outputs.\n")
    return 0


def _output_text(args: argparse.Namespace, outputs: dict[str, StateOutput]) -> str:
    output = outputs.get(args.name)
    if output is None:
        known = ", ".join(outputs) or "none"
        raise UserError(
            f'There is no output "{args.name}" in state.',
            f"Outputs in state: {known}. An output is in the state after it was applied.",
        )
    if args.json:
        return json.dumps(output.value, ensure_ascii=False) + "\n"
    if not args.raw:
        return "\n".join(line.plain[4:] for line in lines_of_value(output.value, 0, "", "")) + "\n"
    if isinstance(output.value, bool):
        return str(output.value).lower()
    if isinstance(output.value, str | int | float):
        return str(output.value)
    raise UserError(
        f'The output "{args.name}" is neither text, a number nor a boolean.',
        "Print it with --json.",
    )
