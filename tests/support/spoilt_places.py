"""Places to keep state in that cannot be used: one way of spoiling for each kind and fault."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from backend_places import KINDS, Place, post
from loopback import Handler, closed_address, serve_handler

FAULTS = ("unreachable", "credentials", "missing")
"""No network, wrong credentials, no such bucket, container, database or address."""


def cells() -> list[tuple[str, str]]:
    """Return each kind with each fault."""
    return [(kind, fault) for kind in KINDS for fault in FAULTS]


@contextmanager
def spoilt(place: Place, fault: str) -> Iterator[Place]:
    """Yield the place as a program names it that cannot reach it; it is whole again afterwards."""
    with pytest.MonkeyPatch.context() as patch, _settings(place, fault, patch) as block:
        yield replace(place, block={**place.block, **block})


@contextmanager
def _settings(place: Place, fault: str, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    """Yield the settings by which a program has the fault, or make it at the place itself."""
    closed = f"http://{closed_address()}"
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
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        "type": "service_account",
        "client_email": "deployer@example.com",
        "private_key": key.decode(),
        "token_uri": address,
    }


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
