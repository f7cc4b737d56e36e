"""Adds a journal's changes to a state: where they start, and which of them still apply. Pure.

Three cases, distinguished by the digests that the journal noted:

* the state is one that the run began from or wrote: every change is applied again, which is
  harmless because a change carries the whole object;
* the run died while it wrote the state: the backup, which is what the run began from, takes its
  place, and every change is applied;
* another engine wrote the state since (it was asked not to): objects are compared by their id, and
  what both sides touched in different ways is an error rather than a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opsconsole.errors import UserError
from opsconsole.state.model import State
from opsconsole.state.objects import StateChange, mark, object_id
from opsconsole.state.records import (
    Changed,
    Ended,
    Record,
    Started,
    Writing,
    Written,
    changes_of,
    open_intents,
    take_out,
)

_NAMED = 20
"""How many addresses an error lists."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A state with a journal's changes in it.

    Attributes:
        rebased: Where the journal does not know the state: the records of one that does, which
            must take its place before the state is written.
    """

    state: State
    rebased: Sequence[Record] | None = None


def fold(records: Sequence[Record], data: bytes, backup: bytes | None, source: str) -> Folded:
    """Apply a journal's changes to the state they belong to.

    Args:
        data: The state file's bytes.
        backup: The backup's bytes, empty without one; None where a write cannot be cut in two.
        source: The state's name in errors.

    Raises:
        UserError: The state is unreadable and the journal cannot repair it, it is another's
            (lineage), it has lost its first record, or both sides changed one object.
    """
    started = records[0] if records else None
    if started is None:
        return Folded(State.parse(data, source))
    if not isinstance(started, Started):
        raise _without_beginning(records, source)
    if isinstance(records[-1], Ended):
        return Folded(State.parse(data, source))
    torn = backup is not None and _is_torn(records)
    try:
        state = State.parse(data, source)
    except UserError:
        if not torn:
            raise
        state = None
    if state is not None and data.strip():
        _check_lineage(state, records, started, source)
    elif state is not None and not (started.empty or torn):
        raise _vanished(source)
    last = max([started.serial, *[r.serial for r in records if isinstance(r, (Writing, Written))]])
    known = {started.digest, *[r.digest for r in records if isinstance(r, Writing)]}
    if state is None or (torn and state.serial <= last and state.digest() not in known):
        state = _beginning(started, backup or b"", source)
        state.serial = last
        state.changed = True
    elif (digest := state.digest()) not in known:
        base = Started(state.lineage, state.serial, digest, state.empty, started.at)
        take_out(state, records)
        merged = _merge(state, changes_of(records))
        return Folded(state, [base, Changed(tuple(merged))])
    take_out(state, records)
    if started.empty and not data.strip():
        state.lineage = started.lineage
    for change in changes_of(records):
        state.apply(change)
    return Folded(state)


def _check_lineage(state: State, records: Sequence[Record], started: Started, source: str) -> None:
    """Refuse a state of another lineage than the run found, or stored.

    A run that found no state made a lineage up, which means nothing until it stored one.
    """
    ours = {record.lineage for record in records if isinstance(record, Written)}
    if not started.empty:
        ours.add(started.lineage)
    if ours and state.lineage and state.lineage not in ours:
        raise UserError(
            f"The journal of {source} belongs to another state: lineage {', '.join(sorted(ours))},"
            f" not {state.lineage}.",
            "Put the state it belongs to back, or move the journal away.",
        )


def _is_torn(records: Sequence[Record]) -> bool:
    """Return whether the run died between the start and the end of a write of the state."""
    marks = [record for record in records if isinstance(record, (Writing, Written))]
    return bool(marks) and isinstance(marks[-1], Writing)


def _beginning(started: Started, backup: bytes, source: str) -> State:
    if started.empty:
        return State.new(started.lineage)
    state = State.parse(backup, f"{source}.backup") if backup else None
    if state is None or state.digest() != started.digest:
        raise UserError(
            f"A crash truncated the state {source}, and its backup is not the one made before.",
            "Restore the state as it was before that run; the journal will then complete it.",
        )
    return state


def _merge(state: State, changes: Sequence[StateChange]) -> list[StateChange]:
    """Apply to a state that moved on what it cannot know; return what was applied."""
    first: dict[tuple[str, ...], StateChange] = {}
    last: dict[tuple[str, ...], StateChange] = {}
    for change in changes:
        place: tuple[str, ...] = (change.kind, change.address, change.deposed)
        first.setdefault(place, change)
        last[place] = change
    applied = []
    for place, change in last.items():
        if change.kind == "instance" and _applies(state, first[place], change):
            state.apply(change)
            applied.append(change)
    return applied


def _applies(state: State, first: StateChange, last: StateChange) -> bool:
    """Return whether an object is to be made what the last change of a crashed run made it.

    Raises:
        UserError: It is neither what the run found nor what it left.
    """
    text = state.image(last.address, last.deposed)
    now, before, after = object_id(text), first.previous_id, object_id(last.image)
    if mark(text) == first.previous_mark:
        return True
    if now == after or after is None:
        # It knows the object already; or it was removed here, and someone made another since.
        return now == before and after is None
    if now is None:
        # It was there, and someone removed it. A replacement is another object: do not forget it.
        return after != before
    raise UserError(
        f"{last.address} is {now} in the state, and a run that crashed made it {after}.",
        "Remove one of the two from the console, and the journal, or import the right one.",
    )


def _vanished(source: str) -> UserError:
    return UserError(
        f"The state {source} is gone, but a journal with changes to it is beside it.",
        "Restore the state from its backup, or remove the journal if both are not wanted.",
    )


def _without_beginning(records: Sequence[Record], source: str) -> UserError:
    changed = dict.fromkeys(change.address for change in changes_of(records))
    called = dict.fromkeys(intent.address for intent in open_intents(records))
    named = [*changed, *(address for address in called if address not in changed)]
    listed = ", ".join(named[:_NAMED]) + (", …" if len(named) > _NAMED else "")
    return UserError(
        f"The journal of {source} has lost its first record, which says to which state the other "
        f"{len(records)} belong. They concern {listed or 'no resource'}. Nothing was changed, and "
        "the journal is kept.",
        "Restore the journal. Without one, move it away and check these resources: bring those "
        "that the console has and the state lacks into state by import.",
    )
