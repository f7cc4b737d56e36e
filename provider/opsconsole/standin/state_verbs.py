"""`taint`, `untaint`, and the verbs of `state` that `opsconsole` has not: mv, pull, push."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from opsconsole.cli import arguments, opening
from opsconsole.cli.state_commands import named
from opsconsole.errors import UserError
from opsconsole.language.sources import load_directory
from opsconsole.standin.command_line import Given
from opsconsole.standin.noted import check_initialised
from opsconsole.standin.verbs import Verb
from opsconsole.state.addresses import Address
from opsconsole.state.backend import Backend, SnapshotMeta
from opsconsole.state.model import State
from opsconsole.state.opening import open_state, read_state


def backend_of(given: Given, operation: str) -> Backend:
    """Return the backend of the working directory, which must be initialised for it.

    Raises:
        UserError: It is not, or there is neither a program nor a state.
    """
    here = Path.cwd()
    has_program = any(here.glob("*.tf.json"))
    if has_program and not given.text("state"):
        check_initialised(load_directory(here))
    args = argparse.Namespace(
        dir=here if has_program else None,
        stack=None,
        standin=True,
        state=Path(given.text("state")) if given.text("state") else None,
        lock=given.on("lock", True),
        lock_timeout=arguments.seconds(given.text("lock-timeout", "0")),
    )
    return opening.state_backend(args, operation)


def taint(verb: Verb, given: Given) -> int:
    """Mark an instance: the next apply replaces it."""
    return _marked(given, "taint", tainted=True)


def untaint(verb: Verb, given: Given) -> int:
    """Take the mark away."""
    return _marked(given, "untaint", tainted=False)


def _marked(given: Given, operation: str, *, tainted: bool) -> int:
    address = Address.parse(given.operands[0])

    def edit(state: State) -> str:
        if address not in state:
            if given.on("allow-missing"):
                return f"{address} is not in the state: nothing to do."
            raise UserError(f"{address} is not in the state.", "`state list` prints what is.")
        held = state.get(address)
        if held is not None and held.tainted is not tainted:
            state.taint(address, tainted)
            done = "has been marked as tainted" if tainted else "has been successfully untainted"
            return f"Resource instance {address} {done}."
        if tainted:
            return f"{address} is tainted already."
        raise UserError(f"{address} is not tainted.", "There is nothing to take away.")

    return _edited(given, operation, edit)


def _edited(given: Given, operation: str, edit: Callable[[State], str]) -> int:
    with open_state(backend_of(given, operation)) as session:
        said = edit(session.state)
        session.record()
        asyncio.run(session.checkpoint())
    sys.stdout.write(f"{said}\n")
    return 0


def move(verb: Verb, given: Given) -> int:
    """Give instances another address: one, or all of a resource."""
    source, target = given.operands
    dry = given.on("dry-run")

    def edit(state: State) -> str:
        pairs = _pairs(state, source, Address.parse(target))
        for old, new in pairs:
            if not dry:
                state.move(old, new)
        word = "Would move" if dry else "Move"
        lines = [f'{word} "{old}" to "{new}"' for old, new in pairs]
        count = f"Successfully moved {len(pairs)} object(s)."
        return "\n".join(lines if dry else [*lines, count])

    return _edited(given, "state mv", edit)


def _pairs(state: State, source: str, target: Address) -> list[tuple[Address, Address]]:
    found = named(state, [source])
    if Address.parse(source).type != target.type:
        raise UserError(
            f"{source} and {target} are of different types.", "An object keeps its type."
        )
    if len(found) == 1 and (found[0].key is None or str(found[0]) == source):
        return [(found[0], target)]
    if target.key is not None:
        raise UserError(
            f"{source} names {len(found)} instances, and {target} is one.", "Name a resource."
        )
    return [(old, replace(target, key=old.key)) for old in found]


def pull(verb: Verb, given: Given) -> int:
    """Print the state file."""
    state = read_state(backend_of(given, "state pull"))
    if not state.empty or state.serial:
        sys.stdout.write(state.to_bytes().decode())
    return 0


def push(verb: Verb, given: Given) -> int:
    """Replace the state by a file, `-` for stdin: a later one of the same lineage, or forced."""
    path = given.operands[0]
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}.", "Check the path.") from error
    pushed = State.parse(data, path)
    backend = backend_of(given, "state push")
    with open_state(backend) as session:
        held = session.state
        if not given.on("force"):
            _check_succession(held, pushed)
        if held.serial or not held.empty:
            backend.back_up()
        backend.write(pushed.snapshot().pieces(), SnapshotMeta(pushed.lineage, pushed.serial))
    return 0


def _check_succession(held: State, pushed: State) -> None:
    remedy = "Nothing was changed. -force writes it all the same."
    if held.empty and not held.serial:
        return
    if held.lineage != pushed.lineage:
        raise UserError(
            f"The lineage of the pushed state, {pushed.lineage}, is not {held.lineage}.", remedy
        )
    if pushed.serial < held.serial or (
        pushed.serial == held.serial and pushed.digest() != held.digest()
    ):
        raise UserError(
            f"The state that is there has serial {held.serial}, the pushed one {pushed.serial}: "
            "it would replace a newer one.",
            remedy,
        )
