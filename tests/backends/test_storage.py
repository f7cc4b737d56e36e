"""What every kind of backend promises, each on a real server."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from backend_places import FIVE, on
from opsconsole.errors import UserError
from opsconsole.state.backends.base import LockLost
from opsconsole.state.lock import LockHeld, LockInfo
from opsconsole.state.model import State
from patience import PATIENCE
from sampling import EVERYTHING


def text(serial: int = 1, lineage: str = "l") -> bytes:
    """Return a small state."""
    return json.dumps({"version": 4, "serial": serial, "lineage": lineage}).encode()


def own(operation: str = "apply") -> LockInfo:
    return LockInfo.own(operation, "")


@on(*FIVE)
def test_what_is_written_is_read_by_another(place):
    first, second = place.storage(), place.storage()
    assert first.read() == b""
    first.lock(own())
    assert first.read() == b""
    for serial in (1, 2, 3):
        first.write(text(serial))
        assert second.read() == text(serial)
    first.unlock()
    assert second.holder() is None


@on(*FIVE)
@pytest.mark.parametrize("stored", [False, True])
def test_a_lock_excludes_and_names_its_holder(place, stored):
    first, second = place.storage(), place.storage()
    if stored:
        first.lock(own())
        first.read()
        first.write(text())
        first.unlock()
    info = own("apply")
    first.lock(info)
    with pytest.raises(
        LockHeld, match=r"locked by .+@.+, opsconsole apply, since 20.+\(ID "
    ) as got:
        second.lock(own("plan"))
    if place.kind != "gcs":
        assert got.value.holder.id == info.id
    found = second.holder()
    assert found.id == got.value.holder.id
    first.check_lock()
    first.unlock()
    second.lock(own("plan"))
    second.check_lock()
    second.unlock()


@on(*FIVE)
@pytest.mark.parametrize("stored", [False, True])
def test_of_many_who_race_one_wins(place, stored):
    if stored:
        with_state = place.storage()
        with_state.lock(own())
        with_state.read()
        with_state.write(text())
        with_state.unlock()
        with_state.close()
    lockers, races = (8, 20) if EVERYTHING else (4, 3)
    storages = [place.storage() for _ in range(lockers)]
    start = threading.Barrier(lockers)

    def race(number: int) -> bool:
        start.wait(PATIENCE)
        try:
            storages[number].lock(own(f"apply {number}"))
            won = True
        except LockHeld:
            won = False
        except BaseException:
            start.abort()
            raise
        start.wait(PATIENCE)
        if won:
            storages[number].unlock()
        start.wait(PATIENCE)
        return won

    with ThreadPoolExecutor(lockers) as pool:
        for _ in range(races):
            assert sum(pool.map(race, range(lockers))) == 1


@on("azurerm", among=("azurerm",))
def test_a_lease_whose_holder_cannot_be_noted_is_given_back(place, monkeypatch):
    from azure.core.exceptions import HttpResponseError
    from azure.storage.blob import BlobClient

    def refuse(*_: Any, **__: Any) -> None:
        raise HttpResponseError("no right to write metadata")

    storage = place.storage()
    with monkeypatch.context() as patch:
        patch.setattr(BlobClient, "set_blob_metadata", refuse)
        with pytest.raises(UserError):
            storage.lock(own())
    storage.lock(own())
    storage.unlock()


@pytest.mark.parametrize("taken_over", [False, True])
@on(*FIVE)
def test_a_lock_that_was_taken_away_ends_the_writing(place, taken_over):
    first, second = place.storage(), place.storage()
    first.lock(own())
    first.read()
    first.write(text(1))
    place.steal()
    if taken_over:
        second.lock(own("apply by the second"))
    else:
        with pytest.raises(LockLost, match="This run has lost the lock"):
            first.check_lock()
    with pytest.raises(LockLost if taken_over else UserError):
        first.write(text(2))
    first.unlock()
    first.close()
    if not taken_over:
        second.lock(own())
    second.check_lock()
    assert second.read() == text(1)
    second.write(text(3))
    second.unlock()


@on(*FIVE)
def test_what_was_written_without_a_lock_is_not_written_over(place):
    first, second = place.storage(), place.storage()
    first.lock(own())
    first.read()
    first.write(text(1))
    if place.kind in ("http", "azurerm"):
        # These refuse every write without the lock's ID, so the lock is put back as it was.
        first.unlock()
        first.lock(own())
    assert second.read() == text(1)
    if place.kind == "http":
        place.server.stored = text(7)
    elif place.kind != "azurerm":
        second.write(text(7))
    else:
        with pytest.raises(UserError):
            second.write(text(7))
        first.unlock()
        return
    with pytest.raises(LockLost, match="someone else wrote"):
        first.write(text(2))
    assert second.read() == text(7)
    first.unlock()


@on(*FIVE)
def test_a_lock_is_released_by_force_with_its_id_alone(place):
    gone, after = place.storage(), place.storage()
    with pytest.raises(UserError, match="is not locked"):
        after.force_unlock("1234")
    gone.lock(own())
    with pytest.raises(UserError, match=r"the ID 1234 is not that of the lock.*force-unlock "):
        after.force_unlock("1234")
    with pytest.raises(LockHeld) as held:
        after.lock(own())
    after.force_unlock(held.value.holder.id)
    after.lock(own())
    with pytest.raises(LockLost):
        gone.check_lock()
    gone.unlock()
    after.check_lock()
    after.unlock()


@on("pg", among=("pg",))
@pytest.mark.parametrize("table", ["states", "hosts"])
def test_pg_excludes_the_creation_of_a_state_by_either_engine(place, table):
    import psycopg

    from opsconsole.state.backends.pg import creation_key

    assert creation_key("r0", "states") == -2786638307
    place = replace(place, block={**place.block, "table_name": table, "index_name": f"{table}_own"})
    engines = {"terraform": -1, "opentofu": creation_key(place.block["schema_name"], table)}
    mine, other = place.storage(), place.storage()
    with psycopg.connect(place.block["conn_str"], autocommit=True) as session:
        for key in engines.values():
            session.execute("SELECT pg_advisory_lock(%s)", [key])
            with pytest.raises(LockHeld):
                mine.lock(own())
            session.execute("SELECT pg_advisory_unlock(%s)", [key])
        mine.lock(own())
        taken = "SELECT pg_try_advisory_lock(%s)"
        assert [session.execute(taken, [key]).fetchone() for key in engines.values()] == [
            (False,),
            (False,),
        ]
        assert mine.read() == b""
        mine.write(text(1))
        mine.store_journal(b"j")
        mine.unlock()
        other.lock(own())
        assert all(session.execute(taken, [key]).fetchone() == (True,) for key in engines.values())
        assert other.read() == text(1)
        rows = session.execute(f"SELECT name FROM {place.block['schema_name']}.{table}").fetchall()
        assert rows == [("default",)]
    other.unlock()
    elsewhere = replace(place, block={**place.block, "table_name": "third"}).storage()
    assert elsewhere.read_with_journal()[1] == b""


@on(*FIVE)
def test_a_journal_is_stored_with_the_state_and_removed(place):
    first, second = place.storage(), place.storage()
    first.lock(own())
    assert first.read_with_journal() == (b"", b"")
    if place.embeds_journal:
        first.write(text(1), journal="<&>\u2028 ".encode())
        assert place.server.stored.rstrip().endswith(b'"\n}'), "it is the last field"
        assert second.read_with_journal()[1] == "<&>\u2028 ".encode()
        assert State.parse(second.read()).to_bytes() == State.parse(text(1)).to_bytes()
        first.write(text(2))
    else:
        for data in (b"one\0\xff", b"two" * 100_000):
            first.store_journal(data)
            assert second.read_with_journal() == (b"", data)
        for _ in range(2):
            first.store_journal(b"")
    assert second.read_with_journal()[1] == b""
    first.unlock()


@on(*FIVE)
def test_workspaces_hold_states_of_their_own(place):
    if not place.has_workspaces:
        with pytest.raises(UserError, match="has no workspaces"):
            place.storage("blue")
        return
    states = {name: place.storage(name) for name in ("default", "blue", "green")}
    for serial, storage in enumerate(states.values(), 1):
        storage.lock(own())
        assert storage.read() == b""
        storage.write(text(serial))
        if not place.embeds_journal:
            storage.store_journal(b"j")
        # On pg, who has no row yet keeps everybody else from making one.
        storage.unlock()
    assert states["default"].workspaces() == ["default", "blue", "green"]
    for serial, storage in enumerate(states.values(), 1):
        assert storage.read() == text(serial)
    states["blue"].open()
    states["blue"].delete()
    assert states["green"].workspaces() == ["default", "green"]
    assert states["blue"].read() == b""
    assert states["green"].read() == text(3)
