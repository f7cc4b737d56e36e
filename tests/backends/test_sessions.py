"""A session on a remote state: persisted while it runs, fenced, and found again from elsewhere."""

import asyncio
from pathlib import Path

import pytest

from backend_places import Place, on
from opsconsole.errors import UserError
from opsconsole.state.backend import RunOptions
from opsconsole.state.backends.base import LockLost
from opsconsole.state.lock import LockHeld
from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject
from opsconsole.state.opening import backend_for, read_state

PROVIDER = 'provider["registry.terraform.io/opsconsole/opsconsole"]'


def host(number: int) -> InstanceObject:
    return InstanceObject(PROVIDER, {"id": f"hst_{number}", "name": f"h{number}"})


def stored(place: Place) -> State:
    return State.parse(place.storage().read())


@on("http", "pg")
async def test_what_a_lost_machine_did_is_found_from_another(place: Place, tmp_path: Path) -> None:
    with place.session(tmp_path / "before") as session:
        session.state.put("opsconsole_host.old", host(0))
    gone = place.session(tmp_path / "gone")
    early = gone.intend("opsconsole_agent.early", "POST /api/v1/agents", {"name": "early"})
    gone.state.put("opsconsole_host.a", host(1))
    await gone.flush()
    await gone.checkpoint()
    settled = gone.intend("opsconsole_agent.done", "POST /api/v1/agents", {"name": "done"})
    await gone.flush()
    gone.state.put("opsconsole_agent.done", host(3))
    gone.record([settled])
    late = gone.intend("opsconsole_agent.late", "POST /api/v1/agents", {"name": "late"})
    await gone.flush()
    place.steal()
    for file in (tmp_path / "gone").iterdir():
        file.unlink()
    shown = read_state(backend_for({place.kind: place.block}, RunOptions(tmp_path, "show")))
    assert "opsconsole_agent.done" in shown
    with place.session(tmp_path / "after") as session:
        assert session.folded == (0 if place.embeds_journal else 1)
        assert "opsconsole_agent.done" in session.state
        assert {call.id for call in session.open_intents} == {early, late}
        session.mark_settled([early])
    with place.session(tmp_path / "third") as session:
        assert [call.id for call in session.open_intents] == [late]
        assert session.folded == 0
        session.mark_settled([late])
    assert place.storage().read_with_journal()[1] == b""
    gone.state.put("opsconsole_host.b", host(2))
    with pytest.raises(UserError):
        gone.close()


@on("http", among=["http"])
async def test_calls_share_a_write_of_the_document_that_embeds_them(
    place: Place, tmp_path: Path
) -> None:
    with place.session(tmp_path / "one") as session:
        calls = [session.intend(f"opsconsole_agent.a{n}", "POST", {}) for n in range(50)]
        await asyncio.gather(*[session.flush() for _ in calls])
        assert len([method for method, _ in place.server.requests if method == "POST"]) <= 2
        assert place.server.stored.rstrip().endswith(b'"\n}')
        assert place.server.stored.count(b"opsconsole_agent.a") == 50
        session.record(calls)
    assert b"opsconsole_journal" not in place.server.stored


@on("http", "pg")
async def test_a_run_that_lost_its_lock_begins_nothing_and_keeps_its_journal(
    place: Place, tmp_path: Path
) -> None:
    session = place.session(tmp_path / "one")
    session.state.put("opsconsole_host.a", host(1))
    await session.checkpoint()
    session.state.put("opsconsole_host.b", host(2))
    place.steal()
    with place.session(tmp_path / "two") as other:
        with pytest.raises(LockHeld, match=r"opsconsole apply.*force-unlock"):
            place.session(tmp_path / "three")
        other.state.put("opsconsole_host.other", host(9))
        await other.checkpoint()
        with pytest.raises(LockLost, match="has lost the lock"):
            session.intend("opsconsole_host.c", "POST", {})
            await session.flush()
        with pytest.raises(LockLost, match=r"the next run adds it to the state.*journal is .*one"):
            session.close()
        assert "opsconsole_host.b" not in stored(place)
    assert "opsconsole_host.other" in stored(place)
    assert list((tmp_path / "one").glob("*opsconsole-journal"))
    with place.session(tmp_path / "one") as again:
        assert again.folded >= 1
        for name in ("a", "b", "other"):
            assert f"opsconsole_host.{name}" in again.state
