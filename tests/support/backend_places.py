"""Places where teams keep state, each behind a real server on loopback."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from http_state import serve_state
from opsconsole.state.backends.kinds import storage_for
from opsconsole.state.backends.storage import DEFAULT, Storage
from postgres_server import running_postgres

_NUMBERS = itertools.count(1)


@dataclass
class Place:
    """One backend for one test; nothing is in it yet.

    Attributes:
        block: The settings, as they stand in a program.
        environment: What Terraform and the native engine need besides.
        steal: Takes the lock away from its holder, as an operator does with the vendor's tools.
        keeps_companions, has_workspaces: What the kind can do.
    """

    kind: str
    block: Mapping[str, Any]
    steal: Callable[[], None]
    environment: Mapping[str, str] = field(default_factory=dict)
    keeps_companions: bool = True
    has_workspaces: bool = True

    def storage(self, workspace: str = DEFAULT) -> Storage:
        """Return a storage of its own on this place, as another machine would have it."""
        return storage_for(self.kind, self.block, workspace)


Make = Callable[..., Place]


@contextmanager
def http_places() -> Iterator[Make]:
    """Make places on the http server of the tests."""
    with serve_state() as state:

        def make() -> Place:
            state.stored = state.lock = b""
            state.checks_id, state.failing = True, 0
            state.requests.clear()

            def steal() -> None:
                state.lock = b""

            block = {
                "address": state.address,
                "lock_address": f"{state.address}/lock",
                "unlock_address": f"{state.address}/lock",
                "username": state.username,
                "password": state.password,
                "retry_max": 0,
            }
            made = Place("http", block, steal, keeps_companions=False, has_workspaces=False)
            made.server = state  # type: ignore[attr-defined]
            return made

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
        yield make
    finally:
        s3.close()
        db.close()
        server.stop()


MAKERS: dict[str, Callable[[], Any]] = {"http": http_places, "pg": pg_places, "s3": s3_places}
"""Kind: the context in which places of that kind can be made."""

KINDS = ("http", "pg", "s3-file", "s3-row", "s3-both")
"""The kinds that every promise is tested for; behind the dash, how the lock is held."""
