"""Places to keep state in that cannot be used: one way of spoiling for each kind and fault."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from backend_places import KINDS, Place

FAULTS = ("unreachable", "credentials", "missing")
"""No network, wrong credentials, no such bucket, container, database or address."""


def cells() -> list[tuple[str, str]]:
    """Return each kind with each fault."""
    return [(kind, fault) for kind in KINDS for fault in FAULTS]


@contextmanager
def spoilt(place: Place, fault: str) -> Iterator[Place]:
    """Yield the place as a program names it that cannot reach it; it is whole again afterwards."""
    with pytest.MonkeyPatch.context() as patch, _SPOILERS[place.kind, fault](place, patch) as block:
        yield replace(place, block={**place.block, **block})


Spoiler = Callable[[Place, pytest.MonkeyPatch], Any]
_SPOILERS: dict[tuple[str, str], Spoiler] = {}


def _spoils(kind: str, fault: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def noted(spoiler: Callable[..., Any]) -> Callable[..., Any]:
        _SPOILERS[kind, fault] = contextmanager(spoiler)
        return spoiler

    return noted


def closed_address() -> str:
    """Return an address of this machine at which nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


@_spoils("http", "unreachable")
def _http_closed(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    address = f"http://{closed_address()}/state"
    yield {"address": address, "lock_address": f"{address}/lock", "unlock_address": address}


@_spoils("http", "credentials")
def _http_password(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    yield {"password": "not-the-password"}


@_spoils("http", "missing")
def _http_nowhere(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    place.server.failing = 404
    yield {}
    place.server.failing = 0


@_spoils("pg", "unreachable")
def _pg_closed(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    host, _, port = closed_address().partition(":")
    yield {"conn_str": f"host={host} port={port} user=tf dbname=postgres"}


@_spoils("pg", "credentials")
def _pg_password(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    connection = place.block["conn_str"]
    with psycopg.connect(connection, autocommit=True) as own:
        found = own.execute("SELECT 1 FROM pg_roles WHERE rolname = 'guarded'").fetchone()
        if found is None:
            own.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
    yield {"conn_str": f"{connection} user=guarded password=wrong"}


@_spoils("pg", "missing")
def _pg_nowhere(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    yield {"conn_str": f"{place.block['conn_str']} dbname=nowhere"}


@_spoils("s3", "unreachable")
def _s3_closed(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    address = f"http://{closed_address()}"
    yield {"endpoints": dict.fromkeys(place.block["endpoints"], address), "max_retries": 1}


@_spoils("s3", "credentials")
def _s3_refusing(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    server = place.block["endpoints"]["s3"]
    _post(f"{server}/moto-api/reset-auth", b"0")
    yield {}
    _post(f"{server}/moto-api/reset-auth", b"1000000000")


@_spoils("s3", "missing")
def _s3_nowhere(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    yield {"bucket": "nowhere"} if "use_lockfile" in place.block else {"dynamodb_table": "nowhere"}


@_spoils("gcs", "unreachable")
def _gcs_closed(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    yield {"storage_custom_endpoint": f"http://{closed_address()}/storage/v1/b"}


@_spoils("gcs", "credentials")
def _gcs_refused(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    with _refusing_tokens() as address:
        login = {
            "type": "service_account",
            "client_email": "deployer@example.com",
            "private_key": key.decode(),
            "token_uri": address,
        }
        yield {"access_token": None, "credentials": json.dumps(login)}


@_spoils("gcs", "missing")
def _gcs_nowhere(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    yield {"bucket": "nowhere"}


@_spoils("azurerm", "unreachable")
def _azurerm_closed(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    patch.setenv("HTTPS_PROXY", f"http://{closed_address()}")
    yield {}


@_spoils("azurerm", "credentials")
def _azurerm_key(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    yield {"access_key": "bm90IHRoZSBrZXk="}


@_spoils("azurerm", "missing")
def _azurerm_nowhere(place: Place, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    yield {"container_name": "nowhere"}


@contextmanager
def _refusing_tokens() -> Iterator[str]:
    """Run an address that gives no token to anyone."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            told = b'{"error": "invalid_grant", "error_description": "Token has been revoked."}'
            self.send_response(400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with _served(Handler) as address:
        yield f"{address}/token"


@contextmanager
def recording(upstream: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Run a server that hands each request on; yield its address, and method and path of each."""
    requests: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def _hand_on(self) -> None:
            requests.append((self.command, self.path))
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
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
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _hand_on

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with _served(Handler) as address:
        yield address, requests


@contextmanager
def _served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _post(address: str, body: bytes) -> None:
    headers = {"Content-Type": "text/plain"}
    request = urllib.request.Request(address, data=body, headers=headers, method="POST")
    urllib.request.urlopen(request).close()
