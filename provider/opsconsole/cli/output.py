"""`opsconsole output [NAME]`: the outputs that state holds."""

from __future__ import annotations

import argparse
import json
import sys

from opsconsole.cli import arguments, opening
from opsconsole.cli.command_line import Parser
from opsconsole.cli.terminal import coloured
from opsconsole.errors import UserError
from opsconsole.reports import state_report
from opsconsole.reports.value_diff import whole
from opsconsole.state import StateOutput, read_state


def register(parser: Parser) -> None:
    """Describe the command and add its arguments."""
    parser.describe(
        "Print all outputs (sensitive ones masked), or the value of one.",
        example="opsconsole output --raw host_id",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="the output")
    arguments.flag(parser, "json", "print JSON")
    arguments.flag(parser, "raw", "print a text, number or boolean as it is, without a line end")
    arguments.flag(parser, "no-color", "print without colour")
    arguments.add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Print outputs; return the exit code."""
    outputs = read_state(opening.state_backend(args, "output")).outputs
    if args.raw and (args.name is None or args.json):
        raise UserError("--raw takes the name of one output, and no --json.")
    if args.name is not None:
        sys.stdout.write(_one(args, outputs))
    elif args.json:
        sys.stdout.write(json.dumps(state_report.outputs_json(outputs), indent=2) + "\n")
    elif outputs:
        text = state_report.outputs_text(outputs, colour=coloured(args))
        sys.stdout.write(text.partition("\n\n")[2])
    else:
        sys.stderr.write("The state holds no outputs.\n")
    return 0


def _one(args: argparse.Namespace, outputs: dict[str, StateOutput]) -> str:
    output = outputs.get(args.name)
    if output is None:
        known = ", ".join(outputs) or "none"
        raise UserError(
            f'There is no output "{args.name}" in state.',
            f"Outputs in state: {known}. An output is there once it was applied.",
        )
    if args.json:
        return json.dumps(output.value, ensure_ascii=False) + "\n"
    if not args.raw:
        return "\n".join(line.plain[4:] for line in whole(output.value, 0, "", "")) + "\n"
    if isinstance(output.value, bool):
        return str(output.value).lower()
    if isinstance(output.value, str | int | float):
        return str(output.value)
    raise UserError(
        f'The output "{args.name}" is neither text, a number nor a boolean.',
        "Print it with --json.",
    )
