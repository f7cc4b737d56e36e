"""`taint` and `untaint`, which `opsconsole` itself does not have."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from opsconsole import resources
from opsconsole.cli import arguments, opening
from opsconsole.errors import UserError
from opsconsole.language import load_directory
from opsconsole.standin.command_line import Arguments
from opsconsole.standin.recorded_backend import check_initialised
from opsconsole.standin.verbs import Verb
from opsconsole.state import Address, Backend, State, open_state


def backend_of(given: Arguments, operation: str) -> Backend:
    """Return the backend of the working directory, which must be initialised for it.

    Raises:
        UserError: It is not, or there is neither a program nor a state.
    """
    here = Path.cwd()
    has_program = any(here.glob("*.tf.json"))
    if has_program and not given.text("state"):
        check_initialised(load_directory(here, resources))
    args = argparse.Namespace(
        dir=here if has_program else None,
        stack=None,
        standin=True,
        state=Path(given.text("state")) if given.text("state") else None,
        lock=given.on("lock", True),
        lock_timeout=arguments.seconds(given.text("lock-timeout", "0")),
    )
    return opening.state_backend(args, operation)


def taint(verb: Verb, given: Arguments) -> int:
    """Mark an instance: the next apply replaces it."""
    return _marked(given, "taint", tainted=True)


def untaint(verb: Verb, given: Arguments) -> int:
    """Take the mark away."""
    return _marked(given, "untaint", tainted=False)


def _marked(given: Arguments, operation: str, *, tainted: bool) -> int:
    address = Address.parse(given.operands[0])

    def edit(state: State) -> str:
        if address not in state:
            if given.on("allow-missing"):
                return f"{address} is not in the state: nothing to do."
            raise UserError(
                f"{address} is not in the state.", "`state list` prints the addresses in state."
            )
        held = state.get(address)
        if held is not None and held.tainted is not tainted:
            state.taint(address, tainted)
            done = "has been marked as tainted" if tainted else "has been successfully untainted"
            return f"Resource instance {address} {done}."
        if tainted:
            return f"{address} is tainted already."
        raise UserError(f"{address} is not tainted.", "It has no mark to remove.")

    return _edited(given, operation, edit)


def _edited(given: Arguments, operation: str, edit: Callable[[State], str]) -> int:
    with open_state(backend_of(given, operation)) as session:
        said = edit(session.state)
        session.record()
        asyncio.run(session.checkpoint())
    sys.stdout.write(f"{said}\n")
    return 0
