"""No request brings a 500 of the console's own, or ends it."""

import json
import socket
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consoles import CONSOLES
from opsconsole.emulator import Emulator, profiles
from opsconsole.emulator.application import HANDLERS
from opsconsole.emulator.document import DOCUMENTED, EXTRA, FIELDS

HOST_FIELDS = FIELDS["host"]
NAMES = sorted(
    {*HOST_FIELDS, "rows", "on_error", "dry_run", "plugin_id", "plugin_ids", "host_id", "key"}
    | {"specialty_id", "credential_config", "pattern", "description", "prompt", "id"}
)
IDS = ["hst_fleet00001", "agt_fleet00001", "spc_linux", "blk_wipe", "plg_disk", "x", "%00", "%FF"]

texts = st.text(max_size=5) | st.sampled_from(["ssh", "public", "a:b", "stop", *IDS])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=8,
)
bodies = (
    st.dictionaries(st.sampled_from(NAMES), values, max_size=5)
    | st.fixed_dictionaries({"rows": st.lists(values, max_size=4)})
    | values
)
queries = st.text("=&%;+cursorlimit01dry_run", max_size=12)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, bytes, tuple[tuple[bytes, bytes], ...]]:
    method, path = draw(st.sampled_from([*(DOCUMENTED | EXTRA).values()])).split(" ")
    parts = [
        draw(st.sampled_from(IDS)) if part.startswith("{") else part for part in path.split("/")
    ]
    body = draw(st.binary(max_size=20) | bodies.map(lambda value: json.dumps(value).encode()))
    kind = draw(st.sampled_from([b"application/json", b"text/csv", b"\xff"]))
    return method, "/".join(parts) + "?" + draw(queries), body, ((b"content-type", kind),)


@pytest.mark.parametrize("name", CONSOLES)
def test_no_request_brings_a_500(make, name):
    ask = make(name, seed="fleet", extra=profiles()["extended"].extra)

    @settings(database=None)
    @given(requests())
    def run(request: tuple[str, str, bytes, tuple[tuple[bytes, bytes], ...]]) -> None:
        method, path, body, headers = request
        status, answer = ask(method, path, body, headers=headers)
        assert status < 500, answer
        if status >= 400:
            assert {"code", "message", "request_id"} <= set(answer)

    run()


def test_a_defect_is_a_500_in_the_error_shape(make, monkeypatch, caplog):
    def broken(console: Any, call: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setitem(HANDLERS, "blacklist_get", broken)
    status, body = make()("GET", "/api/v1/blacklists/blk_wipe")
    assert (status, body["code"]) == (500, "INTERNAL_ERROR")
    assert "ZeroDivisionError" in caplog.text


def spoken(emulator: Emulator, content: bytes, *, hang_up: bool = True) -> bytes:
    host, _, port = emulator.base_url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=300) as connection:
        connection.sendall(content)
        if hang_up:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\r\n",
        b"GARBAGE\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://other/api/v1/agents HTTP/1.1\r\nHost: other\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
        b"POST /api/v1/agents HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{",
        b"POST /api/v1/agents HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",
        b"POST /api/v1/agents HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /api/v1/agents HTTP/1.1\r\nAuthorization: Bearer \xff\r\n\r\n",
        b"GET /_emulator/data/%2f%2f/%00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /api HTTP/1.1\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    ],
)
def test_malformed_bytes_do_not_end_the_console(served, content):
    answer = spoken(served, content)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer
    assert served.row("hosts", "hst_fleet00001") is not None


def test_one_connection_serves_several_requests(served):
    one = (
        b"POST /api/v1/hosts/hst_fleet00001 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
        b"Authorization: Bearer svc_ak_emulator\r\n\r\n{}"
    )
    last = one.replace(b"Host: x", b"Connection: close")
    assert spoken(served, one * 4 + last, hang_up=False).count(b"HTTP/1.1 200 OK") == 5


def test_a_body_that_is_too_long(served):
    length = 65 * 1024 * 1024
    head = (
        b"POST /api/v1/hosts/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer svc_ak_emulator\r\n"
        b"Connection: close\r\nContent-Length: %d\r\n\r\n" % length
    )
    answer = spoken(served, head + bytes(length), hang_up=False)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b'"code":"BAD_REQUEST"' in answer
