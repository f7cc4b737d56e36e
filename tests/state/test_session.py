"""Messages of a session, and the order of its writes: what `test_session_machine.py` leaves out."""

import asyncio
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from opsconsole.errors import UserError
from opsconsole.local_terraform import journal_of
from opsconsole.state import session as session_module
from opsconsole.state.backend import RunOptions
from opsconsole.state.backends.base import LockLost
from opsconsole.state.journal import Intent, Journal, decode_lines
from opsconsole.state.lock import info_file
from opsconsole.state.model import State
from opsconsole.state.opening import open_state
from opsconsole.state.session import Cadence, StateSession
from shared_place import InMemory, Place, ids_of
from virtual_time import Clock

WEB = "opsconsole_host.web"


def stored(path: Path) -> State:
    return State.parse(path.read_bytes())


async def test_open_intents_wait_until_the_user_tells(session, state_path):
    with session() as opened:
        lost = opened.intend("opsconsole_agent.a", "POST /api/v1/agents", {"name": "a"})
        refused = opened.intend("opsconsole_agent.b", "POST /api/v1/agents", {"name": "b"})
        await opened.flush()
        opened.record([refused])
    assert journal_of(state_path).stat().st_mode & 0o777 == 0o600
    assert refused not in journal_of(state_path).read_text()
    with session() as again:
        (intent,) = again.open_intents
        sent = Intent(lost, "opsconsole_agent.a", "POST /api/v1/agents", {"name": "a"}, intent.at)
        assert intent == sent
        assert re.fullmatch("[0-9a-f]{12}-1", lost), "short, as state may hold it"
        again.mark_settled([lost])
        assert again.open_intents == ()
        assert journal_of(state_path).read_text().count(lost) == 2, "the note is durable"
    assert not journal_of(state_path).exists()


async def test_the_journal_does_not_outgrow_the_state(session, state_path, host, clock):
    journal, sizes = journal_of(state_path), [0]
    with session() as opened:
        for number in range(400):
            call = opened.intend(f"opsconsole_host.h{number}", "POST", {"knowledge": "x" * 4_000})
            opened.state.put(f"opsconsole_host.h{number}", host(number, knowledge="x" * 4_000))
            opened.record([call])
            await opened.flush()
            if opened.is_due():
                await opened.checkpoint()
            sizes.append(len(journal.read_bytes().rstrip(b"\0")))
        for _ in range(120):
            opened.record([opened.intend(WEB, "POST", {"refused": "x" * 20_000})])
            await opened.flush()
            if opened.is_due():
                await opened.checkpoint()
            sizes.append(len(journal.read_bytes().rstrip(b"\0")))
        [base] = decode_lines(journal.read_bytes().rstrip(b"\0"), "journal")[0][:1]
        assert (base.serial, base.digest) == (opened.state.serial, opened.state.digest())
    # No time passes: only a journal half as large as the state makes a write due.
    assert abs(len(stored(state_path).to_bytes()) // 2 - max(sizes)) < 25_000


def test_a_stored_state_of_serial_0_may_lose_its_last_object(session, state_path, host):
    state = State.new("lineage")
    state.put(WEB, host(1))
    state_path.write_bytes(state.to_bytes())
    with session() as opened:
        opened.state.remove(WEB)
    removed = stored(state_path)
    assert (removed.empty, removed.serial, removed.lineage) == (True, 1, "lineage")
    state.lineage = ""
    state_path.write_bytes(state.to_bytes())
    opened = session()
    opened.begin()
    opened.abandon()
    state_path.write_bytes(removed.to_bytes())
    with pytest.raises(UserError, match=f"lineage {opened.state.lineage}, not lineage"):
        session()


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (OSError(30, "Read-only file system"), "Cannot write .*: this user may not "),
        (MemoryError(), "Cannot write the state .*: there is not enough memory "),
        (RuntimeError("no thread"), "Cannot write the state .*: RuntimeError: no thread"),
    ],
)
async def test_whatever_keeps_it_from_being_saved_is_one_error_that_names_it(
    session, state_path, host, monkeypatch, failure, said
):
    opened = session()
    opened.intend(WEB, "POST /api/v1/hosts/batch", {})
    opened.state.put("opsconsole_host.saved", host(2))
    await opened.flush()

    def fail(*_: object) -> NoReturn:
        raise failure

    opened.state.put(WEB, host(1))
    for name in ("pwrite", "unlink", "fsync"):
        monkeypatch.setattr(os, name, fail)
    with pytest.raises(UserError, match=said):
        await opened.flush()
    with pytest.raises(UserError, match=f"{said}.*Neither .* journal holds: {WEB} = hst_0001\\."):
        opened.close()
    monkeypatch.undo()
    session().close()


def test_a_journal_that_cannot_be_removed_for_good_is_the_only_error(
    session, state_path, monkeypatch
):
    opened = session()
    opened.begin()
    real = os.fsync

    def fail(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(5, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UserError, match=r"Cannot remove .*the disk failed"):
        opened.close()
    assert not info_file(state_path).exists()


@pytest.mark.parametrize("content", [b"{", b'{"version": 5}'])
def test_bad_state_is_refused_and_unlocked(session, state_path, content, monkeypatch):
    def fail(*_: object) -> NoReturn:
        raise MemoryError

    state_path.write_bytes(content)
    for said in ("cannot be read|newer", "Cannot open .* not enough memory .* Nothing was changed"):
        with pytest.raises(UserError, match=said):
            session()
        assert state_path.read_bytes() == content
        monkeypatch.setattr(os, "pread", fail)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(session_module, "time", found)
    return found


@pytest.mark.parametrize(
    ("changes", "since", "cost", "due"),
    [
        (0, 100.0, 0.0, False),
        (1, 5.0, 0.0, True),
        (499, 4.9, 0.0, False),
        (500, 0.0, 0.0, True),
        (500, 1.0, 0.1, True),
        (500, 0.9, 0.1, False),
        (1, 6.0, 0.7, False),
        (1, 7.0, 0.7, True),
    ],
)
def test_when_a_write_is_due(changes, since, cost, due):
    assert Cadence().is_due(changes, since, cost) is due


# `|` separates the phases of the test below.
IN_ONE_DOCUMENT = "write | | write | write write | write | write"
BESIDE = "store | store | store write | store store write store store write | store | store store"


@pytest.mark.parametrize(("embeds_journal", "stored"), [(True, IN_ONE_DOCUMENT), (False, BESIDE)])
async def test_what_a_shared_place_stores_before_calls_and_when(
    clock, tmp_path, host, embeds_journal, stored
):
    asked: list[str] = []

    def store(name: str) -> None:
        if name in ("write", "store"):
            asked.append(name)
            clock.now += 0.5

    clock.now, place = 100.0, Place(point=store)
    opened = open_state(InMemory(place, RunOptions(tmp_path), embeds_journal=embeds_journal))
    calls = [opened.intend(WEB, "POST /api/v1/agents", {}) for _ in range(4)]
    assert not (opened.folded_count or opened.has_unwritten_changes or opened.calls_at_once)
    assert not opened.has_done_nothing
    clock.now += 2
    await opened.flush()
    asked.append("|")
    opened.state.put(WEB, host(1))
    opened.record(calls[1:])
    await opened.flush()
    asked.append("|")
    await opened.checkpoint()
    asked.append("|")
    # Four calls in three seconds, where a write takes half a second.
    assert opened.calls_at_once == 2 * embeds_journal
    opened.state.put(WEB, host(2))
    clock.now += 3
    assert not opened.is_due()
    clock.now += 1
    assert opened.is_due()
    await opened.checkpoint()
    # Writes take half of the time at most, however many changes there are.
    for number in range(500):
        opened.state.put(f"{WEB}[{number}]", host(number))
    opened.record()
    for is_due in (False, True):
        assert opened.is_due() is is_due
        clock.now += 3
    for _ in range(2):
        await opened.checkpoint()
    assert not opened.has_unwritten_changes
    asked.append("|")
    place.lock, elsewhere = "", RunOptions(Path.cwd())
    with open_state(InMemory(place, elsewhere, embeds_journal=embeds_journal)) as again:
        asked.append("|")
        assert [intent.id for intent in again.open_intents] == calls[:1]
        again.mark_settled(calls)
    assert (asked, place.journal) == (stored.split(), b"")


async def test_a_cancelled_checkpoint_ends_before_the_next_begins(session, state_path, host):
    with session() as opened:
        for number in range(300):
            opened.state.put(f"opsconsole_host.h{number}", host(number))
        writing = asyncio.create_task(opened.checkpoint())
        await asyncio.sleep(0)
        writing.cancel()
        opened.state.put(WEB, host(9))
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert len(stored(state_path)) == 300
    assert len(stored(state_path)) == 301
    assert [path.name for path in state_path.parent.iterdir()] == [state_path.name], "no backup"


async def test_a_write_whose_turn_comes_after_the_end_is_not_made(
    session, state_path, host, monkeypatch
):
    gate = asyncio.Event()

    async def late(work: Callable[..., None], *arguments: object) -> None:
        await gate.wait()
        work(*arguments)

    opened = session()
    opened.state.put(WEB, host(1))
    opened.record()
    monkeypatch.setattr(asyncio, "to_thread", late)
    writing = asyncio.create_task(opened.checkpoint())
    await asyncio.sleep(0)
    opened.abandon()
    before = {path.name: path.read_bytes() for path in state_path.parent.iterdir()}
    gate.set()
    await writing
    assert {path.name: path.read_bytes() for path in state_path.parent.iterdir()} == before
    # This run ends right behind its write of the state; the next one finds nothing to add.
    monkeypatch.setattr(Journal, "restart", lambda *_: None)
    session().abandon()
    monkeypatch.undo()
    session().abandon()
    assert "hst_0001" not in journal_of(state_path).read_text()
    with session() as again:
        assert ids_of(again.state) == {WEB: "hst_0001"}


@pytest.mark.parametrize("end", [StateSession.abandon, StateSession.close])
async def test_what_is_recorded_after_the_end_is_written_nowhere(
    session, state_path, host, tmp_path, end
):
    opened = session()
    opened.state.put(WEB, host(1))
    end(opened)
    with session() as another, (tmp_path / "other").open("w+b") as other:
        another.begin()
        # It gets the number that the journal had, most likely.
        opened.state.put(WEB, host(2))
        opened.intend(WEB, "POST /api/v1/agents", {})
        with pytest.raises(UserError):
            await opened.flush()
        opened.close()
        opened.abandon()
        assert other.read() == b""
        assert info_file(state_path).exists()
    with session() as again:
        assert (ids_of(again.state), again.open_intents) == ({WEB: "hst_0001"}, ())


async def test_callers_share_one_write_of_the_document_that_embeds_their_calls(tmp_path):
    place, writes = Place(), list[str]()
    place.point = lambda name: writes.append(name) if name == "write" else None
    opened = open_state(InMemory(place, RunOptions(tmp_path), embeds_journal=True))
    calls = [opened.intend(f"opsconsole_agent.a{n}", "POST", {}) for n in range(50)]
    await asyncio.gather(*[opened.flush() for _ in calls])
    assert (len(writes), place.journal.count(b"POST")) == (1, 50)
    opened.record(calls)
    opened.close()
    assert place.journal == b""


async def test_a_flush_that_fails_refuses_the_calls_of_every_caller(tmp_path):
    place = Place()
    opened = open_state(InMemory(place, RunOptions(tmp_path), embeds_journal=True))
    flushes = []
    for name in "ab":
        opened.intend(f"opsconsole_agent.{name}", "POST /api/v1/agents", {})
        flushes.append(asyncio.create_task(opened.flush()))
        await asyncio.sleep(0)
    lock, place.lock = place.lock, "another"
    ended = await asyncio.gather(*flushes, return_exceptions=True)
    assert [type(error) for error in ended] == [LockLost] * 2
    place.lock = lock
    sent = opened.intend("opsconsole_agent.c", "POST /api/v1/agents", {})
    await opened.flush()
    assert place.journal.count(b"POST") == 1
    opened.record([sent])
    await opened.flush()
    opened.abandon()
    place.lock = ""
    open_state(InMemory(place, RunOptions(tmp_path), embeds_journal=True)).close()
    assert place.journal == b""


@pytest.mark.parametrize("said", [("The copy stays.", "The lock stays."), ("The lock stays.",)])
async def test_what_cannot_be_tidied_up_is_told_and_costs_no_outcome(tmp_path, monkeypatch, said):
    place, options = Place(), RunOptions(tmp_path)
    first, second = (InMemory(place, options, embeds_journal=False) for _ in range(2))
    opened, store = open_state(first), first.store_journal
    refused = opened.intend(WEB, "POST /api/v1/hosts/batch", {})
    await opened.flush()
    opened.record([refused])

    def store_or_fail(data: bytes = b"") -> None:
        if not data:
            raise UserError(next(told))
        store(data)

    told = iter(said)
    for name in ("store_journal", "close")[-len(said) :]:
        monkeypatch.setattr(first, name, store_or_fail)
    with pytest.raises(UserError, match="^" + " ".join(said)):
        opened.close()
    place.lock = ""
    with open_state(second) as again:
        assert again.open_intents == ()
