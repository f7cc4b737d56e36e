"""Answers without bounds: endless and compressed bodies, headers, numbers, depth, ids."""

import asyncio
import functools
import gzip
import json
import resource
import traceback
import zlib

import pytest

from opsconsole.errors import AnswerLost, BadRequest, UnexpectedAnswer
from opsconsole.v1.answers import Reply, WrongShape, beginning, json_object
from opsconsole.v1.limiter import LargeAnswerSlot
from opsconsole.v1.transport import TooLong, WrongCoding, whole_body

MEBIBYTE = 2**20
BOUND = 3 * MEBIBYTE


async def pieces(content, size=2**14):
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def read(content, coding="", most=BOUND):
    slot = LargeAnswerSlot(asyncio.Lock())
    try:
        return await whole_body(pieces(content), coding, most, slot)
    finally:
        slot.end()


CODED = {
    "": lambda content: content,
    "identity": lambda content: content,
    "gzip": gzip.compress,
    "X-GZIP": gzip.compress,
    "deflate": zlib.compress,
    "deflate ": lambda content: zlib.compress(content)[2:-4],
}


@pytest.mark.parametrize("coding", CODED)
@pytest.mark.parametrize("size", [0, 1, MEBIBYTE, MEBIBYTE + 1, BOUND])
async def test_a_body_of_the_size_that_is_allowed(coding, size):
    content = b"x" * size
    assert await read(CODED[coding](content), coding) == content


@pytest.mark.parametrize("coding", CODED)
async def test_a_body_that_is_one_byte_too_long(coding):
    with pytest.raises(TooLong):
        await read(CODED[coding](b"x" * (BOUND + 1)), coding)


async def test_what_decompresses_to_nothing_is_bounded_too():
    with pytest.raises(TooLong):
        await read(gzip.compress(b"") + b"\0" * (BOUND + 1), "gzip")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "gzip, gzip"])
async def test_a_body_that_is_not_coded_as_it_says(coding):
    with pytest.raises(WrongCoding):
        await read(b"not compressed", coding)


async def test_one_large_body_is_in_memory_at_a_time(loop_turns):
    large = asyncio.Lock()
    first, second = LargeAnswerSlot(large), LargeAnswerSlot(large)
    content = gzip.compress(b"x" * BOUND)
    await whole_body(pieces(content), "gzip", BOUND, first)
    other = asyncio.ensure_future(whole_body(pieces(content), "gzip", BOUND, second))
    await loop_turns()
    assert not other.done(), "the first is still being decoded"
    small = b"x" * MEBIBYTE
    assert await whole_body(pieces(small), "", BOUND, LargeAnswerSlot(large)) == small
    # Who goes while it waits for its slot does not keep it.
    gone = LargeAnswerSlot(large)
    waiting = asyncio.ensure_future(gone.take())
    gone.end()
    first.end()
    assert len(await other) == BOUND
    second.end()
    await waiting
    second.end()
    assert not large.locked()
    # Nothing is kept of what nobody waits for.
    assert await whole_body(pieces(b"x" * BOUND), "", BOUND, gone) == b""


BAD = {
    "NaN": b'{"a": NaN}',
    "Infinity": b'{"a": -Infinity}',
    "too large a number": b'{"a": 1e999}',
    "too many digits": b'{"a": %s}' % (b"9" * 41),
    "too deep": b'{"a": %s%s}' % (b"[" * 101, b"]" * 101),
    "far too deep": b'{"a": %s' % (b'{"a": ' * 10**6),
    "no object": b"[]",
    "nothing": b"",
    "two objects": b"{} {}",
    "half a character, escaped": b'{"a": ["b", {"c": "\\udc00"}]}',
    "half a character in a name": b'{"a": [{"\\uD800": 1}]}',
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_what_is_no_usable_json(content):
    with pytest.raises(WrongShape) as caught:
        json_object(content)
    assert len(str(caught.value)) < 60


def test_json_within_the_bounds():
    deep = {"a": json.loads("[" * 99 + "]" * 99)}
    many = {"n": 10**39, "f": 1.5e300, "rows": [{"id": str(number)} for number in range(20_000)]}
    whole = {"a": ["\U0001f600", {"\U0001f600": "\\ud800"}]}
    for body in (deep, many, whole, {}):
        assert json_object(json.dumps(body).encode()) == body
    assert [beginning(b"x" * size) for size in (160, 161)] == ["x" * 160, "x" * 160 + "…"]


IDS = ["..", ".", "", None, 7, ["a"], "x" * 100_000]


@pytest.mark.parametrize("found", IDS, ids=lambda found: str(found)[:9])
async def test_an_id_that_cannot_stand_in_a_path(connect, answer, found):
    _, console = connect(
        answer(body={"id": found}),
        answer(body={"data": [{"id": found}], "has_more": False}),
        answer(body={"results": [{"index": 0, "status": "created", "id": found}]}),
    )
    with pytest.raises(UnexpectedAnswer, match="without a usable id") as caught:
        await console.call("agent_create", body={"name": "a"})
    assert not caught.value.had_no_effect
    with pytest.raises(UnexpectedAnswer, match="no usable id"):
        await console.list_all("specialty_search")
    result = await console.import_hosts([{"name": "a"}], on_error="stop", dry_run=False)
    assert result.results[0].id is None


@functools.cache
def squeezed_spaces():
    """Return the beginning of an endless answer: 64 MiB of spaces, compressed."""
    return zlib.compressobj(wbits=31).compress(b" " * 64 * MEBIBYTE)


async def flood(reader, writer):
    """Answer every request with what never ends; the first line of its path says how."""
    request = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]
    try:
        if b"headers" in request:
            writer.write(b"HTTP/1.1 200 OK\r\n")
            while True:
                writer.write(b"X-Flood: %s\r\n" % (b"x" * 1000))
                await writer.drain()
        if b"gzip" in request:
            bomb = squeezed_spaces()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n")
        else:
            bomb = b" " * 2**16
            writer.write(b"HTTP/1.1 200 OK\r\n")
        writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"%x\r\n%s\r\n" % (len(bomb), bomb))
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


AT_ONCE = 6
"""Answers that flood the client at once. Each may have 64 MiB: together they exceed GROWTH."""
GROWTH = 220 * 1024
"""Kibibytes, with those of the server, which runs in this process."""


@pytest.mark.unmeasured
@pytest.mark.parametrize("kind", ["headers", "gzip", "endless"])
async def test_answers_that_never_end_are_refused(connect, kind):
    flooding = await asyncio.start_server(flood, "127.0.0.1", 0)
    port = flooding.sockets[0].getsockname()[1]
    async with flooding:
        client, console = connect(base_url=f"http://127.0.0.1:{port}")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        calls = [console.call("blacklist_get", f"{kind}_{number}") for number in range(AT_ONCE)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        await client.aclose()
    assert {type(result) for result in results} <= {UnexpectedAnswer, AnswerLost}
    assert any(isinstance(result, UnexpectedAnswer) for result in results)
    if kind == "endless":
        assert "max_response_bytes" in results[0].remedy
    assert grown < GROWTH


async def test_an_error_keeps_the_beginning_of_what_the_console_says(server, connect, answer):
    _, console = connect()
    long = "x" * BOUND
    many = [{"field": f"f{number}", "message": "m" * 100} for number in range(20_000)]
    body = {"code": long, "message": long, "field": long, "errors": many}
    body |= {"request_id": "x" * 2000, "details": dict.fromkeys(["a", "ab"], "x" * 1991)}
    server.will(answer(400, body=body))
    with pytest.raises(BadRequest) as caught:
        await console.call("agent_create", body={"name": "a"})
    problem = caught.value.answer
    assert (problem.message, problem.request_id) == ("x" * 2000 + "…", "x" * 2000)
    assert problem.errors[0] == ("f0", "m" * 100)
    assert problem.details == {"a": "x" * 1991}
    assert len(str(problem)) + len(str(problem.errors)) < 2**16
    server.will(answer(body={"results": [{"index": 0, "status": long, "error": long}]}))
    result = await console.import_hosts([{"name": "a"}], on_error="stop", dry_run=False)
    assert result.results[0].error == "x" * 2000 + "…"


async def test_an_answer_longer_than_the_setting_allows(connect, answer):
    _, console = connect(answer(body={"id": "agt_1", "name": "x" * 2000}), max_response_bytes=2000)
    with pytest.raises(UnexpectedAnswer, match="longer than 2000 bytes") as caught:
        await console.call("agent_create", body={"name": "a"})
    assert not caught.value.had_no_effect
    assert caught.value.status == 200


async def test_an_error_keeps_no_answer_in_memory(connect, answer):
    _, console = connect(answer(body={"name": "x" * BOUND}))
    with pytest.raises(UnexpectedAnswer) as caught:
        await console.call("agent_create", body={"name": "a"})
    for frame, _ in traceback.walk_tb(caught.value.__traceback__):
        if "opsconsole" in frame.f_code.co_filename and "tests" not in frame.f_code.co_filename:
            for value in frame.f_locals.values():
                assert not isinstance(value, Reply)
                assert not isinstance(value, bytes | str) or len(value) < 1000
