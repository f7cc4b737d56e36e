"""A session on a remote state: persisted while it runs, fenced, and found again from elsewhere."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from backend_places import ONE_OBJECT, SEVERAL_OBJECTS, Place, on
from opsconsole.errors import UserError
from opsconsole.state.backends.base import Companion, LockLost
from opsconsole.state.lock import LockHeld
from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject
from opsconsole.state.opening import backend_for, open_state, read_state
from opsconsole.state.writer import Cadence, StateSession

PROVIDER = 'provider["registry.terraform.io/opsconsole/opsconsole"]'
BRIEF = Cadence(seconds=0.05, share=1e9)
NEVER = Cadence(seconds=1e9, changes=10**9)


def host(number: int) -> InstanceObject:
    return InstanceObject(PROVIDER, {"id": f"hst_{number}", "name": f"h{number}"})


def opened(place: Place, folder: Path, cadence: Cadence = NEVER) -> StateSession:
    """Open a session as a machine of its own would."""
    folder.mkdir(exist_ok=True)
    return open_state(backend_for(folder, {place.kind: place.block}, "apply"), cadence)


def stored(place: Place) -> State:
    storage = place.storage()
    try:
        return State.parse(storage.read())
    finally:
        storage.close()


@on("http", "pg")
async def test_a_change_is_stored_without_anything_else_happening(
    place: Place, tmp_path: Path
) -> None:
    with opened(place, tmp_path / "one", BRIEF) as session:
        session.state.put("opsconsole_host.a", host(1))
        await session.flush()
        deadline = time.monotonic() + 60
        while "opsconsole_host.a" not in await asyncio.to_thread(stored, place):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        session.state.put("opsconsole_host.b", host(2))
        await session.flush()
    assert len(stored(place)) == 2


@on("pg", among=SEVERAL_OBJECTS)
async def test_what_a_lost_machine_did_is_found_from_another(place: Place, tmp_path: Path) -> None:
    with opened(place, tmp_path / "before") as session:
        session.state.put("opsconsole_host.old", host(0))
    gone = opened(place, tmp_path / "gone")
    early = gone.intend("opsconsole_agent.early", "POST /api/v1/agents", {"name": "early"})
    gone.state.put("opsconsole_host.a", host(1))
    await gone.flush()
    await gone.checkpoint()
    settled = gone.intend("opsconsole_agent.done", "POST /api/v1/agents", {"name": "done"})
    late = gone.intend("opsconsole_agent.late", "POST /api/v1/agents", {"name": "late"})
    gone.state.put("opsconsole_agent.done", host(3))
    gone.record([settled])
    await gone.flush()
    place.steal()
    for file in (tmp_path / "gone").iterdir():
        file.unlink()
    shown = read_state(backend_for(tmp_path, {place.kind: place.block}, "show"))
    assert "opsconsole_agent.done" in shown
    with opened(place, tmp_path / "after") as session:
        assert session.folded == 1
        assert "opsconsole_agent.done" in session.state
        assert {call.id for call in session.unresolved} == {early, late}
        session.resolve([early])
    with opened(place, tmp_path / "third") as session:
        assert [call.id for call in session.unresolved] == [late]
        assert session.folded == 0
    storage = place.storage()
    assert storage.read_companion(Companion.JOURNAL) == b""
    storage.close()
    with pytest.raises(UserError):
        gone.close()


def unknown(number: int) -> InstanceObject:
    return InstanceObject(PROVIDER, {"id": f"outcome-unknown/{number}"}, tainted=True)


def ids(state: State) -> dict[str, str]:
    """Return the ids in a state, by address and whether the object was put aside."""
    found = {}
    for address, deposed in state.objects():
        item = state.get(address, deposed)
        assert item is not None
        found[f"{address}{' aside' if deposed else ''}"] = item.attributes["id"]
    return found


async def gone_while_it_created(place: Place, folder: Path) -> StateSession:
    """Leave a run that sent four creates: one answered, one refused, two of unknown outcome."""
    with opened(place, folder) as session:
        session.state.put("opsconsole_host.replaced", host(7))
    gone = opened(place, folder)
    intents = {
        name: gone.intend(f"opsconsole_host.{name}", "POST", {}, unknown(number))
        for number, name in enumerate(("answered", "refused", "lost", "replaced"))
    }
    await gone.flush()
    assert ids(stored(place)) == {
        "opsconsole_host.answered": "outcome-unknown/0",
        "opsconsole_host.refused": "outcome-unknown/1",
        "opsconsole_host.lost": "outcome-unknown/2",
        "opsconsole_host.replaced": "outcome-unknown/3",
        "opsconsole_host.replaced aside": "hst_7",
    }
    gone.state.put("opsconsole_host.answered", host(1))
    gone.record([intents["answered"]])
    gone.settle(intents["refused"], "refused")
    await gone.flush()
    return gone


@on("http", among=ONE_OBJECT)
async def test_what_stores_one_object_shows_each_create_before_it_is_sent(
    place: Place, tmp_path: Path
) -> None:
    gone = await gone_while_it_created(place, tmp_path / "gone")
    before = len(place.server.requests)
    await gone.flush()
    assert len(place.server.requests) == before
    gone.close()
    left = {
        "opsconsole_host.answered": "hst_1",
        "opsconsole_host.lost": "outcome-unknown/2",
        "opsconsole_host.replaced": "outcome-unknown/3",
        "opsconsole_host.replaced aside": "hst_7",
    }
    assert ids(stored(place)) == left


@on("http", among=ONE_OBJECT)
async def test_a_journal_that_is_still_there_knows_more_than_what_is_shown(
    place: Place, tmp_path: Path
) -> None:
    gone = await gone_while_it_created(place, tmp_path / "gone")
    place.steal()
    with pytest.raises(LockLost):
        gone.close()
    with opened(place, tmp_path / "gone") as session:
        assert ids(session.state) == {
            "opsconsole_host.answered": "hst_1",
            "opsconsole_host.replaced": "hst_7",
        }
        assert {call.address for call in session.unresolved} == {
            "opsconsole_host.lost",
            "opsconsole_host.replaced",
        }


@on("http", "pg")
async def test_a_run_that_lost_its_lock_begins_nothing_and_keeps_its_journal(
    place: Place, tmp_path: Path
) -> None:
    session = opened(place, tmp_path / "one")
    session.state.put("opsconsole_host.a", host(1))
    await session.checkpoint()
    session.state.put("opsconsole_host.b", host(2))
    place.steal()
    with opened(place, tmp_path / "two") as other:
        other.state.put("opsconsole_host.other", host(9))
        await other.checkpoint()
        with pytest.raises(LockLost, match="has lost the lock"):
            if place.keeps_companions:
                await session.flush()
            else:
                await session.checkpoint()
        with pytest.raises(LockLost, match=r"the next run adds it to the state.*journal is .*one"):
            session.close()
        assert "opsconsole_host.b" not in stored(place)
    assert "opsconsole_host.other" in stored(place)
    assert list((tmp_path / "one").glob("*opsconsole-journal"))
    with opened(place, tmp_path / "one") as again:
        assert again.folded >= 1
        for name in ("a", "b", "other"):
            assert f"opsconsole_host.{name}" in again.state


@on("http", "pg")
async def test_what_went_wrong_in_the_background_stops_the_run(
    place: Place, tmp_path: Path
) -> None:
    session = opened(place, tmp_path / "one", BRIEF)
    session.state.put("opsconsole_host.a", host(1))
    session.record()
    place.steal()
    deadline = time.monotonic() + 60
    with pytest.raises(LockLost):
        while time.monotonic() < deadline:
            session.state.put("opsconsole_host.a", host(int(time.monotonic() * 1000)))
            await session.flush()
            await asyncio.sleep(0.05)
    with pytest.raises(LockLost):
        session.close()


@on("http", "pg")
def test_a_lock_that_is_held_names_its_holder_and_the_way_out(place: Place, tmp_path: Path) -> None:
    with opened(place, tmp_path / "one"), pytest.raises(LockHeld) as held:
        opened(place, tmp_path / "two")
    assert "opsconsole apply" in str(held.value)
    assert "force-unlock" in str(held.value)
