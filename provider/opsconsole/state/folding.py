"""Folds journals into a state, and finds the open intents. Does no I/O.

The digests in a journal distinguish three cases:

* The run began from this state, or wrote it later. Every change is applied again. This is harmless,
  because a change carries the whole object.
* The run died while it rewrote the state in place. The copy that the run made before replaces the
  state, and every change is applied.
* Another engine wrote the state since, despite the warning not to. Objects are compared by their
  id. If both sides created an object at one address, the state's stays the current one, and the
  run's becomes a deposed object, which the next plan deletes.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from opsconsole.errors import UserError
from opsconsole.state.address import Address
from opsconsole.state.journal import (
    Intent,
    Record,
    StartingState,
    StateChanges,
    StateWrite,
    changes_of,
    open_intents,
)
from opsconsole.state.model import State
from opsconsole.state.objects import StateChange, object_id, short_digest, with_fields
from opsconsole.text import first_items


@dataclass(frozen=True, slots=True)
class Folded:
    """A state with its journals folded into it.

    Attributes:
        base: The state before any change was added, for the journal of the run that continues.
        was_torn: Whether the copy replaced the state.
        changes: The changes that were added to the state.
        change_count: How many changes the journals hold.
        warnings: For the user, about objects that the state and a journal dispute.
    """

    state: State
    base: StartingState
    was_torn: bool = False
    changes: Sequence[StateChange] = ()
    intents: Sequence[Intent] = ()
    change_count: int = 0
    warnings: Sequence[str] = ()

    @property
    def records(self) -> list[Record]:
        """The records of the one journal that replaces all journals read."""
        writing = [StateWrite(self.base.serial, self.base.digest)] * self.was_torn
        changes = [StateChanges(tuple(self.changes))] if self.changes else []
        return [self.base, *writing, *changes, *self.intents]


def base_of(run: str, state: State) -> StartingState:
    """Return the first record of the journal of a run that begins from this state."""
    return StartingState(run, state.lineage, state.serial, state.digest(), state.empty)


def fold_journals(
    local: Sequence[Record],
    stored: Sequence[Record],
    data: bytes,
    copy: bytes,
    source: str,
    *,
    run: str = "",
    keeps_journal: bool = False,
) -> Folded:
    """Fold two journals into the state that they belong to.

    Args:
        local: The journal on this machine.
        stored: The journal that is stored with the state.
        data: The state's bytes.
        copy: The bytes of the state's copy; empty if there is no copy.
        source: The name of the state in errors.
        run: The run that continues with the state.
        keeps_journal: Whether a run on this state stores its journal before it sends a call. If so,
            a call that is only in `local` was settled by a run elsewhere, or never sent.

    Raises:
        UserError: The state is unreadable and the journal cannot repair it, the journal belongs to
            a state of another lineage, or a journal has lost its first record.
    """
    same_run = (
        bool(local and stored)
        and _first_record(local, source).run == _first_record(stored, source).run
    )
    # A run writes its journal before it stores the copy, so the journal holds all of the copy.
    journals = [local] if same_run else [records for records in (stored, local) if records]
    first, *older = journals
    state, was_torn, is_known = _choose_state(first, data, copy, source)
    base = base_of(run, state)
    changes, warnings = list[StateChange](), list[str]()
    if is_known:
        changes = changes_of(first)
        for change in changes:
            state.apply(change)
    else:
        changes = _merge(state, first, warnings)
    for records in older:
        _check_lineage(state, _first_record(records, source), source)
        changes += _merge(state, records, warnings)
    counted = [local] if same_run else [stored, local] if not keeps_journal else [stored]
    intents = {intent.id: intent for records in counted for intent in open_intents(records)}
    count = sum(len(changes_of(records)) for records in journals)
    return Folded(state, base, was_torn, changes, tuple(intents.values()), count, warnings)


def _first_record(records: Sequence[Record], source: str) -> StartingState:
    if isinstance(records[0], StartingState):
        return records[0]
    changed = dict.fromkeys(change.address for change in changes_of(records))
    called = dict.fromkeys(intent.address for intent in open_intents(records))
    named = list(changed | called)
    raise UserError(
        f"The journal of {source} has lost its first record, which says to which state the other "
        f"{len(records)} belong. They concern {first_items(named) or 'no resource'}. "
        "Nothing was changed, and the journal is kept.",
        "Restore the journal. Without one, move it away and check these resources: bring those "
        "that the console has and the state lacks into state by import.",
    )


def _choose_state(
    records: Sequence[Record], data: bytes, copy: bytes, source: str
) -> tuple[State, bool, bool]:
    """Return the journal's state, whether it is the copy, and whether its digest is known."""
    base = _first_record(records, source)
    announced = [record for record in records if isinstance(record, StateWrite)]
    digests = {record.digest for record in announced}
    copied = None
    # A copy counts only if the journal announced its content. The write was then cut off.
    if announced and copy:
        copied = State.parse(copy, f"{source}.opsconsole-copy")
        copied = copied if copied.digest() in digests else None
    try:
        state = State.parse(data, source)
    except UserError as error:
        if copied is not None:
            copied.changed = True
            return copied, True, True
        if not announced:
            raise
        raise UserError(
            f"The state {source} was damaged, and there is no copy of it: {error.message}",
            "Restore the state as it was before that run; the journal will then complete it.",
        ) from error
    # A torn write of a longer serial may have lost characters of the lineage after it.
    was_torn = copied is not None and _is_torn(state.lineage, copied.lineage)
    if data.strip() and not was_torn:
        _check_lineage(state, base, source)
    elif not base.empty and copied is None:
        raise UserError(
            f"The state {source} is gone, but a journal with changes to it is beside it.",
            "Restore the state from its backup, or remove the journal if both are not wanted.",
        )
    if state.digest() in {base.digest, *digests}:
        if base.empty and not data.strip():
            # Reading a missing state made up a new lineage, but the crashed run had chosen one.
            state.lineage = base.lineage
        return state, False, True
    # A higher serial means that another engine wrote the state. The copy must not undo that write.
    if copied is not None and state.serial <= copied.serial:
        copied.changed = True
        return copied, True, True
    return state, False, False


def _is_torn(text: str, whole: str) -> bool:
    """Return whether a text is the beginning of another and an end of it of another length."""
    cuts = range(len(whole) + 1)
    return text != whole and any(
        text.startswith(whole[:cut]) and whole.endswith(text[cut:]) for cut in cuts
    )


def is_other_state(state: State, base: StartingState) -> bool:
    """Return whether a state's lineage differs from the lineage that the run found or stored."""
    # A run that found no state made up a lineage, which counts only once the run stored the state.
    return bool(not base.empty and state.lineage and base.lineage not in ("", state.lineage))


def _check_lineage(state: State, base: StartingState, source: str) -> None:
    if is_other_state(state, base):
        raise UserError(
            f"The journal of {source} belongs to another state: lineage {base.lineage},"
            f" not {state.lineage}.",
            "Put the state it belongs to back, or move the journal away.",
        )


def _merge(state: State, records: Sequence[Record], warnings: list[str]) -> list[StateChange]:
    """Apply the changes that a state written since lacks; return them, and add to `warnings`."""
    first: dict[tuple[str, str], StateChange] = {}
    last: dict[tuple[str, str], StateChange] = {}
    for change in changes_of(records):
        if change.kind == "instance":
            place = (change.address, change.deposed)
            first.setdefault(place, change)
            last[place] = change
    changes = [record for record in records if isinstance(record, StateChanges)]
    settled = {item for record in changes for item in record.settles}
    applies = {place: _must_apply(state, first[place], last[place], settled) for place in last}
    disputed = [change for place, change in last.items() if applies[place] is None]
    # An object that the run moved to an address that is taken now keeps its old address.
    staying = {object_id(change.object_json) for change in disputed}
    applied = []
    for place, change in last.items():
        if applies[place] and (
            change.object_json is not None or first[place].previous_id not in staying
        ):
            state.apply(change)
            applied.append(change)
    intents = [record for record in records if isinstance(record, Intent)]
    created = {intent.address for intent in intents if intent.verb == "create"}
    return applied + _depose_created(state, disputed, created, warnings)


def _depose_created(
    state: State, disputed: Sequence[StateChange], created: Set[str], warnings: list[str]
) -> list[StateChange]:
    """Make deposed objects of a crashed run's objects at addresses that are taken now.

    Args:
        disputed: The changes that made the objects.
        created: The addresses at which the run created objects. An object that it moved, adopted or
            imported existed before, so no plan may delete it.
        warnings: Receives warnings for the user.

    Returns:
        The changes of the state.
    """
    applied = []
    for change in disputed:
        if _object_of(change) in _objects_in(state):
            continue
        now = object_id(state.object_json(change.address, change.deposed))
        after = object_id(change.object_json)
        deposed = _depose(state, change) if change.address in created else None
        if deposed is None:
            becomes = "is not in the state: if the console has it, delete it there or import it"
        else:
            state.apply(deposed)
            applied.append(deposed)
            becomes = "is now a deposed object of this address: the next plan shows its deletion"
        warnings.append(
            f"{change.address} is {now} in the state, and a run that crashed made it {after}. "
            f"{after} {becomes}."
        )
    return applied


def _must_apply(
    state: State, first: StateChange, last: StateChange, settled: Set[str]
) -> bool | None:
    """Return whether a crashed run's last change to an object applies; None if both sides made one.

    Args:
        settled: The calls whose outcome the crashed run knew. If another run took the outcome for
            unknown, the state may hold an id derived from such a call.
    """
    text = state.object_json(last.address, last.deposed)
    now, before, after = object_id(text), first.previous_id, object_id(last.object_json)
    if short_digest(text) == first.previous_digest or (now and now.rpartition("/")[2] in settled):
        return True
    if now == after or after is None:
        # The state has the object already; or the run removed it, and someone made another since.
        return now == before and after is None
    if after == before:
        # The run changed an object that someone removed or replaced since.
        return False
    if now is None or now == before:
        # The predecessor is removed or changed, but this object must not be forgotten.
        return True
    # Every plan reads a data source again.
    return False if Address.parse(last.address).mode == "data" else None


def changes_missing_from(state: State, changes: Sequence[StateChange]) -> list[StateChange]:
    """Return the last change of each object whose result a state does not hold."""
    held = _objects_in(state)
    missing = []
    last = {(each.address, each.deposed): each for each in changes if each.kind == "instance"}
    for change in last.values():
        address = Address.parse(change.address)
        # Every plan reads a data source again.
        if address.mode == "data":
            continue
        if change.object_json is None:
            now = object_id(state.object_json(address, change.deposed))
            is_held = now is None or now != change.previous_id
        else:
            is_held = _object_of(change) in held
        if not is_held:
            missing.append(change)
    return missing


def _objects_in(state: State) -> set[tuple[str, str, str | None]]:
    """Return mode, type and id of the objects in a state."""
    return {
        (address.mode, address.type, object_id(state.object_json(address, deposed)))
        for address, deposed in state.objects()
    }


def _object_of(change: StateChange) -> tuple[str, str, str | None]:
    address = Address.parse(change.address)
    return address.mode, address.type, object_id(change.object_json)


def _depose(state: State, change: StateChange) -> StateChange | None:
    """Return the change that makes the object of a change a deposed object of its address.

    None: the address has another provider configuration, which a deposed object would get.
    """
    current = state.get(change.address, change.deposed)
    if current is None or current.provider != change.provider or change.object_json is None:
        return None
    # Derived from the id, so that the key is the same if folding is repeated.
    key = short_digest(object_id(change.object_json))[:8]
    while state.object_json(change.address, key) is not None:
        key = short_digest(key)[:8]
    object_json = with_fields(change.object_json.encode(), deposed=key).decode()
    return StateChange("instance", change.address, object_json, change.provider, key)
