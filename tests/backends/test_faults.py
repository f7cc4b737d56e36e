"""What a run says where its state cannot be reached, and that it loses nothing by that."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from backend_places import KINDS, Place, on, post
from loopback import CLOSED_ADDRESS, Handler, in_pem, serve_handler
from opsconsole.errors import UserError
from opsconsole.state.lock import LockInfo
from opsconsole.state.objects import InstanceObject
from opsconsole.state.opening import native_backend
from sampling import EVERYTHING

FAULTS = ("unreachable", "credentials", "missing")
"""No network, wrong credentials, no such bucket, container, database or address."""


@contextmanager
def spoilt(place: Place, fault: str) -> Iterator[Place]:
    """Yield the place as a program names it that cannot reach it; it is whole again afterwards."""
    with pytest.MonkeyPatch.context() as patch, _settings(place, fault, patch) as block:
        yield replace(place, block={**place.block, **block})


@contextmanager
def _settings(place: Place, fault: str, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    """Yield the settings by which a program has the fault, or make it at the place itself."""
    closed = f"http://{CLOSED_ADDRESS}"
    match place.kind, fault:
        case "http", "unreachable":
            address = f"{closed}/state"
            yield {"address": address, "lock_address": f"{address}/lock", "unlock_address": address}
        case "http", "credentials":
            yield {"password": "not-the-password"}
        case "http", "missing":
            place.server.failing = 404
            yield {}
            place.server.failing = 0
        case "pg", "unreachable":
            port = closed.rpartition(":")[2]
            yield {"conn_str": f"host=127.0.0.1 port={port} user=tf dbname=postgres"}
        case "pg", "credentials":
            import psycopg

            connection = place.block["conn_str"]
            with psycopg.connect(connection, autocommit=True) as own:
                found = own.execute("SELECT 1 FROM pg_roles WHERE rolname = 'guarded'").fetchone()
                if found is None:
                    own.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
            yield {"conn_str": f"{connection} user=guarded password=wrong"}
        case "pg", "missing":
            yield {"conn_str": f"{place.block['conn_str']} dbname=nowhere"}
        case "s3", "unreachable":
            yield {"endpoints": dict.fromkeys(place.block["endpoints"], closed), "max_retries": 1}
        case "s3", "credentials":
            server = place.block["endpoints"]["s3"]
            post(f"{server}/moto-api/reset-auth", b"0")
            yield {}
            post(f"{server}/moto-api/reset-auth", b"1000000000")
        case "s3", "missing":
            by_file = "use_lockfile" in place.block
            yield {"bucket": "nowhere"} if by_file else {"dynamodb_table": "nowhere"}
        case "gcs", "unreachable":
            yield {"storage_custom_endpoint": f"{closed}/storage/v1/b"}
        case "gcs", "credentials":
            with _refusing_tokens() as address:
                yield {"access_token": None, "credentials": json.dumps(_account(address))}
        case "gcs", "missing":
            yield {"bucket": "nowhere"}
        case "azurerm", "unreachable":
            patch.setenv("HTTPS_PROXY", closed)
            yield {}
        case "azurerm", "credentials":
            yield {"access_key": "bm90IHRoZSBrZXk="}
        case "azurerm", "missing":
            yield {"container_name": "nowhere"}


def _account(address: str) -> dict[str, str]:
    """Return a service account whose tokens come from an address."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    account = {"type": "service_account", "client_email": "deployer@example.com"}
    return {**account, "private_key": in_pem(key).decode(), "token_uri": address}


@contextmanager
def _refusing_tokens() -> Iterator[str]:
    """Run an address that gives no token to anyone."""

    class Refusing(Handler):
        def do_POST(self) -> None:
            self.body()
            told = b'{"error": "invalid_grant", "error_description": "Token has been revoked."}'
            self.answer(400, told, Content_Type="application/json")

    with serve_handler(Refusing) as address:
        yield f"{address}/token"


@contextmanager
def recording(upstream: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Run a server that hands each request on; yield its address, and method and path of each."""
    requests: list[tuple[str, str]] = []

    class Recorder(Handler):
        def _hand_on(self) -> None:
            requests.append((self.command, self.path))
            body = self.body()
            headers = {k: v for k, v in self.headers.items() if k.lower() != "host"}
            request = urllib.request.Request(
                upstream + self.path, data=body or None, headers=headers, method=self.command
            )
            try:
                answer = urllib.request.urlopen(request)
            except urllib.error.HTTPError as refused:
                answer = refused
            with answer:
                told = answer.read()
            left_out = ("content-length", "transfer-encoding", "connection")
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in left_out}
            self.answer(answer.status, told, **kept)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _hand_on

    with serve_handler(Recorder) as address:
        yield address, requests


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


@pytest.mark.parametrize(("kind", "fault"), [*product(KINDS, FAULTS)] if EVERYTHING else SAMPLE)
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
        assert session.folded_count == 1
        assert "opsconsole_host.kept" in session.state


def test_each_line_of_a_librarys_message_becomes_a_sentence():
    host, _, port = CLOSED_ADDRESS.rpartition(":")
    block = {"conn_str": f"host={host} port={port} user=tf dbname=postgres"}
    storage = native_backend("pg", block, "default")
    with pytest.raises(UserError) as told:
        storage.read()
    assert (
        "failed: Connection refused. Is the server running on that host and accepting TCP/IP"
        " connections? Check `conn_str`"
    ) in str(told.value)


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
        assert again.folded_count == 1
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
        assert session.folded_count == 1
    assert not left.exists()
    storage = place.storage()
    assert len(storage.read()) > SIZE
    storage.close()
    with place.session(tmp_path) as session:
        session.state.remove("opsconsole_host.kept")
    assert len(place.storage().read()) < 1_000
