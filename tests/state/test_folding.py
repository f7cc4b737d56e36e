"""What a journal adds to the state of its run, or to one that another engine wrote."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence

import pytest

from opsconsole.errors import UserError
from opsconsole.state.address import deposed_name
from opsconsole.state.folding import fold_journals
from opsconsole.state.journal import Intent, Record, StartingState, StateChanges, StateWrite
from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject, StateChange

Host = Callable[..., InstanceObject]
A, B, C, D = (f"opsconsole_host.{name}" for name in "abcd")
DATA = "data.opsconsole_host.e"
ASIDE = f"{C} (deposed a4ae9fb3)"
"""Host c as a deposed object: the key is derived from its id."""


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
            StartingState("run", "lineage", 1, self.state.digest(), False)
        ]
        self.pending: list[StateChange] = []
        self.state.on_change = self.pending.append

    def change(self, **attributes: object) -> Story:
        """Update a, remove b, create c."""
        self.state.put(A, self.host(1, name="new", **attributes))
        self.state.remove(B)
        self.state.put(C, self.host(3))
        self.records.append(Intent("call", C, "POST", {}, "now"))
        self.records.append(StateChanges(tuple(self.pending), ("call",)))
        self.pending.clear()
        return self

    def write(self) -> bytes:
        self.records.append(StateWrite(self.state.raise_serial(), self.state.digest()))
        return self.state.to_bytes()


@pytest.fixture
def story(host: Host) -> Story:
    return Story(host)


def after(records: Sequence[Record], data: bytes, copy: bytes = b"") -> State:
    return fold_journals(records, [], data, copy, "s").state


def outcome(records: Sequence[Record], data: bytes, copy: bytes = b"") -> dict[str, str]:
    return names_in(after(records, data, copy))


def names_in(state: State) -> dict[str, str]:
    names = {}
    for address, deposed in state.objects():
        item = state.get(address, deposed)
        assert item is not None
        names[deposed_name(str(address), deposed)] = item.attributes["name"]
    return names


DONE = {A: "new", C: "host-3"}


def test_changes_are_applied_again_to_a_state_that_has_them(story):
    assert outcome(story.change().records, story.before) == DONE
    written = story.write()
    assert outcome(story.records, written) == DONE
    assert not after(story.records, written).changed
    story.change(tags=["late:1"])
    item = after(story.records, written).get(A)
    assert item.attributes["tags"] == ["late:1"]


@pytest.mark.parametrize("is_longer", [True, False])
@pytest.mark.parametrize("cut", [0, 1, 300, 700])
def test_a_write_cut_in_two_is_mended_from_the_copy(story, cut, is_longer):
    copy = story.change().write()
    torn = copy[:cut] + story.before[cut:] * is_longer
    found = fold_journals(story.records, [], torn, copy, "s")
    # The first bytes are the same in both, and the next ones differ in the serial alone.
    assert found.was_torn is (not is_longer or cut > 300)
    assert found.state.raise_serial() == (2 if is_longer and cut <= 1 else 3)
    # The run goes on while it writes; what it does then is in no copy.
    story.change(tags=["late:1"])
    state = after(story.records, torn, copy)
    assert outcome(story.records, torn, copy) == DONE
    item = state.get(A)
    assert (item.attributes["tags"], state.lineage) == (["late:1"], "lineage")


@pytest.mark.parametrize("lineage", ["lineage", "linage", "other"])
def test_a_mixture_that_reads_well_is_not_believed(story, lineage):
    """Hosts of equal length: half of the new state and half of the old one is a valid state."""
    copy = story.change().write()
    # A longer serial moves the lineage, so that a character of it may be lost.
    mixed = json.loads(copy) | {"lineage": lineage}
    mixed["resources"] = [*mixed["resources"][:1], *json.loads(story.before)["resources"][:1]]
    mixed["resources"][1]["name"] = "zzz"
    text = (json.dumps(mixed, indent=2) + "\n").encode()
    with pytest.raises(UserError) if lineage == "other" else contextlib.nullcontext():
        assert outcome(story.records, text, copy) == DONE


def test_a_cut_state_without_its_copy_is_an_error(story):
    written = story.change().write()
    for copy in (b"", State.new("lineage").to_bytes()):
        with pytest.raises(UserError, match=r"state s was damaged, and there is no copy of it"):
            after(story.records, written[:500], copy)


def test_damage_that_no_write_of_ours_made_is_an_error(story):
    with pytest.raises(UserError, match=r"^The state s cannot be read"):
        after(story.change().records, b"{", story.before)
    assert outcome(story.records, story.before, b"{") == DONE


def test_a_state_that_is_gone_is_an_error(story):
    with pytest.raises(UserError, match="is gone, but a journal"):
        after(story.change().records, b"")
    story.records[0] = StartingState("run", "chosen", 0, State.new().digest(), True)
    assert outcome(story.records, b"") == DONE
    for data, lineage in ((b"", "chosen"), (State.new("stored").to_bytes(), "stored")):
        assert after(story.records, data).lineage == lineage


def moved_on(story: Story, edit: Callable[[State], None]) -> bytes:
    """What another engine makes of the state that the run began from."""
    state = State.parse(story.before)
    edit(state)
    state.set_output("other", None)
    state.serial += 5
    return state.to_bytes()


Edit = Callable[[State, Host], object]


def puts(address: str, number: int, **attributes: object) -> Edit:
    """Return the edit that puts a host of this number at an address."""
    return lambda state, host: state.put(address, host(number, **attributes))


def removes(address: str) -> Edit:
    """Return the edit that removes an address."""
    return lambda state, host: state.remove(address)


def both(first: Edit, second: Edit) -> Edit:
    """Return the edit that makes two edits."""
    return lambda state, host: (first(state, host), second(state, host))


EDITS: dict[str, tuple[Edit, dict[str, str]]] = {
    "removed the updated one": (removes(A), {C: "host-3"}),
    "removed the removed one": (removes(B), {A: "new", C: "host-3"}),
    "refreshed the updated one": (puts(A, 1, name="seen"), {A: "seen", C: "host-3"}),
    "refreshed the removed one": (puts(B, 2, name="seen"), DONE),
    "made the removed one anew": (puts(B, 9), {A: "new", B: "host-9", C: "host-3"}),
    "has the created one already": (puts(C, 3, name="imported"), {A: "new", C: "imported"}),
    "replaced the updated one": (puts(A, 8), {A: "host-8", C: "host-3"}),
    "made another one there": (puts(C, 7), {A: "new", C: "host-7", ASIDE: "host-3"}),
    "has the created one elsewhere": (
        both(puts(C, 7), puts(D, 3)),
        {A: "new", C: "host-7", D: "host-3"},
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_state_that_another_engine_wrote_loses_and_doubles_nothing(story, host, edit):
    act, expected = EDITS[edit]
    data = moved_on(story, lambda state: act(state, host))
    folded = fold_journals(story.change().records, [], data, b"", "s")
    assert (folded.was_torn, names_in(folded.state)) == (False, expected)
    # The run that continues has it in its journal, and a crash repeats the folding.
    assert after(folded.records, data).digest() == folded.state.digest()
    again = fold_journals(story.records, [], folded.state.to_bytes(), b"", "s")
    assert (names_in(again.state), list(again.warnings)) == (expected, [])


@pytest.mark.parametrize("edit", [removes(A), puts(A, 1, name="seen")])
def test_a_replacement_is_not_forgotten(story, host, edit):
    data = moved_on(story, lambda state: edit(state, host))
    story.state.put(A, host(5))
    story.records.append(StateChanges(tuple(story.pending)))
    assert outcome(story.records, data) == {A: "host-5", B: "host-2"}


OTHER = 'provider["registry.terraform.io/opsconsole/opsconsole"].other'
KEPT = "now a deposed object of this address: the next plan shows its deletion"
GONE = "not in the state: if the console has it, delete it there or import it"


def warn(address: str, now: str, made: str, becomes: str) -> str:
    crashed = f"{address} is {now} in the state, and a run that crashed made it {made}."
    return f"{crashed} {made} is {becomes}."


CLASHES: dict[str, tuple[Callable[[Story], object], Edit, dict[str, str], list[str]]] = {
    "created": (
        lambda story: story.change(),
        both(puts(C, 7), lambda state, host: state.put(C, host(9), "a4ae9fb3")),
        {A: "new", C: "host-7", f"{C} (deposed 1e2d23e9)": "host-3", ASIDE: "host-9"},
        [warn(C, "hst_0007", "hst_0003", KEPT)],
    ),
    "created under another provider configuration": (
        lambda story: story.change(),
        lambda state, host: state.put(C, host(7)._replace(provider=OTHER)),
        {A: "new", C: "host-7"},
        [warn(C, "hst_0007", "hst_0003", GONE)],
    ),
    "imported": (
        lambda story: story.state.put(C, story.host(3)),
        puts(C, 7),
        {A: "host-1", B: "host-2", C: "host-7"},
        [warn(C, "hst_0007", "hst_0003", GONE)],
    ),
    "moved": (
        lambda story: story.state.move(A, D),
        puts(D, 8),
        {A: "host-1", B: "host-2", D: "host-8"},
        [],
    ),
    "moved, and removed since": (
        lambda story: story.state.move(A, D),
        both(removes(A), puts(D, 8)),
        {B: "host-2", D: "host-8"},
        [warn(D, "hst_0008", "hst_0001", GONE)],
    ),
    "read by a data source": (
        lambda story: story.state.put(DATA, story.host(1)),
        puts(DATA, 2),
        {A: "host-1", B: "host-2", DATA: "host-2"},
        [],
    ),
}


@pytest.mark.parametrize("clash", CLASHES)
def test_only_what_the_run_created_becomes_a_deposed_object(story, host, clash):
    act, edit, expected, warnings = CLASHES[clash]
    data = moved_on(story, lambda state: edit(state, host))
    act(story)
    story.records.append(StateChanges(tuple(story.pending)))
    found = fold_journals(story.records, [], data, b"", "s")
    assert (names_in(found.state), list(found.warnings)) == (expected, warnings)


def test_two_journals_are_one_where_a_run_wrote_both(story, host):
    """What is only here, where runs store their journals, was settled elsewhere or never sent."""
    a, b = (Intent(name, f"opsconsole_agent.{name}", "POST", {}, "now") for name in "ab")
    other = StartingState("other", "lineage", 1, story.state.digest(), False)
    story.state.put(A, host(1, name="new"))
    stored = [story.records[0], StateChanges((story.pending.pop(),)), a]
    story.state.put(C, host(3))
    made = StateChanges((story.pending.pop(),))
    for here, keeps_journal, names, places in (
        ([*stored, b], True, [a, b], [A]),
        ([other, made, b], True, [a], [A, C]),
        ([other, made, b], False, [a, b], [A, C]),
        ([*stored, StateChanges((), ("a",))], True, [], [A]),
    ):
        found = fold_journals(here, stored, story.before, b"", "s", keeps_journal=keeps_journal)
        assert [change.address for change in found.changes] == places
        assert list(found.intents) == names
        assert (found.change_count, C in found.state) == (len(places), C in places)
    assert fold_journals([other, b], [], story.before, b"", "s", keeps_journal=True).intents == ()
    foreign = [StartingState("other", "foreign", 1, "", False), made]
    for local in (stored, []):
        with pytest.raises(UserError, match="to another state: lineage foreign, not lineage"):
            fold_journals(foreign, local, story.before, b"", "s")


def test_a_journal_without_its_first_record_is_refused_and_names_some(story):
    for place in range(30):
        story.state.put(f"opsconsole_host.h{place}", story.host(place))
    for changes, end in ((story.pending[:20], "."), (story.pending[20:], " and 10 more.")):
        story.records.append(StateChanges(tuple(changes)))
        with pytest.raises(UserError, match=f"lost its first record.*h19{end} Nothing") as caught:
            after(story.records[1:], story.before)
        assert caught.value.remedy


def test_a_journal_that_knows_the_outcome_of_an_unsettled_create_is_believed(story, host):
    """A run on another machine found the call open, and put an id made of it into the state."""
    unsettled = host(4)._replace(attributes={"id": "outcome-unknown/run-1", "name": "c"})
    data = moved_on(story, lambda state: state.put(C, unsettled))
    story.change()
    assert outcome(story.records, data) == {A: "new", C: "c", ASIDE: "host-3"}
    story.records.append(StateChanges((), ("run-1",)))
    assert outcome(story.records, data) == {A: "new", C: "host-3"}
