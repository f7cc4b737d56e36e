"""Carries a verb out by a command of `opsconsole`, with what clients of Terraform expect."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from opsconsole import resources
from opsconsole.errors import OpsconsoleError
from opsconsole.standin.command_line import Arguments
from opsconsole.standin.verbs import Verb

_OFF = frozenset(("0", "false", "FALSE", "False", "f", "F"))


def run(verb: Verb, given: Arguments) -> int:
    """Run the engine's command; return its exit code."""
    from opsconsole.cli.main import build_parser

    here = Path.cwd()
    words = [*verb.command, *_passed(verb, given), *given.operands]
    args = build_parser(verb.command[0]).parse_args(words)
    args.standin = True
    if hasattr(args, "input") and os.environ.get("TF_INPUT") in _OFF:
        args.input = False
    saved = getattr(args, "planfile", None)
    if saved is None and any(here.glob("*.tf.json")):
        args.dir = here
    if not (verb.command == ("plan",) and args.json):
        if saved is None:
            _check(verb, here, args)
        code: int = args.run(args)
        return code
    return _streamed(verb, here, args)


def _passed(verb: Verb, given: Arguments) -> list[str]:
    return [f"-{name}={value}" for name, value in given.flags if verb.flags[name].use == "pass"]


def _check(verb: Verb, here: Path, args: argparse.Namespace) -> None:
    if not verb.needs_backend or args.dir is None or args.state is not None:
        return
    from opsconsole.language import load_directory
    from opsconsole.standin.recorded_backend import check_initialised

    check_initialised(load_directory(here, resources))


def _streamed(verb: Verb, here: Path, args: argparse.Namespace) -> int:
    """Plan with Terraform's messages, errors among them."""
    from opsconsole.cli import events
    from opsconsole.diagnostics import error
    from opsconsole.reports import messages

    events.emit(messages.version(events.now()))
    try:
        _check(verb, here, args)
        code: int = args.run(args)
        return code
    except OpsconsoleError as problem:
        events.emit_diagnostic(error(problem.message.removesuffix("."), problem.remedy))
        return 1
