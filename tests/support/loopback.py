"""Servers on loopback that are no console, and addresses at which nobody listens."""

import base64
import contextlib
import datetime
import inspect
import json
import select
import socket
import socketserver
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import NameOID


class Handler(BaseHTTPRequestHandler):
    """Reads whole requests, sends whole answers, and prints nothing."""

    def body(self) -> bytes:
        """Return what was sent along."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send an answer; underscores in the names of headers stand for dashes."""
        self.send_response_only(status)
        for name, value in {**headers, "Content_Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serve_handler(
    handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Serve until the block ends, over TLS where a context is given; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http{'s' if context else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


CLOSED_ADDRESS = "127.0.0.1:1"
"""Nobody listens there: the system gives this port to no program that takes any free one."""


@contextmanager
def kept_port() -> Iterator[int]:
    """Yield a free port for a server that takes no port of the system's choice.

    No other program is given the port before the server listens.
    """
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        port = kept.getsockname()[1]
        if sys.platform != "linux":
            # Elsewhere the server could not take it either.
            kept.close()
        yield port


@dataclass(frozen=True)
class Post:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Posts:
    """The server's address, what it answers, and what came in so far."""

    address: str
    status: int = 201
    kept: list[Post] = field(default_factory=list)


@contextmanager
def serve_posts() -> Iterator[Posts]:
    """Keep every POST until the block ends."""

    class Keeper(Handler):
        def do_POST(self) -> None:
            posts.kept.append(Post(self.path, dict(self.headers), self.body()))
            self.answer(posts.status)

    with serve_handler(Keeper) as address:
        posts = Posts(address)
        yield posts


HELD = json.dumps({"ID": "7f3", "Who": "ann@build", "Operation": "apply"}).encode()
"""A lock that somebody else holds."""


@dataclass
class HttpState:
    """Where the state is kept, and what is kept there.

    Attributes:
        checks_id: Whether a write with another ID than the lock's is refused, as GitLab does.
        failing: The status that every further request is answered with, where it is not 0.
        write_status: The status that answers a write after it took effect, where it is not 0.
        largest: The most bytes that a state may have, where it is not 0.
        requests: Method and path of each request.
    """

    address: str = ""
    username: str = "deployer"
    password: str = "state-password"
    stored: bytes = b""
    lock: bytes = b""
    checks_id: bool = True
    failing: int = 0
    write_status: int = 0
    largest: int = 0
    requests: list[tuple[str, str]] = field(default_factory=list)


@contextlib.contextmanager
def serve_state() -> Iterator[HttpState]:
    """Serve one state on loopback until the block ends."""
    state = HttpState()
    with serve_handler(_handler(state)) as address:
        state.address = f"{address}/state"
        yield state


def _handler(state: HttpState) -> type[Handler]:
    guard = threading.Lock()
    credentials = f"{state.username}:{state.password}".encode()
    expected = f"Basic {base64.b64encode(credentials).decode()}"

    class Server(Handler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            if len(body) < length:
                return  # The client was killed while it sent this.
            with guard:
                state.requests.append((self.command, self.path))
                status, told = self._handled(body)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.answer(status, told)

        do_GET = do_POST = do_DELETE = do_LOCK = do_UNLOCK = _answer

        def _handled(self, body: bytes) -> tuple[int, bytes]:
            if state.failing:
                return state.failing, b""
            if self.headers.get("Authorization") != expected:
                return 401, b""
            if self.path.partition("?")[0].endswith("/lock"):
                return self._locked(body)
            if self.command == "POST":
                given = parse_qs(urlsplit(self.path).query).get("ID", [""])[0]
                if state.checks_id and state.lock and given != json.loads(state.lock)["ID"]:
                    return 409, state.lock
                if state.largest and len(body) > state.largest:
                    return 413, b""
                state.stored = body
                if state.write_status:
                    return state.write_status, b""
            return (200, state.stored) if state.stored else (204, b"")

        def _locked(self, body: bytes) -> tuple[int, bytes]:
            taking = self.command in ("POST", "LOCK")
            if taking and state.lock:
                return 423, state.lock
            named = json.loads(body)["ID"] if body else ""
            if not taking and named and state.lock and named != json.loads(state.lock)["ID"]:
                return 409, state.lock
            state.lock = body if taking else b""
            return 200, b""

    return Server


@contextmanager
def connect_proxy(port: int) -> Iterator[str]:
    """Run the proxy until the block ends; yield its address."""

    class Tunnel(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as behind:
                _join(self.connection, behind)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Tunnel) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def _join(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until one side closes."""
    while True:
        for source in select.select([one, other], [], [])[0]:
            data = source.recv(1 << 16)
            if not data:
                return
            (other if source is one else one).sendall(data)


def in_pem(key: PrivateKeyTypes) -> bytes:
    """Return a private key in PEM, not encrypted."""
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain)


def write_certificate(folder: Path, *names: str) -> tuple[Path, Path, Path]:
    """Write a certificate for some names, its key, and the authority that signed it."""
    now = datetime.datetime.now(datetime.UTC)
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of the tests")])
    common = (now - datetime.timedelta(days=1), now + datetime.timedelta(days=2))
    # From Python 3.13 on, a certificate needs the identifiers and usages that RFC 5280 asks for.
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key())
    usages = dict.fromkeys(inspect.signature(x509.KeyUsage).parameters, False)

    def builder(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(root)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(common[0])
            .not_valid_after(common[1])
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(issuer, critical=False)
        )

    authority = (
        builder(root, root_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**usages | {"key_cert_sign": True}), critical=True)
        .sign(root_key, hashes.SHA256())
    )
    leaf = (
        builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "blob")]), key.public_key())
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False
        )
        .sign(root_key, hashes.SHA256())
    )
    files = folder / "leaf.pem", folder / "leaf.key", folder / "authority.pem"
    files[0].write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(in_pem(key))
    files[2].write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    return files
