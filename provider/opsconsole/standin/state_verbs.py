"""`taint` and `untaint`, which `opsconsole` itself does not have."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from opsconsole import resources
from opsconsole.cli import opening, options
from opsconsole.errors import UserError
from opsconsole.language import load_directory
from opsconsole.standin.command_line import Call
from opsconsole.standin.recorded_backend import check_initialised
from opsconsole.state import Address, Backend, State, open_state


def run(call: Call) -> int:
    """Mark an instance, which the next apply then replaces, or remove the mark."""
    address, tainted = Address.parse(call.operands[0]), call.name == "taint"
    with open_state(_backend(call)) as session:
        said = _set_mark(session.state, address, tainted, missing_allowed=call.on("allow-missing"))
        session.record()
        asyncio.run(session.checkpoint())
    sys.stdout.write(f"{said}\n")
    return 0


def _backend(call: Call) -> Backend:
    """Return the backend of the working directory, which must be initialised for it.

    Raises:
        UserError: The directory is not initialised, or there is neither a program nor a state.
    """
    here, state = Path.cwd(), call.text("state")
    has_program = any(here.glob("*.tf.json"))
    # -state names the state file itself, regardless of the noted backend.
    if has_program and not state:
        check_initialised(load_directory(here, resources))
    args = argparse.Namespace(
        dir=here if has_program else None,
        stack=None,
        standin=True,
        state=Path(state) if state else None,
        journal=Path(call.text("journal")) if call.text("journal") else None,
        lock=call.on("lock", True),
        lock_timeout=options.seconds(call.text("lock-timeout", "0")),
    )
    return opening.state_backend(args, call.name)


def _set_mark(state: State, address: Address, tainted: bool, *, missing_allowed: bool) -> str:
    """Set or remove the mark, and return the message about it."""
    if address not in state:
        if missing_allowed:
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
