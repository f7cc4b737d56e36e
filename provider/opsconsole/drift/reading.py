"""Reading the states of a check: what they hold, whether they are there, and stay as they were.

Reads without a lock; waits for a write in progress, or reports it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.drift.stack import Stack, StateObject, read_held
from opsconsole.errors import UserError
from opsconsole.state import LocalBackend, LockInfo, State, info_file, read_state

_EMPTY_TRIES: Final = 10


@dataclass(frozen=True)
class StackState:
    """One stack whose state was read.

    Attributes:
        digest: Of the state, to know it again.
        held: The objects in it.
        absent: Whether there is no state.
    """

    stack: Stack
    digest: str
    held: list[StateObject]
    absent: bool


def read_stack(stack: Stack) -> tuple[StackState, list[Diagnostic]]:
    """Return what a state holds, and what there is to say of it.

    Raises:
        UserError: It cannot be read.
    """
    state = _state_of(stack)
    held, diagnostics = read_held(stack.name, state)
    return StackState(stack, state.digest(), held, _is_absent(state)), diagnostics


def _state_of(stack: Stack) -> State:
    """Read a state; wait for Terraform, which empties its file before it writes it again."""
    state = read_state(stack.backend)
    for _ in range(_EMPTY_TRIES):
        if not _is_absent(state) or not _empty_file(stack):
            break
        time.sleep(0.05)
        state = read_state(stack.backend)
    return state


def _empty_file(stack: Stack) -> Path | None:
    """Return the file of a state that is there and holds nothing."""
    backend = stack.backend
    if isinstance(backend, LocalBackend) and backend.path.exists() and not backend.read().strip():
        return backend.path
    return None


def _is_absent(state: State) -> bool:
    """Return whether nothing was ever written: a state from which all was removed has a serial."""
    return state.empty and state.serial == 0


def has_no_state(found: StackState) -> bool:
    """Return whether a stack's program was never applied, and the check does not ask for that."""
    stack = found.stack
    return found.absent and stack.program is not None and not stack.pending


def absent(read: Sequence[StackState], *, whole: bool = True) -> Iterator[Diagnostic]:
    """Report states that do not exist; where a program has none at all, that is an error.

    For a part of a program's stacks (not `whole`) the merge of all parts reports that.

    An empty file is an error too: a write that a full disk cut short leaves one.
    """
    for found in read:
        if found.absent and (file := _empty_file(found.stack)):
            yield error(
                f"{found.stack.name}: its state is empty, so nothing of it was checked",
                f"{file} holds nothing: either nothing was ever applied, or a write was cut short. "
                "Restore it from its backup, or remove it.",
            )
    stacks = [found.stack for found in read if found.absent and not _empty_file(found.stack)]
    nothing = whole and len(stacks) == len(read) and all(map(has_no_state, read))
    for stack in stacks:
        yield (error if nothing else warning)(
            f"{stack.name}: there is no state, so nothing of it was checked",
            "If it was applied before, check that its backend names this place.",
        )


def rewritten(found: StackState) -> list[Diagnostic]:
    """Report a state that was written during the check: its drift may come from an apply."""
    try:
        state = read_state(found.stack.backend)
    except UserError as problem:
        return [error(f"{found.stack.name}: its state was not read again", cause=problem.cause)]
    if state.digest() == found.digest:
        return _locked(found)
    return [
        error(
            f"{found.stack.name}: its state was written while it was checked",
            "Differences may come from that run. Check again.",
        )
    ]


def _locked(found: StackState) -> list[Diagnostic]:
    """Report a run that has not written yet; not an error: a crash may have left the lock."""
    backend = found.stack.backend
    holder = LockInfo.read(info_file(backend.path)) if isinstance(backend, LocalBackend) else None
    if holder is None:
        return []
    return [
        warning(
            f"{found.stack.name}: its state is locked by {holder}",
            "If that run is still in progress, differences may come from it.",
        )
    ]
