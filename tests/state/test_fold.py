from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from opsconsole.errors import UserError
from opsconsole.state.fold import fold
from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject, StateChange
from opsconsole.state.records import Changed, Ended, Record, Started, Writing, Written

Host = Callable[..., InstanceObject]
A, B, C = "opsconsole_host.a", "opsconsole_host.b", "opsconsole_host.c"


class Story:
    """A state with hosts a and b, and a run on it that changes it step by step."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.state = State.new("lineage")
        self.state.put(A, host(1))
        self.state.put(B, host(2))
        self.state.raise_serial()
        self.before = self.state.to_bytes()
        self.records: list[Record] = [
            Started("lineage", 1, self.state.digest(), False, "now"),
        ]
        self.pending: list[StateChange] = []
        self.state.on_change = self.pending.append

    def change(self, **attributes: object) -> Story:
        """Update a, remove b, create c."""
        self.state.put(A, self.host(1, name="new", **attributes))
        self.state.remove(B)
        self.state.put(C, self.host(3))
        self.records.append(Changed(tuple(self.pending)))
        self.pending.clear()
        return self

    def write(self, end: bool = True) -> bytes:
        serial = self.state.raise_serial()
        self.records.append(Writing(serial, self.state.digest()))
        if end:
            self.records.append(Written(serial, self.state.lineage))
        return self.state.to_bytes()


@pytest.fixture
def story(host: Host) -> Story:
    return Story(host)


def outcome(records: Sequence[Record], data: bytes, backup: bytes | None = b"") -> dict[str, str]:
    state = fold(records, data, backup, "s").state
    items = {str(address): state.get(address) for address in state.addresses()}
    return {address: item.attributes["name"] for address, item in items.items() if item}


DONE = {A: "new", C: "host-3"}


def test_changes_are_applied_to_the_state_the_run_began_from(story: Story) -> None:
    assert outcome(story.change().records, story.before) == DONE


def test_changes_are_applied_again_to_a_state_that_has_them(story: Story) -> None:
    after = story.change().write()
    assert outcome(story.records, after) == DONE
    assert not fold(story.records, after, b"", "s").state.changed


def test_changes_after_the_last_write_are_applied(story: Story) -> None:
    after = story.change().write()
    story.change(tags=["late:1"])
    state = fold(story.records, after, b"", "s").state
    item = state.get(A)
    assert item is not None
    assert item.attributes["tags"] == ["late:1"]


@pytest.mark.parametrize("cut", [0, 1, 300, 700])
def test_a_write_cut_in_two_is_mended_from_the_backup(story: Story, cut: int) -> None:
    after = story.change().write(end=False)
    torn = after[:cut] + story.before[cut:]
    state = fold(story.records, torn, story.before, "s").state
    assert outcome(story.records, torn, story.before) == DONE
    assert state.lineage == "lineage"
    assert state.raise_serial() >= 2


def test_a_mixture_that_reads_well_is_not_believed(story: Story) -> None:
    """Hosts of equal length: half of the new state and half of the old one is a valid state."""
    after = story.change().write(end=False)
    mixed = json.loads(after)
    mixed["resources"] = [*mixed["resources"][:1], *json.loads(story.before)["resources"][:1]]
    mixed["resources"][1]["name"] = "zzz"
    torn = (json.dumps(mixed, indent=2) + "\n").encode()
    assert outcome(story.records, torn, story.before) == DONE


def test_a_cut_first_write_of_a_new_state_needs_no_backup(host: Host) -> None:
    state = State.new("lineage")
    records: list[Record] = [Started("lineage", 0, state.digest(), True, "now")]
    pending: list[StateChange] = []
    state.on_change = pending.append
    state.put(A, host(1))
    records += [Changed(tuple(pending)), Writing(1, state.digest())]
    for torn in (b"", b"\0" * 50, state.to_bytes()[:200]):
        assert outcome(records, torn) == {A: "host-1"}
        assert fold(records, torn, b"", "s").state.lineage == "lineage"


def test_a_cut_state_without_its_backup_is_an_error(story: Story) -> None:
    after = story.change().write(end=False)
    for backup in (b"", State.new("lineage").to_bytes()):
        with pytest.raises(UserError, match=r"truncated the state s, and its backup is not"):
            fold(story.records, after[:500], backup, "s")


def test_damage_that_no_write_of_ours_made_is_an_error(story: Story) -> None:
    story.change().write()
    with pytest.raises(UserError, match="cannot be read"):
        fold(story.records, b"{", story.before, "s")


def test_a_state_that_is_gone_is_an_error(story: Story) -> None:
    with pytest.raises(UserError, match="is gone, but a journal"):
        fold(story.change().records, b"", b"", "s")


def test_a_foreign_lineage_is_an_error(story: Story) -> None:
    other = State.parse(story.before)
    other.lineage = "other"
    with pytest.raises(UserError, match="lineage lineage, not other"):
        fold(story.change().records, other.to_bytes(), b"", "s")


def test_a_journal_that_ended_adds_nothing(story: Story) -> None:
    story.change().write()
    story.records.append(Ended())
    moved = State.parse(story.before)
    moved.remove(A)
    assert outcome(story.records, moved.to_bytes()) == {B: "host-2"}


def moved_on(story: Story, edit: Callable[[State], None]) -> bytes:
    """What another engine makes of the state that the run began from."""
    state = State.parse(story.before)
    edit(state)
    state.set_output("other", None)
    state.serial += 5
    return state.to_bytes()


EDITS: dict[str, tuple[Callable[[State, Host], None], dict[str, str]]] = {
    "removed the updated one": (lambda state, host: state.remove(A), {C: "host-3"}),
    "removed the removed one": (lambda state, host: state.remove(B), {A: "new", C: "host-3"}),
    "refreshed the updated one": (
        lambda state, host: state.put(A, host(1, name="seen")),
        {A: "seen", C: "host-3"},
    ),
    "refreshed the removed one": (
        lambda state, host: state.put(B, host(2, name="seen")),
        DONE,
    ),
    "made the removed one anew": (
        lambda state, host: state.put(B, host(9)),
        {A: "new", B: "host-9", C: "host-3"},
    ),
    "has the created one already": (
        lambda state, host: state.put(C, host(3, name="imported")),
        {A: "new", C: "imported"},
    ),
    "replaced the updated one": (
        lambda state, host: state.put(A, host(8)),
        {},
    ),
    "made another one there": (lambda state, host: state.put(C, host(7)), {}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_state_that_another_engine_wrote_loses_and_doubles_nothing(
    story: Story, host: Host, edit: str
) -> None:
    act, expected = EDITS[edit]
    data = moved_on(story, lambda state: act(state, host))
    story.change()
    if not expected:
        with pytest.raises(UserError, match=r"in the state, and a run that crashed made it hst_"):
            fold(story.records, data, b"", "s")
        return
    folded = fold(story.records, data, b"", "s")
    assert outcome(story.records, data) == expected
    assert folded.rebased is not None
    again = fold(folded.rebased, data, b"", "s")
    assert again.state.digest() == folded.state.digest()


def test_a_replacement_is_not_forgotten_when_the_old_one_was_removed(
    story: Story, host: Host
) -> None:
    data = moved_on(story, lambda state: state.remove(A))
    story.state.put(A, host(5))
    story.records.append(Changed(tuple(story.pending)))
    assert outcome(story.records, data) == {A: "host-5", B: "host-2"}


def test_where_writes_are_whole_a_moved_state_is_merged_and_not_mended(story: Story) -> None:
    story.change().write(end=False)
    data = moved_on(story, lambda state: state.remove(B))
    assert outcome(story.records, data, None) == DONE


def test_a_journal_without_its_first_record_is_refused_and_kept(story: Story) -> None:
    story.change()
    with pytest.raises(UserError) as caught:
        fold(story.records[1:], story.before, b"", "s")
    assert "lost its first record" in str(caught.value)
    assert all(address in str(caught.value) for address in (A, B, C))
    assert caught.value.remedy


def test_a_journal_without_its_first_record_names_only_some(story: Story) -> None:
    for place in range(30):
        story.state.put(f"opsconsole_host.h{place}", story.host(place))
    story.records.append(Changed(tuple(story.pending)))
    with pytest.raises(UserError, match=r"h19, …"):
        fold(story.records[1:], story.before, b"", "s")
