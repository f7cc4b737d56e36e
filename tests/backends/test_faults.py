"""What a run says where its state cannot be reached, and that it loses nothing by that."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from backend_places import Place, on
from opsconsole.errors import UserError
from opsconsole.state.lock import LockInfo
from opsconsole.state.objects import InstanceObject
from sampling import EVERYTHING
from spoilt_places import cells, recording, spoilt

PROVIDER = 'provider["registry.terraform.io/opsconsole/opsconsole"]'
HOST = {"opsconsole_host": {"h": {"name": "web"}}}
SIZE = 100_000_000 if EVERYTHING else 4_000_000
"""Characters of the large state."""
SAMPLE = [
    ("http", "missing"),
    ("pg", "credentials"),
    ("s3-both", "missing"),
    ("gcs", "credentials"),
    ("azurerm", "credentials"),
]


def host(knowledge: str) -> InstanceObject:
    return InstanceObject(PROVIDER, {"id": "hst_1", "name": "kept", "knowledge": knowledge})


def leave_journal(place: Place, folder: Path, knowledge: str = "") -> Path:
    """Leave the journal of a run that lost its lock after one change; return its path."""
    gone = place.session(folder)
    gone.state.put("opsconsole_host.kept", host(knowledge))
    gone.record()
    place.steal()
    with pytest.raises(UserError):
        gone.close()
    [journal] = folder.glob("*.opsconsole-journal")
    return journal


@pytest.mark.parametrize(("kind", "fault"), cells() if EVERYTHING else SAMPLE)
def test_one_message_with_a_remedy_and_the_journal_intact(kind, fault, app, make_place):
    place = make_place(kind)
    app.write("only", place, resource=HOST)
    folder = app.folder / "cdktf.out/stacks/only"
    journal = leave_journal(place, folder)
    before = journal.read_bytes().rstrip(b"\0")
    commands = [["apply", "-auto-approve"], ["state", "list"]]
    if (kind, fault) == ("http", "missing"):
        # Behind an address that answers 404 there is no state: nothing is wrong with reading it.
        commands.pop()
    for words in commands:
        with spoilt(place, fault) as unusable:
            app.write("only", unusable, resource=HOST)
            told = app.run(*words, expect=1)
        message, _, remedy = told.rstrip().partition("\n")
        assert message.startswith("Error: Cannot ")
        assert remedy
        assert remedy.splitlines() == [remedy]
        assert journal.read_bytes().startswith(before)
    assert app.console.rows("hosts") == []
    with place.session(folder) as session:
        assert session.folded == 1
        assert "opsconsole_host.kept" in session.state


@on("gcs", among=["gcs"])
def test_only_the_lock_of_this_run_is_deleted(kind, make_place):
    """The server of the tests deletes whatever the condition: the request shows it.

    Those of the other kinds refuse by themselves, which `test_storage` shows.
    """
    place = make_place(kind)
    at = urlsplit(place.block["storage_custom_endpoint"])
    with recording(f"{at.scheme}://{at.netloc}") as (address, requests):
        block = {**place.block, "storage_custom_endpoint": f"{address}{at.path}"}
        for forced in (False, True):
            requests.clear()
            storage = replace(place, block=block).storage()
            storage.lock(LockInfo.own("apply", ""))
            holder = storage.holder()
            if forced:
                storage.force_unlock(holder.id)
            else:
                storage.unlock()
            storage.close()
            [deleted] = [urlsplit(path) for method, path in requests if method == "DELETE"]
            assert deleted.path.endswith("default.tflock")
            assert parse_qs(deleted.query)["ifGenerationMatch"] == [holder.id]


def test_a_state_that_the_server_finds_too_large_stays_in_the_journal(make_place, tmp_path):
    place = make_place("http")
    place.server.largest = 10_000
    session = place.session(tmp_path)
    session.state.put("opsconsole_host.a", host("x" * 20_000))
    with pytest.raises(
        UserError, match=r"answered 413.*raise its limit, or split the stack"
    ) as told:
        session.close()
    [journal] = tmp_path.glob("*.opsconsole-journal")
    assert str(journal) in told.value.remedy
    place.server.largest = 0
    place.steal()
    with place.session(tmp_path) as again:
        assert again.folded == 1
        assert "opsconsole_host.a" in again.state


def test_a_write_whose_answer_is_an_error_is_no_foreign_one(make_place):
    place = make_place("http")
    storage = replace(place, block={**place.block, "retry_max": 0}).storage()
    storage.lock(LockInfo.own("apply", ""))
    storage.read()
    place.server.write_status = 504
    with pytest.raises(UserError, match="504"):
        storage.write(b'{"version": 4, "serial": 1}')
    place.server.write_status = 0
    storage.write(b'{"version": 4, "serial": 2}')


def test_a_lock_that_cannot_be_released_is_reported_with_the_remedy(make_place, tmp_path):
    place = make_place("http")
    session = place.session(tmp_path)
    place.server.failing = 500
    with pytest.raises(UserError, match=r"Cannot unlock.*force-unlock ID"):
        session.close()


@on("pg")
def test_a_large_state_is_kept(place, tmp_path):
    """Its journal, which is as large, is taken in as well."""
    left = leave_journal(place, tmp_path, "x" * SIZE)
    with place.session(tmp_path) as session:
        assert session.folded == 1
    assert not left.exists()
    storage = place.storage()
    assert len(storage.read()) > SIZE
    storage.close()
    with place.session(tmp_path) as session:
        session.state.remove("opsconsole_host.kept")
    assert len(place.storage().read()) < 1_000
