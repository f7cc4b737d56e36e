"""`taint` and `untaint`, which `opsconsole` itself lacks."""

from __future__ import annotations

import argparse
import asyncio
import sys

from opsconsole.cli import opening
from opsconsole.errors import UserError
from opsconsole.standin.command_line import ProgramCall
from opsconsole.state import Address, State


def run(call: ProgramCall, args: argparse.Namespace) -> int:
    """Mark an instance, which the next apply then replaces, or remove the mark."""
    address, tainted = Address.parse(call.operands[0]), call.name == "taint"
    with opening.open_session(args, opening.open_state_backend(args, call.name)) as session:
        said = _set_mark(
            session.state, address, tainted, missing_allowed=call.is_on("allow-missing")
        )
        session.record()
        asyncio.run(session.checkpoint())
    sys.stdout.write(f"{said}\n")
    return 0


def _set_mark(state: State, address: Address, tainted: bool, *, missing_allowed: bool) -> str:
    if address not in state:
        if missing_allowed:
            return f"{address} is not in the state: nothing to do."
        raise UserError(
            f"{address} is not in the state.", "`state list` prints the addresses in state."
        )
    instance = state.get(address)
    if instance is not None and instance.tainted is not tainted:
        state.taint(address, tainted)
        done = "has been marked as tainted" if tainted else "has been successfully untainted"
        return f"Resource instance {address} {done}."
    if tainted:
        return f"{address} is tainted already."
    raise UserError(f"{address} is not tainted.", "It has no mark to remove.")
