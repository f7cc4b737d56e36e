"""The journal: its lines, and its file on disks that tear, fill up or fail."""

import asyncio
import fcntl
import gc
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from opsconsole.errors import UserError
from opsconsole.state.files import put_in_place
from opsconsole.state.journal import (
    Intent,
    Journal,
    Record,
    StartingState,
    StateChanges,
    StateWrite,
    changes_of,
    decode_lines,
    encode_line,
    encode_records,
    open_intents,
)
from opsconsole.state.objects import StateChange

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
KIND, PERHAPS = st.sampled_from(["instance", "output"]), st.none() | TEXT
CHANGES = st.builds(StateChange, KIND, TEXT, PERHAPS, TEXT, TEXT, PERHAPS)
RECORDS: st.SearchStrategy[Record] = st.one_of(
    st.builds(StartingState, TEXT, TEXT, st.integers(0, 2**60), TEXT, st.booleans()),
    st.builds(Intent, TEXT, TEXT, TEXT, st.dictionaries(TEXT, TEXT), TEXT),
    st.builds(StateChanges, st.lists(CHANGES).map(tuple), st.lists(TEXT).map(tuple)),
    st.builds(StateWrite, st.integers(0, 2**60), TEXT),
)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def intent(name: str) -> Intent:
    return Intent(name, f"opsconsole_agent.{name}", "POST /api/v1/agents", {"name": name}, "now")


def changed(name: str, *settles: str) -> StateChanges:
    return StateChanges(
        (StateChange("instance", f"opsconsole_host.{name}", "{}", "p", "", None),), settles
    )


@given(st.lists(RECORDS, max_size=6), st.data())
def test_records_come_back_and_a_torn_end_is_left_out(records, data):
    whole = encode_records(records)
    assert decode_lines(whole, "j") == (records, len(whole))
    cut = data.draw(st.integers(0, len(whole)))
    found, size = decode_lines(whole[:cut], "j")
    assert found == records[: len(found)]
    assert whole[:cut].startswith(whole[:size])
    assert len(found) == whole[:cut].count(b"\n")


@given(st.lists(RECORDS, min_size=1, max_size=4), st.data())
def test_a_flipped_byte_is_never_believed(records, data):
    whole = bytearray(encode_records(records))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    try:
        found, _ = decode_lines(bytes(whole), "j")
    except UserError:
        return
    assert found == records[: len(found)]
    assert len(found) < len(records)


def lines(*groups: list[Record]) -> list[bytes]:
    written: list[bytes] = []
    for group in groups:
        durable = sum(len(line) for line in written)
        written += [encode_line(record, durable) for record in group]
    return written


@pytest.mark.parametrize("renamed", [True, False])
def test_damage_behind_which_more_was_written_is_an_error(renamed):
    """One rename puts all lines in place, so the end of none of them can be torn."""
    records: list[Record] = [changed("a"), changed("b"), changed("c")]
    first, second, third = lines(*[[record] for record in records])
    if renamed:
        first, second, third = encode_records(records).splitlines(keepends=True)
    with pytest.raises(UserError, match=f"damaged at byte {len(first)}, with good records after"):
        decode_lines(first + b"x" + second[1:] + third, "j")
    with pytest.raises(UserError, match="damaged at byte 0, with good records after"):
        decode_lines(b"\n" + second, "j")


def test_a_group_that_was_torn_in_its_middle_is_left_out():
    first, second, third, fourth = lines([changed("a")], [changed("b"), changed("c"), changed("d")])
    torn = b"\0" * (len(second) - 1) + b"\n"
    assert decode_lines(first + torn + third + fourth, "j") == ([changed("a")], len(first))


def test_an_intent_is_open_until_something_tells_its_outcome():
    records: list[Record] = [*map(intent, "abc"), changed("a", "a"), StateChanges((), ("b",))]
    assert open_intents(records) == [intent("c")]
    assert changes_of(records) == list(changed("a").changes)


BASE = StartingState("run", "lineage", 1, "digest", False)


def test_a_restart_keeps_open_intents_and_what_came_later(tmp_path, open_files):
    journal = Journal.create(tmp_path / "j")
    assert (tmp_path / "j").stat().st_mode & 0o7777 == 0o600, "it may hold secrets"
    with pytest.raises(UserError, match="Another run of opsconsole is in progress"):
        Journal.resume(tmp_path / "j")
    for record in (BASE, intent("a"), intent("b"), changed("a", "a")):
        journal.append(record)
    journal.flush_now()
    position = journal.appended_count
    for record in (StateWrite(2, "x"), changed("late"), intent("c")):
        journal.append(record)
    journal.flush_now()
    journal.append(changed("later"))
    later = StartingState("run", "lineage", 2, "x", False)
    journal.restart(later, position)
    kept = [later, intent("b"), changed("late"), intent("c"), changed("later")]
    assert decode_lines((tmp_path / "j").read_bytes().rstrip(b"\0"), "j")[0] == kept
    with pytest.raises(UserError, match="Another run of opsconsole is in progress"):
        Journal.resume(tmp_path / "j")
    assert open_files() == [tmp_path / "j"]
    journal.append(intent("d"))
    journal.flush_now()
    journal.close()
    assert Journal.resume(tmp_path / "j")[1] == [*kept, intent("d")]
    assert (names(tmp_path), journal.appended_count) == (["j"], 9)


def test_a_restart_under_way_is_no_lost_name(tmp_path, monkeypatch):
    journal = Journal.create(tmp_path / "j")
    journal.append(BASE)
    renamed, checked = threading.Event(), threading.Event()

    def put_slowly(*arguments: Any) -> int:
        descriptor = put_in_place(*arguments)
        renamed.set()
        checked.wait(0.2)
        return descriptor

    monkeypatch.setattr("opsconsole.state.journal.put_in_place", put_slowly)
    restart = threading.Thread(target=journal.restart, args=(BASE, 1))
    restart.start()
    renamed.wait()
    journal.check_same_file()
    checked.set()
    restart.join()
    journal.check_same_file()
    (tmp_path / "j").unlink()
    with pytest.raises(UserError, match="removed"):
        journal.check_same_file()


async def test_callers_share_one_write(tmp_path, monkeypatch):
    synced: list[int] = []
    real = os.fdatasync

    def count(descriptor: int) -> None:
        synced.append(descriptor)
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", count)
    journal = Journal.create(tmp_path / "j")

    async def change(number: int) -> None:
        journal.append(changed(str(number)))
        await journal.flush()

    await asyncio.gather(*[change(number) for number in range(200)])
    assert 1 <= len(synced) <= 3
    journal.close()
    _, found = Journal.resume(tmp_path / "j")
    assert found == [changed(str(number)) for number in range(200)]


TORN, WHOLE = lines([changed("x"), changed("y")])


@pytest.mark.parametrize("torn", [b"", b"0123", b"\0" * 5000, b"00000000" + TORN[8:] + WHOLE])
@pytest.mark.parametrize("kept", [[], [changed("a")]])
def test_a_resumed_journal_goes_on_behind_the_torn_end(tmp_path, torn, kept):
    path = tmp_path / "j"
    path.write_bytes(encode_records(kept) + torn)
    journal, records = Journal.resume(path)
    assert records == kept
    journal.append(changed("b"))
    journal.flush_now()
    journal.close()
    assert Journal.resume(path)[1] == [*kept, changed("b")]


class Full:
    """A disk on which nothing more can be reserved, and nothing beyond `room` written."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.write = os.pwrite

    def posix_fallocate(self, *_: Any) -> None:
        raise OSError(28, "No space left on device")

    def pwrite(self, descriptor: int, data: Any, at: int) -> int:
        if at + len(data) > self.room:
            raise OSError(28, "No space left on device")
        return self.write(descriptor, data, at)


@pytest.mark.parametrize("base", [[BASE], []])
def test_on_a_full_disk_intents_fail_and_results_are_still_kept(tmp_path, monkeypatch, base):
    journal = Journal.create(tmp_path / "j")
    journal.append(intent("a"))
    journal.flush_now()
    if base:
        journal.restart(BASE, journal.appended_count)
    full = Full((tmp_path / "j").stat().st_size)
    assert full.room > 1 << 20
    monkeypatch.setattr(os, "posix_fallocate", full.posix_fallocate)
    monkeypatch.setattr(os, "pwrite", full.pwrite)
    with pytest.raises(UserError, match=r"no room .*It is as it was\."):
        journal.restart(BASE, journal.appended_count)
    journal.append(intent("early"))
    journal.flush_now()
    big = StateChange("instance", "opsconsole_agent.a", "x" * 540_000)
    journal.append(StateChanges((big,), ("a",)))
    journal.flush_now()
    journal.append(Intent("b", "x" * 400_000, "", {}, ""))
    with pytest.raises(UserError, match=r"no room .*No further call is made"):
        journal.flush_now()
    journal.close()
    monkeypatch.undo()
    kept = [*base, intent("a"), intent("early"), StateChanges((big,), ("a",))]
    assert Journal.resume(tmp_path / "j")[1] == kept


async def test_a_flush_right_behind_another_one_is_not_kept_waiting(tmp_path):
    journal = Journal.create(tmp_path / "journal")
    journal.append(changed("first"))
    first = asyncio.create_task(journal.flush())
    met = False
    while not first.done():
        await asyncio.sleep(0)
        # The write is over, and those who wait for it have not been told yet.
        if journal._flushing is not None and journal._flushing.done():
            met = True
            journal.append(changed("second"))
            await journal.flush()

    await first
    journal.close()
    assert met
    records = decode_lines((tmp_path / "journal").read_bytes().rstrip(b"\0"), "journal")[0]
    assert records == [changed("first"), changed("second")]


async def test_a_failed_flush_fails_for_everyone_and_is_not_logged(tmp_path, monkeypatch):
    logged: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
    journal = Journal.create(tmp_path / "j")
    full = Full(0)
    monkeypatch.setattr(os, "posix_fallocate", full.posix_fallocate)
    monkeypatch.setattr(os, "pwrite", full.pwrite)
    journal.append(changed("a"))
    results = await asyncio.gather(*[journal.flush() for _ in range(3)], return_exceptions=True)
    assert [type(result) for result in results] == [UserError] * 3
    assert journal.waiting_changes() == list(changed("a").changes)
    for is_cancelled in (False, True):
        caller = asyncio.create_task(journal.flush())
        await asyncio.sleep(0)
        caller.cancel()
        writing = journal._flushing
        if is_cancelled:
            writing.cancel()
        await asyncio.wait([caller, writing])
    monkeypatch.undo()
    await journal.flush()
    assert journal.waiting_changes() == []
    journal.close()
    del caller, writing
    gc.collect()
    assert logged == []


def test_a_journal_that_was_replaced_while_it_was_opened_is_not_taken(tmp_path, monkeypatch):
    Journal.create(tmp_path / "j").close()
    locked = fcntl.flock

    def replace_before(descriptor: int, how: int) -> None:
        (tmp_path / "j").unlink()
        (tmp_path / "j").touch()
        locked(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", replace_before)
    with pytest.raises(UserError, match="Another run of opsconsole is in progress"):
        Journal.resume(tmp_path / "j")
    monkeypatch.setattr(fcntl, "flock", lambda *_: os.close(-1))
    with pytest.raises(UserError, match=r"^Cannot lock .*/j: .* Nothing was changed"):
        Journal.resume(tmp_path / "j")


@pytest.mark.parametrize(
    ("act", "name", "said"),
    [
        (Journal.create, "j", "Cannot write .*/j: there is no room .* Nothing was changed"),
        (Journal.create, "gone/j", "Cannot write .*/j: it, or its directory, is not there"),
        (Journal.create, "other", "Another run of opsconsole is in progress and writes the journ"),
        (Journal.resume, "j", "Cannot open .*/j: it, or its directory, is not there"),
        (Journal.resume, "torn", "Cannot read .*/torn: there is no room .* Nothing was changed"),
        (Journal.resume, "other", "is not a journal. Nothing was changed. Name another file with"),
    ],
)
def test_a_journal_that_cannot_be_opened_leaves_nothing(
    tmp_path, monkeypatch, open_files, act, name, said
):
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / "torn").write_bytes(b"0123")
    for call in ("fsync", "pwrite"):
        monkeypatch.setattr(os, call, Full(0).posix_fallocate)
    with pytest.raises(UserError, match=said):
        act(tmp_path / name)
    assert open_files() == []
    assert sorted(names(tmp_path)) == ["other", "torn"]
    assert (tmp_path / "other").read_bytes() == b"other"


@pytest.mark.parametrize(
    "text",
    [
        '["starting_state", 1, "l", 2, "x", false]',
        '["starting_state", "r", "l", true, "x", false]',
        '["changes", [["instance", 5, "x", "", "", null, ""]], []]',
        '["changes", [["other", "a.b", "x", "", "", null, ""]], []]',
        '["changes", [], [5]]',
        '["intent", "i", "a.b", "POST", [], "now"]',
        '["nothing"]',
        "5",
        "{}",
        "[" * 9000 + "]" * 9000,
    ],
)
def test_a_record_of_another_shape_is_one_error(text):
    with pytest.raises(UserError, match=r"cannot be read at byte 0: .*If a newer opsconsole wrote"):
        decode_lines(encode_line(Raw(text.encode()), 0), "j")
