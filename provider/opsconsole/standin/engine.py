"""Carries a verb out by a command of `opsconsole`, with what clients of Terraform expect."""

from __future__ import annotations

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
    passed = [f"-{name}={value}" for name, value in given.flags if verb.flags[name].use == "pass"]
    args = build_parser(verb.command[0]).parse_args([*verb.command, *passed, *given.operands])
    args.standin = True
    if hasattr(args, "input") and os.environ.get("TF_INPUT") in _OFF:
        args.input = False
    saved = getattr(args, "planfile", None)
    if saved is None and any(here.glob("*.tf.json")):
        args.dir = here
    as_messages = verb.command == ("plan",) and args.json
    if as_messages:
        from opsconsole.cli import events

        events.emit_version()
    try:
        if verb.needs_backend and args.dir is not None and saved is None and args.state is None:
            from opsconsole.language import load_directory
            from opsconsole.standin.recorded_backend import check_initialised

            check_initialised(load_directory(here, resources))
        code: int = args.run(args)
        return code
    except OpsconsoleError as problem:
        if not as_messages:
            raise
        events.emit_error(problem)
        return 1
