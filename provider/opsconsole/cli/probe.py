"""`opsconsole probe`: ask a live console what the API document leaves open."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from opsconsole.cli import arguments, opening
from opsconsole.cli.command_line import FAILED, Parser
from opsconsole.cli.interrupts import Interrupts, make_runner, run_stoppable
from opsconsole.cli.standard_streams import coloured, columns
from opsconsole.errors import ConfigurationError, UserError
from opsconsole.probe.calls import TRIES, ProbeCall, ProbeFinding
from opsconsole.probe.planned import UNKNOWN, PlannedCall, planned_calls
from opsconsole.probe.questions import QUESTIONS
from opsconsole.probe.running import Probed, probe
from opsconsole.reports.text import Pen, printable, wrapped
from opsconsole.v1.client import Client
from opsconsole.v1.settings import ENVIRONMENT, Settings

_OPEN = {question.name: question.open for question in QUESTIONS}


def register(parser: Parser) -> None:
    """Describe the command and add its arguments."""
    parser.describe(
        "Ask the console what the API document leaves open, by calls that change nothing: GETs, "
        "updates without a field, and imports that are dry runs. The first answer that does not "
        "say dry_run: true ends it.",
        codes={0: "the console was asked", FAILED: "it could not be asked"},
        example="opsconsole probe --host hst_1 --agent agt_1 --write settings.json",
    )
    parser.add_argument(
        "--host", metavar="ID", required=True, help="a host that may be read and compared"
    )
    parser.add_argument("--agent", metavar="ID", help="an agent whose plugins may be listed")
    parser.add_argument(
        "--write",
        metavar="FILE",
        type=Path,
        help="write the settings that were found, for a provider block and for the environment",
    )
    arguments.flag(parser, "dry-run", "list the calls, and send nothing")
    arguments.flag(parser, "yes", "send requests other than GET without asking")
    arguments.flag(parser, "json", "print the findings as JSON")
    arguments.flag(parser, "no-color", "print without colour")
    arguments.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Probe a console and print what it does; return the exit code."""
    if args.dry_run:
        return _plan(args)
    found, _ = opening.settings_of(args)
    only_get = not (args.yes or _allowed(found, _planned(args, found)))
    with make_runner() as runner:
        done = run_stoppable(
            runner, lambda interrupts: _probed(args, found, interrupts, only_get=only_get)
        )
    if args.json:
        sys.stdout.write(json.dumps(_document(found, done), indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(_table(done, Pen(coloured(args))))
    if args.write is not None:
        _write(args.write, done)
    return 0


def _plan(args: argparse.Namespace) -> int:
    """Print every call that would be made; settings that are missing change few of them."""
    try:
        found, _ = opening.settings_of(args)
    except ConfigurationError as problem:
        found = None
        sys.stderr.write(
            f"{problem.message.removesuffix('.')}; the list assumes that host_get is not named.\n"
        )
    planned = _planned(args, found)
    if args.json:
        document = [asdict(call) for call in planned]
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(_listed(planned, Pen(coloured(args))))
    return 0


def _planned(args: argparse.Namespace, found: Settings | None) -> list[PlannedCall]:
    return planned_calls(args.host, args.agent, found.extra_endpoints if found else {})


def _listed(planned: Sequence[PlannedCall], pen: Pen, stream: TextIO | None = None) -> str:
    width = max(40, columns(stream) or 100)
    text = before = ""
    for call in planned:
        if call.what != before:
            heading = f"{call.what[0].upper()}{call.what[1:]}:"
            text += "".join(f"{pen.bold(line)}\n" for line in wrapped(heading, width))
        before = call.what
        text += f"{call.most:>5} x {printable(call.text)}\n"
    total = sum(call.most for call in planned)
    note = (
        f"{total} calls at most, one after another: answers can make some of them unnecessary, "
        f'and give the values for "{UNKNOWN}". A call that is answered with 429 is sent again, up '
        f"to {TRIES - 1} times."
    )
    return text + "\n" + "".join(f"{line}\n" for line in wrapped(note, width))


async def _probed(
    args: argparse.Namespace, found: Settings, interrupts: Interrupts, *, only_get: bool
) -> Probed:
    async with Client(found) as client:
        interrupts.on_stop(client.stop)
        return await probe(client, found, args.host, args.agent, only_get=only_get)


def _allowed(found: Settings, planned: Sequence[PlannedCall]) -> bool:
    """Ask whether more than GET may be sent; stdout stays for what was found."""
    sys.stderr.write(
        f"These calls are made at {found.base_url}; none of them changes anything on a console "
        f"that follows its document.\n\n{_listed(planned, Pen(False), sys.stderr)}\n"
        "Only 'yes' allows requests other than GET: "
    )
    sys.stderr.flush()
    return sys.stdin.readline().strip() == "yes"


def _table(done: Probed, pen: Pen) -> str:
    width = max(40, (columns() or 100) - 4)
    text = ""
    for finding in done.findings:
        sign, colour = ("✓", "green") if finding.learned else ("?", "yellow")
        text += f"{pen.paint(sign, colour)} {pen.bold(_OPEN[finding.question])}\n"
        said = finding.answer or f"Not learned. {finding.why}"
        lines = [*wrapped(printable(said), width)]
        if finding.settings:
            lines += wrapped(f"settings: {_settings_text(finding)}", width)
        text += "".join(f"    {line}\n" for line in lines)
        if finding.calls:
            text += f"    {pen.paint(f'seen by {_seen_by(finding, done)}', 'dim')}\n"
    learned = sum(finding.learned for finding in done.findings)
    return f"{text}\n{learned} of {len(done.findings)} learned by {len(done.calls)} calls.\n"


def _settings_text(finding: ProbeFinding) -> str:
    return ", ".join(f"{name} = {json.dumps(value)}" for name, value in finding.settings.items())


def _seen_by(finding: ProbeFinding, done: Probed) -> str:
    """Name the first and the last call that showed it, with their request ids."""
    calls = [done.calls[number - 1] for number in finding.calls]
    named = [calls[0], calls[-1]] if len(calls) > 1 else calls
    return " … ".join(printable(_named(call)) for call in named)


def _named(call: ProbeCall) -> str:
    request = f", request id {call.request_id}" if call.request_id else ""
    return f"call {call.number}: {call.text} ({call.outcome}{request})"


def _document(found: Settings, done: Probed) -> dict[str, Any]:
    return {
        "base_url": found.base_url,
        "findings": [
            {
                "question": finding.question,
                "open": _OPEN[finding.question],
                "learned": finding.learned,
                "answer": finding.answer,
                "why": finding.why,
                "value": finding.value,
                "calls": list(finding.calls),
                "settings": dict(finding.settings),
            }
            for finding in done.findings
        ],
        "calls": [
            {
                "number": call.number,
                "call": call.text,
                "outcome": call.outcome,
                "request_id": call.request_id,
            }
            for call in done.calls
        ],
        "settings": done.settings,
    }


def _write(path: Path, done: Probed) -> None:
    content = {
        "provider": done.settings,
        "environment": {
            ENVIRONMENT[name]: value if isinstance(value, str) else json.dumps(value)
            for name, value in done.settings.items()
        },
    }
    try:
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
    except OSError as problem:
        raise UserError(
            f"{path} cannot be written: {problem.strerror}.", "Name another file."
        ) from problem
