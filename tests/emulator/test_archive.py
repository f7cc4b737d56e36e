"""The SQLite file: what survives, and files that cannot be used."""

import sqlite3

import pytest

from opsconsole.emulator import profiles
from opsconsole.emulator.seed import BadSeed
from opsconsole.emulator.server import make_application
from opsconsole.emulator.store import NotAnArchive, Store


def test_rows_survive_in_their_order(make, tmp_path):
    file = tmp_path / "console.db"
    first = make(data=file)
    body = first.import_rows(*({"name": f"host-{number}"} for number in range(30)))
    gone = body["results"][3]["id"]
    assert first("DELETE", f"/api/v1/hosts/{gone}")[0] == 200
    first("POST", f"/api/v1/hosts/{body['results'][0]['id']}", {"knowledge": "\ud800 é"})
    rows = {name: list(table) for name, table in first.store.tables.items()}
    first.store.close()
    again = make(data=file, seed="fleet")
    assert {name: list(table) for name, table in again.store.tables.items()} == rows
    assert len(rows["hosts"]) == 29


def test_a_file_with_rows_takes_a_new_key_and_no_new_seed(make, tmp_path):
    file = tmp_path / "console.db"
    make(data=file, seed="empty").store.close()
    application = make_application(
        profiles()["default"], data=file, seed="fleet", api_key="svc_ak_new"
    )
    store = application.console.store
    try:
        assert {row["secret"] for row in store.keys} == {"svc_ak_new"}
        assert len(store.hosts) == 0
    finally:
        store.close()


def test_a_refused_request_leaves_no_trace(make, tmp_path):
    file = tmp_path / "console.db"
    ask = make(data=file)
    host = ask.host()
    ask.store.commit()
    assert ask("POST", f"/api/v1/hosts/{host['id']}", {"target_port": 0})[0] == 400
    ask.store.close()
    assert make(data=file).store.hosts.get(host["id"]) == host


def test_two_emulators_do_not_share_a_file(make, tmp_path):
    file = tmp_path / "console.db"
    make(data=file)
    with pytest.raises(NotAnArchive, match="locked"):
        make(data=file)


def test_files_of_another_kind_are_refused(make, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be read as one " * 30)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE t (x)")
    database.close()
    newer = tmp_path / "newer.db"
    make(data=newer).store.close()
    with sqlite3.connect(newer) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    for file in (text, other, newer, tmp_path, tmp_path / "no" / "where.db"):
        with pytest.raises(NotAnArchive, match=file.name):
            make(data=file)


def test_a_file_that_cannot_be_written_is_a_500_and_is_caught_up(make, tmp_path, monkeypatch):
    file = tmp_path / "console.db"
    ask = make(data=file)
    host = ask.host()

    def full(self: Store, database: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_save", full)
        status, body = ask("POST", f"/api/v1/hosts/{host['id']}", {"knowledge": "k"})
        assert (status, body["code"]) == (500, "INTERNAL_ERROR")
        assert "full" in body["message"]
    ask("GET", "/api/v1/blacklists/blk_wipe")
    ask.store.close()
    assert make(data=file).store.hosts.get(host["id"])["knowledge"] == "k"


def test_a_seed_file(make, tmp_path):
    file = tmp_path / "seed.json"
    file.write_text('{"hosts": [{"id": "hst_a", "name": "a"}], "plugins": []}')
    ask = make(seed=str(file))
    assert [host["id"] for host in ask.store.hosts] == ["hst_a"]
    assert len(ask.store.specialties) == 0
    assert ask("POST", "/api/v1/hosts/hst_a", {})[0] == 200


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"hosts": {}}', '{"hosts": [1]}', '{"cars": []}', '{"hosts": [{"id": 1}]}', None],
)
def test_a_seed_that_cannot_be_leaves_the_file_unlocked(make, tmp_path, content):
    file = tmp_path / "seed.json"
    if content is not None:
        file.write_text(content)
    for seed in ("fleet:x", str(file), "fleet:-1"):
        with pytest.raises(BadSeed, match=seed.rpartition("/")[2]):
            make(seed=seed, data=tmp_path / "console.db")


def test_a_fleet_of_any_size(make):
    ask = make(seed="fleet:45")
    assert len(ask.store.hosts) == len(ask.store.agents) == len(ask.store.tasks) == 45
    assert len(ask.store.attachments) == 90
    jumps = {row["id"] for row in ask.store.hosts if row["is_jump_host"]}
    assert len(jumps) == 3
    assert all(
        {*row["jump_host_ids"]} <= jumps for row in ask.store.hosts if row["id"] not in jumps
    )
