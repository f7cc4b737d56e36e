"""Connections: what is never sent, TLS, proxies, redirects, cookies, and where secrets may be."""

import asyncio
import contextlib
import gc
import gzip
import logging
import socket
import ssl
import traceback
from urllib.parse import quote

import pytest

from opsconsole.errors import ConsoleError, NotSent, UnexpectedAnswer
from opsconsole.terraform.certificate import make_certificate
from opsconsole.v1.client import Client
from opsconsole.v1.console import Console
from opsconsole.v1.settings import Settings


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A PEM file with a certificate of `localhost` and its key, trusted by nobody."""
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    file.write_bytes(make_certificate().pem)
    return str(file)


@pytest.fixture
async def tls_server(server, certificate):
    """The scripted server, speaking TLS."""
    await server.stop()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    await server.start(tls=context)
    return server


async def failure(console):
    with pytest.raises(ConsoleError) as caught:
        await console.call("agent_create", body={"name": "a"})
    return caught.value


@pytest.mark.parametrize(
    ("host", "trust", "said"),
    [
        ("localhost", "ca_file", ""),
        ("localhost", "insecure_skip_verify", ""),
        ("127.0.0.1", "ca_file", "127.0.0.1"),
        ("localhost", "", "is not trusted: self-signed certificate"),
    ],
)
async def test_tls(tls_server, connect, answer, certificate, host, trust, said):
    trusting = {"ca_file": {"ca_file": certificate}, "": {}}.get(trust, {trust: True})
    client, console = connect(base_url=f"https://{host}:{tls_server.port}", **trusting)
    tls_server.will(answer(body={"id": "agt_1"}))
    if not said:
        assert await console.call("agent_create", body={}) == {"id": "agt_1"}
        return
    problem = await failure(console)
    assert type(problem).__mro__[1] is NotSent
    assert said in str(problem)
    assert "ca_file" in problem.remedy
    assert client.calls.total() == 1, "a certificate does not mend itself"


async def test_https_to_a_port_that_speaks_http(connect):
    async def answer_anything(reader, writer):
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    plain = await asyncio.start_server(answer_anything, "127.0.0.1", 0)
    async with plain:
        port = plain.sockets[0].getsockname()[1]
        client, console = connect(base_url=f"https://localhost:{port}")
        problem = await failure(console)
    assert isinstance(problem, NotSent)
    assert "No TLS connection" in str(problem)
    assert "speaks https" in problem.remedy
    assert client.calls.total() == 1


async def test_a_refused_connection(server, connect):
    _, console = connect()
    await server.stop()
    problem = await failure(console)
    assert type(problem) is NotSent
    assert f"{server.url} cannot be reached: Connect call failed" in str(problem)
    assert "Is the console running there?" in problem.remedy
    await server.start()


@pytest.mark.parametrize(
    ("proxy", "named", "remedy"),
    [
        ("", '"no-such.invalid" of base_url', "typing error"),
        (
            "http://user:hunter2@no-proxy.invalid:1",
            '"no-proxy.invalid" of the proxy',
            "HTTPS_PROXY",
        ),
    ],
)
async def test_an_unknown_host_name(connect, proxy, named, remedy):
    environ = {"HTTPS_PROXY": proxy}
    _, console = connect(base_url="https://no-such.invalid", environ=environ, max_retries=0)
    problem = await failure(console)
    assert isinstance(problem, NotSent)
    assert f"The host name {named} is unknown" in str(problem)
    assert remedy in problem.remedy
    assert "hunter2" not in str(problem)


async def test_a_connection_that_is_never_made(connect):
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(3):
            filling = stack.enter_context(socket.socket())
            filling.setblocking(False)
            filling.connect_ex(listening.getsockname())
        port = listening.getsockname()[1]
        client, console = connect(
            base_url=f"http://127.0.0.1:{port}", request_timeout=0.6, max_retries=1
        )
        problem = await failure(console)
    assert type(problem) is NotSent
    assert "in time" in str(problem)
    assert client.calls.total() == 2


async def test_what_does_not_speak_http(connect, answer):
    _, console = connect(answer(raw=b"SSH-2.0-OpenSSH_9.6\r\n\r\n"))
    problem = await failure(console)
    assert type(problem) is UnexpectedAnswer
    assert "does not speak HTTP (ClientResponseError)" in str(problem)
    assert "port of base_url" in problem.remedy


async def test_an_early_refusal_of_a_large_body_is_heard(connect, loop_turns):
    async def refuse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"code": "TOO_LARGE", "message": "m", "request_id": "r"}'
        writer.write(b"HTTP/1.1 413 No\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        while await reader.read(2**16):
            pass
        writer.close()

    refusing = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = refusing.sockets[0].getsockname()[1]
    async with refusing:
        client, console = connect(base_url=f"http://127.0.0.1:{port}")
        with pytest.raises(ConsoleError) as caught:
            await console.import_hosts([{"knowledge": "x" * 2**22}], on_error="stop", dry_run=False)
        await client.aclose()
        await loop_turns()
    assert type(caught.value).__name__ == "TooLarge"


async def test_a_large_body_arrives_whole(server, connect, answer):
    _, console = connect(answer(429, {"code": "C", "message": "m"}), answer(body={"results": []}))
    rows = [{"name": str(number), "knowledge": "é" * 2000} for number in range(500)]
    await console.import_hosts(rows, on_error="stop", dry_run=False)
    for request in server.received:
        assert request.body["rows"] == rows
        assert request.headers["content-type"] == "application/json"
        assert "transfer-encoding" not in request.headers


async def test_compressed_answers(server, connect, answer):
    _, console = connect()
    content = gzip.compress(b'{"id": "agt_1"}')
    server.will(answer(body=content, headers={"Content-Encoding": "gzip"}))
    assert await console.call("agent_create", body={}) == {"id": "agt_1"}
    assert "gzip" in server.received[0].headers["accept-encoding"]
    server.will(answer(body=b"not gzip", headers={"Content-Encoding": "gzip"}))
    assert "compressed" in str(await failure(console))


async def test_cookies_of_the_console_are_not_kept(server, connect, answer):
    _, console = connect(
        answer(body={"id": "agt_1"}, headers={"Set-Cookie": "sid=1; Path=/"}),
        answer(body={"id": "agt_1"}),
    )
    await console.call("agent_create", body={})
    await console.call("agent_create", body={})
    assert "cookie" not in server.received[1].headers


async def test_a_session_cookie_stands_in_for_the_key(server, connect, answer):
    _, console = connect(answer(body={"id": "agt_1"}), session_cookie="sid=abc=")
    await console.call("agent_create", body={})
    assert server.received[0].headers["cookie"] == "sid=abc="
    assert "authorization" not in server.received[0].headers


async def test_a_large_answer(server, connect, answer):
    _, console = connect()
    body = {"id": "agt_1", "name": "x" * 5_000_000}
    server.will(answer(body=body), answer(body=body, chunked=True))
    assert await console.call("agent_create", body={}) == body
    assert await console.call("agent_create", body={}) == body


READ, WRITE, DELETE = "blacklist_get", "host_update", "host_delete"


@pytest.mark.parametrize(
    ("name", "status", "followed"),
    [(READ, status, True) for status in (301, 302, 303, 307, 308)]
    + [(WRITE, 307, True), (WRITE, 308, True), (DELETE, 308, True)]
    + [(name, status, False) for name in (WRITE, DELETE) for status in (301, 302, 303)]
    + [(READ, status, False) for status in (300, 305, 306)],
)
async def test_redirects_within_the_origin(server, connect, answer, key, name, status, followed):
    client, console = connect()
    body = {"name": "a"} if name == WRITE else None
    server.will(
        answer(status, headers={"Location": "/elsewhere?x=%26#part"}), answer(body={"id": "one"})
    )
    if followed:
        assert await console.call(name, "one", body=body) == {"id": "one"}
        first, second = server.received
        assert (second.method, second.content) == (first.method, first.content)
        assert second.target == "/elsewhere?x=%26"
        assert second.headers["authorization"] == f"Bearer {key}"
    else:
        where = "without a usable address" if name == READ else f"to {server.url}/elsewhere"
        said = rf"redirects \(status {status}\) {where}\. "
        with pytest.raises(UnexpectedAnswer, match=said) as caught:
            await console.call(name, "one", body=body)
        assert caught.value.had_no_effect is (status == 301)
    assert client.calls.total() == 1 + followed


@pytest.mark.parametrize(
    ("location", "where"),
    [
        ("http://localhost:1/x?token=t", "to another origin, http://localhost:1/x"),
        ("https://localhost:{port}/x", "to another origin, https://localhost:{port}/x"),
        ("http://127.0.0.1:{port}/x", "to another origin, http://127.0.0.1:{port}/x"),
        ("http://localhost", "to another origin, http://localhost:80"),
        ("https://[::1]/", "to another origin, https://[::1]:443/"),
        ("//localhost.example.com:1/x", "to another origin, http://localhost.example.com:1/x"),
        ("http://user@localhost:{port}/x", "without a usable address"),
        ("http://localhost:0/x", "without a usable address"),
        ("ftp://localhost:{port}/x", "without a usable address"),
        ("https:///x", "without a usable address"),
        ("http://[::1", "without a usable address"),
        ("", "without a usable address"),
    ],
)
@pytest.mark.parametrize("status", [302, 307])
async def test_redirects_elsewhere_are_refused(server, connect, answer, location, where, status):
    client, console = connect()
    server.will(answer(status, headers={"Location": location.format(port=server.port)}))
    with pytest.raises(UnexpectedAnswer) as caught:
        await console.call("blacklist_get", "one")
    said = f"redirects (status {status}) {where.format(port=server.port)}."
    assert caught.value.cause.message == f"the console {said}"
    assert len(server.received) == client.calls.total() == 1


async def test_redirects_in_a_circle_end(server, connect, answer):
    client, console = connect()
    server.otherwise = lambda request: answer(307, headers={"Location": request.target})
    with pytest.raises(UnexpectedAnswer, match="5 redirects in a row") as caught:
        await console.call("agent_create", body={"name": "a"})
    assert client.calls.total() == len(server.received) == 5 and caught.value.had_no_effect


async def test_http_through_a_proxy_with_credentials(server, connect, answer):
    environ = {"HTTP_PROXY": f"http://user:p%40ss@localhost:{server.port}"}
    base_url = "http://console.example.com/x"
    _, console = connect(base_url=base_url, allow_http=True, environ=environ)
    server.will(answer(body={"id": "agt_1"}))
    assert await console.call("agent_create", body={}) == {"id": "agt_1"}
    (request,) = server.received
    assert request.target == "http://console.example.com/x/api/v1/agents"
    assert request.headers["proxy-authorization"] == "Basic dXNlcjpwQHNz"


async def test_https_through_a_proxy(tls_server, answer, certificate, key, loop_turns):
    asked = []

    async def pump(reader, writer):
        while data := await reader.read(2**16):
            writer.write(data)
        writer.close()

    async def tunnel(reader, writer):
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        there = await asyncio.open_connection("127.0.0.1", tls_server.port)
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

    proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    async with proxy:
        port = proxy.sockets[0].getsockname()[1]
        through = f"http://user:pass@127.0.0.1:{port}"
        settings = Settings(tls_server.url, key, ca_file=certificate, proxy=through)
        tls_server.will(answer(body={"id": "agt_1"}), answer(body={"id": "agt_1"}))
        async with contextlib.aclosing(Client(settings)) as client:
            console = Console(client, settings)
            assert await console.call("agent_create", body={}) == {"id": "agt_1"}
            assert await console.call("agent_create", body={}) == {"id": "agt_1"}
        await loop_turns()
    (head,) = asked
    assert head.startswith(f"CONNECT localhost:{tls_server.port} ")
    assert "Proxy-Authorization: Basic dXNlcjpwYXNz" in head
    assert key not in head


async def test_https_through_a_proxy_that_refuses(server, connect, answer):
    environ = {"HTTPS_PROXY": f"http://user:hunter2@localhost:{server.port}"}
    _, console = connect(base_url="https://console.example.com", environ=environ, max_retries=0)
    server.will(answer(407, headers={"Proxy-Authenticate": "Basic"}))
    problem = await failure(console)
    assert isinstance(problem, NotSent)
    assert "status 407" in str(problem)
    assert "hunter2" not in str(problem)
    assert server.received[0].method == "CONNECT"
    assert "authorization" not in server.received[0].headers, "the key is not the proxy's"


async def test_a_proxy_that_cannot_be_reached(server, connect):
    await server.stop()
    environ = {"ALL_PROXY": f"http://user:hunter2@localhost:{server.port}"}
    _, console = connect(base_url="https://console.example.com", environ=environ, max_retries=0)
    problem = await failure(console)
    assert isinstance(problem, NotSent)
    assert f"The proxy localhost:{server.port} cannot be reached" in str(problem)
    assert "hunter2" not in str(problem)
    await server.start()


async def test_the_process_environment_is_not_consulted(connect, answer, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://localhost:1")
    monkeypatch.setenv("NETRC", "/nonexistent")
    _, console = connect(answer(body={"id": "agt_1"}))
    assert await console.call("agent_create", body={}) == {"id": "agt_1"}


def everything_about(problem):
    """Return whatever a log may show of an error: its text, its chain, its traceback."""
    seen, texts = set(), []
    waiting = [problem]
    while waiting:
        error = waiting.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        texts += [str(error), repr(error), repr(error.args), repr(vars(error))]
        texts += traceback.format_exception(error)
        waiting += [error.__cause__, error.__context__]
    return "\n".join(texts)


def in_go(text):
    """Return `text` as Go's JSON escapes it."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c")


ECHOES = ["json", "page", "escaped", "401", "500", "location", "path", "content type", "2xx"]
ECHOES += ["encoded", "encoded path", "Go's JSON", "id"]


@pytest.mark.parametrize("echo", [*ECHOES, "cut", "reset", "refused", "not HTTP", "slow"])
@pytest.mark.parametrize("by", ["key", "cookie"])
async def test_no_error_and_no_log_shows_the_secret(
    server, connect, answer, key, caplog, loop_time, echo, by
):
    caplog.set_level(logging.DEBUG)
    secret = f"{key}&<" if by == "key" else "Sup3r/Secret=Cookie&<"
    credentials = {"api_key": secret} if by == "key" else {"session_cookie": f"sid={secret}"}
    _, console = connect(max_retries=1, request_timeout=5, **credentials)
    told = {"code": f"C {secret}", "message": f"bad: sid={secret}", "request_id": secret}
    told["details"] = {"headers": [f"Bearer {secret}"]}
    page = f"<html>{secret} sid={secret}"
    answers = {
        "json": answer(400, told),
        "page": answer(400, page),
        "escaped": answer(404, page.replace("/", "\\/")),
        "401": answer(401, told),
        "500": answer(500, page),
        "location": answer(302, headers={"Location": f"http://localhost:1/?{secret}"}),
        "path": answer(302, headers={"Location": f"http://localhost:1/{secret}"}),
        "content type": answer(400, page, headers={"Content-Type": f"text/{secret}"}),
        "2xx": answer(200, page),
        "encoded": answer(404, f"<html>{quote(secret)} {quote(secret, safe='')}"),
        "encoded path": answer(302, headers={"Location": f"http://localhost:1/{quote(secret)}"}),
        "Go's JSON": answer(404, f'<html>"{in_go(secret)}"'),
        "id": answer(200, {"id": secret}),
        "cut": answer(cut="unanswered"),
        "reset": answer(reset=True),
        "not HTTP": answer(raw=f"{secret}\r\n\r\n".encode()),
        "slow": answer(held=True),
    }
    if echo == "refused":
        await server.stop()
    else:
        server.will(answers[echo], answers[echo])
    calling = asyncio.create_task(console.call("blacklist_get", "one"))
    for count in (1, 2) if echo == "slow" else ():
        await server.has_received(count)
        loop_time.advance(5.1)
    with pytest.raises(ConsoleError) as caught:
        await calling
    for text in (everything_about(caught.value), caplog.text):
        assert secret not in text
        for spelling in (secret.replace("/", "\\/"), in_go(secret), quote(secret)):
            assert spelling not in text
        assert quote(secret, safe="") not in text
    if echo == "refused":
        await server.start()


async def test_closing_leaves_nothing_behind(tls_server, settings_of, answer, certificate):
    settings = settings_of(ca_file=certificate)
    await Client(settings).aclose()
    async with contextlib.aclosing(Client(settings)) as client:
        tls_server.will(*[answer(body={"id": "agt_1"})] * 4)
        console = Console(client, settings)
        await asyncio.gather(*(console.call("agent_create", body={}) for _ in range(4)))
    await client.aclose()
    gc.collect()
