"""`opsconsole doctor`: what would fail a run: this machine, the settings, the console."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from opsconsole import __version__
from opsconsole.cli import arguments, opening, provider_install
from opsconsole.cli.command_line import FAILED, Parser
from opsconsole.cli.standard_streams import coloured, columns
from opsconsole.errors import ApiError, ConsoleError, OpsconsoleError, Stopped
from opsconsole.language import find_node
from opsconsole.reports.text import Pen, printable, wrapped
from opsconsole.terraform_binary import real_terraform
from opsconsole.v1.exchange import Reply
from opsconsole.v1.list_envelope import page
from opsconsole.v1.operations import SEARCH_SPECIALTIES
from opsconsole.v1.settings import Settings

OK: Final = "ok"
NOTE: Final = "note"
WRONG: Final = "wrong"
_SIGNS = {OK: ("✓", "green"), NOTE: ("!", "yellow"), WRONG: ("✗", "red")}
_CLOCK = 60
"""Seconds by which the clocks may differ: locks and certificates are judged by them."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found.

    Attributes:
        check: What was looked at.
        status: `ok`, `note` (a run may go well all the same) or `wrong`.
        found: What is there, in a line.
        remedy: What to do about it, where it is not `ok`.
    """

    check: str
    status: str
    found: str
    remedy: str = ""


def register(parser: Parser) -> None:
    """Describe the command and add its arguments."""
    parser.describe(
        "Check versions, Node.js, Terraform and its provider mirror, the settings, and by one "
        f"read ({SEARCH_SPECIALTIES}) the console, the key and the clock. Nothing is changed.",
        codes={0: "nothing is wrong; there may be notes", FAILED: "something is wrong"},
        example="opsconsole doctor",
    )
    arguments.flag(parser, "json", "print JSON")
    arguments.flag(parser, "no-color", "print without colour")
    arguments.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Make all checks and print what they found; return the exit code."""
    found = []
    pen = Pen(coloured(args))
    for item in _findings(args):
        found.append(item)
        if not args.json:
            sys.stdout.write(_lines(item, pen))
            sys.stdout.flush()
    wrong = sum(item.status == WRONG for item in found)
    if args.json:
        sys.stdout.write(json.dumps([asdict(item) for item in found], indent=2) + "\n")
    else:
        sys.stdout.write(f"\n{_verdict(found, wrong)}\n")
    return FAILED if wrong else 0


def _verdict(found: Sequence[CheckResult], wrong: int) -> str:
    if wrong:
        return f"{wrong} of {len(found)} checks found something wrong."
    notes = sum(item.status == NOTE for item in found)
    return f"Nothing is wrong.{f' Notes: {notes}.' if notes else ''}"


def _lines(item: CheckResult, pen: Pen) -> str:
    sign, colour = _SIGNS[item.status]
    text = f"{pen.paint(sign, colour)} {item.check:<16} {printable(item.found)}\n"
    width = max(40, (columns() or 100) - 19)
    for line in wrapped(printable(item.remedy), width) if item.remedy else ():
        text += f"{' ' * 19}{pen.paint(line, 'dim')}\n"
    return text


def _findings(args: argparse.Namespace) -> Iterator[CheckResult]:
    yield CheckResult("opsconsole", OK, f"{__version__}, Python {platform.python_version()}")
    yield _node()
    terraform = real_terraform(os.environ)
    yield _terraform(terraform)
    yield _mirror(needed=terraform is not None)
    try:
        found, origin = opening.settings_of(args)
    except Stopped:
        raise
    except OpsconsoleError as problem:
        yield CheckResult("settings", WRONG, problem.message, problem.remedy)
        yield CheckResult("console", NOTE, "not asked, because the settings are wrong")
        return
    yield CheckResult("settings", OK, f"{found.base_url}, from {origin}")
    yield from _console(found)


def _node() -> CheckResult:
    wanted = [name for name in ("cdktf", "cdktn") if importlib.util.find_spec(name)]
    try:
        path, major = find_node()
    except OpsconsoleError as problem:
        if wanted:
            return CheckResult("Node.js", WRONG, problem.message, problem.remedy)
        return CheckResult("Node.js", NOTE, "none", "Only apps of cdktf and cdktn need it.")
    return CheckResult("Node.js", OK, f"{major}, {path}")


def _terraform(path: str | None) -> CheckResult:
    if path is None:
        return CheckResult(
            "Terraform", NOTE, "none", "The native engine (`opsconsole plan`) needs none."
        )
    try:
        seen = subprocess.run(
            [path, "version", "-json"], capture_output=True, text=True, timeout=30, check=True
        )
        version = json.loads(seen.stdout)["terraform_version"]
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError):
        return CheckResult(
            "Terraform", WRONG, f"{path} does not print its version", "Run it by hand."
        )
    return CheckResult("Terraform", OK, f"{version}, {path}")


def _mirror(*, needed: bool) -> CheckResult:
    folders = provider_install.implied_folders(os.environ)
    configured = provider_install.settings_file(os.environ)
    launchers = [
        launcher
        for folder in folders
        for launcher in provider_install.launchers(folder)
        if launcher.is_file()
    ]
    if launchers and configured is None:
        return CheckResult("provider mirror", OK, str(launchers[0].parents[5]))
    if configured is not None:
        return CheckResult(
            "provider mirror",
            NOTE,
            f"{configured} says where Terraform looks",
            "`opsconsole provider install --plugin-dir DIR` puts the provider there.",
        )
    return CheckResult(
        "provider mirror",
        NOTE if needed else OK,
        f"no provider {__version__} where Terraform looks",
        "Run `opsconsole provider install`." if needed else "",
    )


def _console(found: Settings) -> Iterator[CheckResult]:
    try:
        reply, problem = asyncio.run(_asked(found))
    except ConsoleError as failed:
        yield CheckResult("console", WRONG, failed.message, failed.remedy)
        return
    yield CheckResult("console", OK, f"answers with status {reply.status}")
    yield _key(reply.status, problem)
    yield _clock(reply)


async def _asked(found: Settings) -> tuple[Reply, ConsoleError | None]:
    """Search once, as a key without any right to write may do.

    Returns:
        The answer, and the error that it is; None: it is a list.
    """
    from opsconsole.v1.client import Client

    client = Client(found, read_only=True)
    try:
        reply = await client.ask(SEARCH_SPECIALTIES)
        try:
            client.shaped(SEARCH_SPECIALTIES, reply, lambda answer: page(answer, None))
        except ConsoleError as problem:
            return reply, problem
        return reply, None
    finally:
        await client.aclose()


def _key(status: int, problem: ConsoleError | None) -> CheckResult:
    name = "key"
    if problem is None:
        return CheckResult(name, OK, "accepted")
    if status == 404:
        found = f"not judged: there is no v1 API at this address: {problem.message}"
        return CheckResult(name, WRONG, found, "Check base_url.")
    if not isinstance(problem, ApiError):
        # A proxy, a login page or another service, or an answer that the document does not show.
        return CheckResult(name, WRONG, f"not judged: {problem.message}", problem.remedy)
    said = problem.problem
    if status == 401:
        return CheckResult(name, WRONG, f"refused: {said}", problem.remedy)
    if status == 403:
        text = f"accepted, but it may not search specialties: {said}"
        return CheckResult(name, NOTE, text, problem.remedy)
    return CheckResult(name, WRONG, f"not judged: {said}", problem.remedy or "Try again later.")


def _clock(reply: Reply) -> CheckResult:
    try:
        there = parsedate_to_datetime(reply.headers["date"])
        ahead = round((datetime.now(UTC) - there).total_seconds())
    except (LookupError, ValueError, TypeError):
        return CheckResult("clock", NOTE, "the console's answer has no date to compare with")
    if abs(ahead) <= _CLOCK:
        return CheckResult("clock", OK, "agrees with the console's")
    word = "ahead of" if ahead > 0 else "behind"
    return CheckResult(
        "clock",
        WRONG,
        f"{abs(ahead):,} seconds {word} the console's",
        "Set this machine's clock; drift that is accepted until a date depends on it too.",
    )
