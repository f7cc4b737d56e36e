"""The program `opsconsole-terraform`: reads the command line, decides who carries it out.

Clients call `version` several times at each start: only what a verb needs is imported.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from opsconsole.errors import UserError
from opsconsole.standin.command_line import Arguments, Invocation, read_call, read_flags
from opsconsole.standin.verbs import VERBS, Verb


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code.

    Args:
        arguments: The words after the program's name; those of this process by default.
    """
    from opsconsole.standin.streams import take_streams

    take_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] and words[0].lstrip("-") in ("v", "version"):
        with contextlib.suppress(UserError):
            code = _run(words)
            sys.stdout.flush()
            return code
    from opsconsole.cli.main import answered, debugging

    again = "OPSCONSOLE_DEBUG=1 opsconsole-terraform …"
    code = answered(lambda: _run(words), debug=debugging(), again=again)
    sys.stdout.flush()
    return code


def _run(words: list[str]) -> int:
    call = read_call(words, os.environ)
    if call.help or not call.verb or call.verb == "help":
        from opsconsole.standin.help_text import render

        sys.stdout.write(render(call.verb))
        return 0 if call.help or call.verb == "help" else 127
    verb = VERBS.get(call.verb)
    directory = _directory(call)
    given, wrong = _given(call, verb)
    if verb is None or verb.reads_program:
        from opsconsole.standin.engine_choice import reason_for_terraform

        reason = reason_for_terraform(call, verb, given, os.environ, directory)
        if verb is None or reason:
            from opsconsole.standin.hand_over import hand_over

            hand_over(call, reason)
    if wrong is not None:
        raise wrong
    os.chdir(directory)
    _check_operands(call.verb, verb, given)
    module, _, function = verb.run.partition(":")
    code: int = getattr(importlib.import_module(module), function)(verb, given)
    return code


def _given(call: Invocation, verb: Verb | None) -> tuple[Arguments, UserError | None]:
    """Return flags and operands, or what is wrong with them: Terraform may know better."""
    if verb is None:
        return Arguments(), None
    try:
        return read_flags(call.verb, call.words, verb.flags), None
    except UserError as wrong:
        return Arguments(), wrong


def _directory(call: Invocation) -> Path:
    directory = Path.cwd() / call.directory
    if not directory.is_dir():
        raise UserError(f"-chdir: there is no directory {call.directory}.", "Check the path.")
    return directory


def _check_operands(name: str, verb: Verb, given: Arguments) -> None:
    least, most = verb.operands
    count = len(given.operands)
    if count < least or (most >= 0 and count > most):
        wanted = str(least) if least == most else f"{least} to {most if most >= 0 else 'any'}"
        raise UserError(
            f"`{name}` takes {wanted} arguments, not {count}.",
            f"`opsconsole-terraform {name} -help` says more. Write flags as -NAME=VALUE.",
        )


if __name__ == "__main__":
    sys.exit(main())
