"""A server for Terraform's `http` backend, with locks, as GitLab has one."""

import base64
import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from loopback import Handler, serve_handler

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
