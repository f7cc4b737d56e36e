"""Servers on loopback that are no console, and addresses at which nobody listens."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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


def closed_address() -> str:
    """Return an address of this machine at which nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


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
