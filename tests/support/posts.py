"""A server on loopback that keeps what is posted to it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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


@contextlib.contextmanager
def serve_posts() -> Iterator[Posts]:
    """Keep every POST until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posts.kept.append(Post(self.path, dict(self.headers), body))
            self.send_response(posts.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    posts = Posts(f"http://127.0.0.1:{server.server_port}")
    try:
        yield posts
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
