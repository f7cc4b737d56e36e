"""The program `opsconsole-terraform`: reads the command line, and chooses the engine.

Each verb imports what it needs: clients call `version` several times at each start.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from opsconsole.cli.standard_streams import OutputStream, open_descriptors, text_stream
from opsconsole.errors import TRY_LATER, UserError
from opsconsole.standin.command_line import GROUPS, ProgramCall, read_call
from opsconsole.standin.verbs import VERBS, Verb
from opsconsole.text import parse_bool, plural

if TYPE_CHECKING:
    import argparse

_GLOBAL = (
    ("-chdir=DIR", "go to another directory before anything else"),
    ("-help", "show this, or the flags of a verb"),
    ("-version", "the same as the verb version"),
)
_REMARKS = {"ignore": "changes nothing here", "foreign": "only Terraform has it"}
_AS_IF_ABSENT = frozenset({("out", ""), ("state", ""), ("parallelism", "0")})
"""Flags with values that mean to Terraform that the flag is not given; the last value counts."""
_VARIABLES = (
    ("OPSCONSOLE_ENGINE", "native or terraform: force the native engine or the real CLI"),
    ("OPSCONSOLE_TERRAFORM_FALLBACK", "the real CLI; else terraform or tofu on PATH"),
    ("OPSCONSOLE_FORCE", "1: allow a plan that the guard refuses"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default of this process; return the exit code."""
    # The terminal of the calling program may go away while changes are in progress. Output is then
    # dropped, and the changes are completed. stderr is only for errors, so no bar and no spinner is
    # drawn.
    open_descriptors()
    sys.stdout = text_stream(OutputStream(1))
    sys.stderr = text_stream(OutputStream(2, drawn_on=False))
    words = list(sys.argv[1:] if arguments is None else arguments)
    # This verb is answered without the modules below, because clients call it several times at each
    # start. An error occurs again below, and is reported there.
    if words[:1] and words[0].lstrip("-") in ("v", "version"):
        with contextlib.suppress(UserError):
            code = _run_call(words)
            sys.stdout.flush()
            return code
    from opsconsole.cli.main import DEBUG, run_and_report
    from opsconsole.cli.options import is_switched_on
    from opsconsole.cli.table import FAILED

    again = "OPSCONSOLE_DEBUG=1 opsconsole-terraform …"
    code = run_and_report(lambda: _run_call(words), debug=is_switched_on(DEBUG), again=again)
    sys.stdout.flush()
    # Clients only know Terraform's exit codes.
    return FAILED if code == TRY_LATER else code


def _run_call(words: list[str]) -> int:
    call = read_call(words, os.environ)
    verb = call.verb
    known = verb is not None or call.name in GROUPS
    if call.name in ("", "help") or (call.help and known):
        sys.stdout.write(help_text(call.name))
        # Terraform exits with 127 if no verb is given.
        return 0 if call.help or call.name else 127
    directory = _directory_of(call)
    if verb is None or verb.reads_program or call.foreign:
        from opsconsole.standin.engine_choice import hand_over, reason_for_terraform

        reason = reason_for_terraform(call, os.environ, directory)
        if verb is None or reason:
            hand_over(call, reason, directory)
    # The error is raised only now, because arguments that are wrong here may be right for
    # Terraform.
    if call.mistake is not None:
        raise call.mistake

    if call.is_on("json") and call.name in ("plan", "apply", "destroy", "refresh"):
        from opsconsole.cli.message_stream import run_with_messages

        return run_with_messages(lambda: _run_verb(call, verb, directory))
    return _run_verb(call, verb, directory)


def _run_verb(call: ProgramCall, verb: Verb, directory: Path) -> int:
    """Carry a verb out; hand it over if the program's values show that Terraform is needed."""
    start = Path.cwd()
    try:
        os.chdir(directory)
        _check_operands(call.name, verb, len(call.operands))
        if not verb.run:
            args = _read_arguments(call, verb)
            return int(args.run(args))
        carry_out = resolve_name(f"opsconsole.standin.{verb.run}")
        arguments = [_read_arguments(call, verb)] if verb.command else []
        return int(carry_out(call, *arguments))
    except UserError as problem:
        from opsconsole.language import OnlyTerraform
        from opsconsole.standin.engine_choice import ENGINE, hand_over

        if (
            not isinstance(problem, OnlyTerraform)
            or problem.program is None
            or os.environ.get(ENGINE) == "native"
        ):
            raise
        # The values are checked before any request to a console and any change, so the real CLI
        # can start afresh. The words for that engine include -chdir, which is relative to this
        # directory.
        os.chdir(start)
        hand_over(call, problem.construct, directory)


def _read_arguments(call: ProgramCall, verb: Verb) -> argparse.Namespace:
    """Read a call as a call of the verb's command of `opsconsole`, and check the backend for it."""
    from opsconsole.cli.parser import build_parser

    here = Path.cwd()
    command = (verb.command or call.name).split()
    last = dict(call.flags)
    passed = [
        f"-{name}={value}"
        for name, value in call.flags
        if verb.flags[name].use == "pass" and (name, last[name]) not in _AS_IF_ABSENT
    ]
    args = build_parser(command[0]).parse_args([*command, *passed, *call.operands])
    args.standin = True
    if parse_bool(os.environ.get("TF_INPUT", "")) is False:
        args.input = False
    if args.planfile is None and any(here.glob("*.tf.json")):
        args.dir = here
    if verb.needs_backend and args.dir is not None and args.planfile is None and args.state is None:
        from opsconsole import resources
        from opsconsole.language import load_directory
        from opsconsole.standin.backend_note import check_initialised

        check_initialised(load_directory(here, resources))
    return args


def _directory_of(call: ProgramCall) -> Path:
    directory = Path.cwd() / call.directory
    if not directory.is_dir():
        raise UserError(f"-chdir: there is no directory {call.directory}.", "Check the path.")
    return directory


def _check_operands(name: str, verb: Verb, count: int) -> None:
    least, most = verb.operands
    if count < least or (most >= 0 and count > most):
        wanted = plural(least, "argument")
        if most < 0:
            wanted = f"at least {wanted}"
        elif most > least:
            wanted = f"at most {plural(most, 'argument')}"
        raise UserError(
            f"`{name}` takes {wanted}, not {count}.",
            f"`opsconsole-terraform {name} -help` says more. Write flags as -NAME=VALUE.",
        )


def help_text(name: str) -> str:
    """Return the help for a verb, or for the program if `name` is not a verb."""
    verb = VERBS.get(name)
    if verb is None:
        return _help_of_all()
    lines = [
        f"Usage: opsconsole-terraform [global options] {name} [flags]",
        "",
        f"  {verb.summary}.",
    ]
    if verb.flags:
        lines += ["", "Flags:"]
    for flag, facts in sorted(verb.flags.items()):
        shown = f"-{flag}=VALUE" if facts.valued else f"-{flag}"
        lines.append(f"  {shown:28}{_REMARKS.get(facts.use, '')}".rstrip())
    return "\n".join([*lines, ""])


def _help_of_all() -> str:
    lines = [
        "Usage: opsconsole-terraform [global options] <verb> [flags]",
        "",
        "Takes the place of terraform. What the native engine cannot run goes to the real one.",
        "",
        "Verbs:",
    ]
    lines += [f"  {name:18}{verb.summary}" for name, verb in VERBS.items()]
    lines += ["", "Global options:"]
    lines += [f"  {name:18}{meaning}" for name, meaning in _GLOBAL]
    lines += ["", "Environment:"]
    lines += [f"  {name:31}{meaning}" for name, meaning in _VARIABLES]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
