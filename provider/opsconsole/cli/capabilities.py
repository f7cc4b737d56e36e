"""`opsconsole capabilities`: each resource's operations, and what would lift its limits."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

from opsconsole.cli import opening
from opsconsole.cli.standard_streams import pen_for
from opsconsole.errors import UserError
from opsconsole.resources.capabilities import Capability, Reach, capabilities
from opsconsole.text import Pen

_SIGNS = {Reach.FULL: ("●", "green"), Reach.PARTIAL: ("◐", "yellow"), Reach.NONE: ("○", "red")}


def run(args: argparse.Namespace) -> int:
    each = [opening.read_settings(chosen) for chosen in opening.each_stack(args)]
    settings = each[0][0]
    if any(other != settings for other, _ in each):
        raise UserError("The stacks of this app have different settings.", "Add --stack NAME.")
    origin = "; ".join(dict.fromkeys(origin for _, origin in each))
    items = capabilities(settings)
    if args.json:
        listed = [dataclasses.asdict(item) | {"reach": item.reach.value} for item in items]
        sys.stdout.write(json.dumps({"base_url": settings.base_url, "capabilities": listed}) + "\n")
        return 0
    pen = pen_for(args)
    sys.stdout.write(f"{pen.bold(settings.base_url)} under the settings of {origin}\n")
    legend = "   ".join(
        f"{pen.paint(sign, colour)} {reach.value}" for reach, (sign, colour) in _SIGNS.items()
    )
    sys.stdout.write(f"{legend}\n")
    previous = ""
    for item in items:
        if item.type_name != previous:
            sys.stdout.write(f"\n{pen.bold(item.type_name)}\n")
        previous = item.type_name
        sys.stdout.write(_line(item, pen))
    return 0


def _line(item: Capability, pen: Pen) -> str:
    sign, colour = _SIGNS[item.reach]
    operation = item.operation or "no operation"
    shown = operation if item.documented else f"{operation} (named by you)"
    text = f"  {pen.paint(sign, colour)} {item.step:7} {shown:47} {item.note}".rstrip()
    if not item.lifted_by:
        return f"{text}\n"
    verb = "could also use" if item.reach is Reach.FULL else "lifted by"
    lifted = f"{verb} {' or '.join(item.lifted_by)}"
    return f"{text}\n{' ' * 12}{pen.paint(lifted, 'dim')}\n"
