"""Which calls are repeated, and what many calls learn from each other."""

import asyncio
import logging
import random
import time
from email.utils import formatdate

import pytest

from opsconsole.errors import AnswerLost, ErrorAnswer, NotSent, ServerError, Unauthorized
from opsconsole.v1.answers import retry_after
from opsconsole.v1.limiter import (
    COOL_DOWN,
    LONGEST_OBEYED,
    CircuitBreaker,
    HeldBack,
    NotReachable,
    OutOfTime,
)

ERROR = {"code": "ANY", "message": "no", "request_id": "req_1"}
TRIES = 5

SAFE = {
    "read": lambda console: console.call("blacklist_get", "one"),
    "update": lambda console: console.call("host_update", "one", body={"name": "a"}),
    "empty update": lambda console: console.call("host_update", "one", body={}),
    "delete": lambda console: console.call("host_delete", "one"),
    "attach": lambda console: console.call("plugin_attach", "one", body={"plugin_id": "plg_1"}),
    "detach": lambda console: console.call("plugin_detach", "one", "plg_1"),
    "list": lambda console: console.list_all("plugin_list", "one"),
    "dry run": lambda console: console.import_hosts([], on_error="stop", dry_run=True),
    "extra read": lambda console: console.call("host_get", "one"),
}
CREATES = {
    "import": lambda console: console.import_hosts([], on_error="stop", dry_run=False),
    "CSV import": lambda console: console.import_hosts_csv("a", {}, dry_run=False),
    "create": lambda console: console.call("agent_create", body={}),
    "extra create": lambda console: console.call("specialty_create", body={}),
}
EXTRAS = {"host_get": "GET /hosts/{id}", "specialty_create": "POST /specialties"}
GOOD = {"id": "one", "data": [], "results": []}


@pytest.mark.parametrize("call", [*SAFE, *CREATES])
async def test_only_calls_that_do_no_harm_twice_are_repeated(server, connect, answer, caplog, call):
    caplog.set_level(logging.DEBUG, "opsconsole")
    _, console = connect(extra_endpoints=EXTRAS)
    server.will(answer(503, ERROR), answer(cut="unanswered"), answer(body=GOOD))
    if call in CREATES:
        with pytest.raises(ServerError):
            await CREATES[call](console)
        assert len(server.received) == 1
        return
    await SAFE[call](console)
    assert len(server.received) == 3
    for said in ("status 503 after", "try 1 failed, next in", "try 2 failed", "status 200 after"):
        assert said in caplog.text


async def test_a_request_that_may_have_been_read_counts_as_sent(server, connect, answer):
    client, console = connect(answer(cut="unread"))
    with pytest.raises(AnswerLost):
        await console.call("agent_create", body={})
    server.will(answer(cut="unread"))
    await console.call("blacklist_get", "one")
    assert client.calls == {"agent_create": 1, "blacklist_get": 2}


async def test_an_answer_that_drips_is_cut_off_by_the_timeout(connect, loop_time, loop_turns):
    done = asyncio.Event()

    async def drip(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(20):
            writer.write(b" ")
            await loop_turns()
            loop_time.advance(0.1)
        writer.close()
        done.set()

    dripping = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = dripping.sockets[0].getsockname()[1]
    _, console = connect(request_timeout=1, max_retries=0, base_url=f"http://127.0.0.1:{port}")
    async with dripping:
        with pytest.raises(AnswerLost, match=r"within 1 seconds"):
            await console.call("blacklist_get", "one")
        await done.wait()


@pytest.mark.parametrize(
    ("status", "callers", "seconds"), [(429, 4, 7), (503, 3, int(LONGEST_OBEYED)), (504, 3, 7)]
)
async def test_retry_after_holds_back_other_calls_too(
    server, connect, clock, answer, loop_turns, status, callers, seconds
):
    client, console = connect()
    assert client.waiting == HeldBack(0, 0)
    clock.awake.clear()
    server.will(answer(status, ERROR, headers={"Retry-After": str(seconds)}))
    first = asyncio.create_task(console.call("blacklist_get", "one"))
    await clock.slept.wait()
    others = [asyncio.create_task(console.call("blacklist_get", f"blk_{n}")) for n in range(3)]
    await loop_turns()
    assert len(server.received) == 1
    assert set(clock.waits) == {seconds}
    assert client.waiting == HeldBack(callers, seconds), "a 429 waits with them"
    clock.now += 1
    clock.awake.set()
    await asyncio.gather(first, *others)
    assert len(server.received) == 5
    assert client.waiting == HeldBack(0, 0)


async def test_too_long_a_wait_for_a_busy_console_ends_the_call(server, connect, clock, answer):
    _, console = connect()
    asked = str(int(LONGEST_OBEYED) + 1)
    server.will(answer(503, ERROR, headers={"Retry-After": asked}))
    with pytest.raises(ServerError) as caught:
        await console.call("blacklist_get", "one")
    assert asked in str(caught.value) and clock.waits == []


def gmt(seconds):
    return formatdate(seconds, usegmt=True)


@pytest.fixture
def in_new_york(monkeypatch):
    """A machine whose own time is not UTC, which HTTP dates always are."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "000"}, 0.0),
        ({"retry-after": " 12 "}, 12.0),
        ({"retry-after": "0000000000120"}, 120.0),
        ({"retry-after": "9" * 400}, 999_999_999.0),
        ({"retry-after": "²"}, None),
        ({"retry-after": gmt(1030)}, 30.0),
        ({"retry-after": gmt(900)}, 0.0),
        ({"retry-after": gmt(500_030), "date": gmt(500_000)}, 30.0),
        ({"retry-after": gmt(1030), "date": "yesterday"}, 30.0),
        ({"retry-after": "Fri, 99 Nov 2026 19:00:00 GMT"}, None),
        ({"retry-after": "Thu Jan  1 00:17:10 1970"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:17:10 -0000"}, 30.0),
    ],
    ids=str,
)
def test_retry_after_holds_seconds_or_a_date(headers, seconds, in_new_york, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    assert retry_after(headers) == seconds


def test_the_wait_before_a_try_doubles_and_ends_where_no_answer_comes(clock, monkeypatch):
    monkeypatch.setattr(random, "random", lambda: 0.5)
    breaker = CircuitBreaker(7, 10.0, clock)

    def delay(problem, tried=1, after=0.0):
        clock.now += after
        return breaker.next_delay(problem, tried, idempotent=True)

    backoff = [0.1875, 0.375, 0.75, 1.5, 3, 6, 6, None]
    assert [delay(ServerError(ErrorAnswer(503)), number) for number in range(1, 9)] == backoff
    assert delay(NotReachable("no such name"), 7) is None
    assert delay(NotSent("refused")) == 0.1875
    # The first began 10 seconds before it ran out of time; 8 tries would take 80 seconds.
    for late in [(0.0, 0.1875), (69.0, 0.1875), (1.0, None)]:
        breaker.check("none of them rests before")
        assert delay(OutOfTime("late"), after=late[0]) == late[1]
    with pytest.raises(NotSent, match="no call was made"):
        breaker.check("one")
    breaker.note_answer()
    assert [delay(OutOfTime("late"), after=after) for after in (0.0, 69.0)] == [0.1875, 0.1875]


async def test_a_silent_console_gets_one_try_for_each_further_call(server, connect, clock, answer):
    client, console = connect()
    port = server.port
    await server.stop()
    for total in (TRIES, TRIES + 1, TRIES + 2):
        with pytest.raises(NotSent):
            await console.call("blacklist_get", "one")
        assert client.calls.total() == total
    await server.start(port=port)
    server.will(answer(503, ERROR), answer(503, ERROR))
    await console.call("blacklist_get", "one")
    assert client.calls.total() == TRIES + 2 + 3


async def test_timeouts_pause_the_calls_to_a_console(server, connect, clock, answer, loop_time):
    client, console = connect(request_timeout=1, max_retries=0)
    server.will(answer(held=True), answer(held=True))

    async def runs_out_of_time():
        calling = asyncio.create_task(console.call("blacklist_get", "one"))
        await server.has_received(client.calls.total() + 1)
        loop_time.advance(1.1)
        with pytest.raises(AnswerLost):
            await calling

    await runs_out_of_time()
    for _ in range(3):
        with pytest.raises(NotSent, match="no call was made"):
            await console.call("blacklist_get", "one")
    assert client.calls.total() == 1
    clock.now += COOL_DOWN
    await runs_out_of_time()
    clock.now += COOL_DOWN - 1
    with pytest.raises(NotSent, match="no call was made"):
        await console.call("blacklist_get", "one")
    assert client.calls.total() == 2
    clock.now += 1
    assert await console.call("blacklist_get", "one") == {"id": "one"}
    assert await console.call("blacklist_get", "two") == {"id": "two"}


@pytest.mark.parametrize(("call", "lost"), [("read", {"cut": "unanswered"}), ("create", {})])
async def test_cut_connections_and_lost_creates_pause_nothing(
    server, connect, answer, loop_time, call, lost
):
    client, console = connect(answer(held=not lost, **lost), request_timeout=1, max_retries=0)
    calling = asyncio.create_task({**SAFE, **CREATES}[call](console))
    await server.has_received(1)
    loop_time.advance(0 if lost else 1.1)
    with pytest.raises(AnswerLost):
        await calling
    # What settles a lost create must pass.
    assert await console.call("blacklist_get", "one") == {"id": "one"}
    assert client.calls.total() == 2


@pytest.mark.parametrize("in_flight", [1, 4])
async def test_max_concurrency_bounds_requests_in_flight(server, connect, answer, in_flight):
    _, console = connect(max_concurrency=in_flight)
    together = asyncio.Barrier(in_flight)

    async def once_all_are_in_flight(request):
        await together.wait()
        return answer(body={"id": request.target.rpartition("/")[2]})

    server.otherwise = once_all_are_in_flight
    await asyncio.gather(*(console.call("blacklist_get", f"blk_{n}") for n in range(20)))
    assert server.most_in_flight == server.connections == in_flight


async def test_a_call_that_waits_for_its_next_try_holds_no_slot(server, connect, clock, answer):
    _, console = connect(max_concurrency=1)
    clock.awake.clear()
    server.will(answer(503, ERROR))
    first = asyncio.create_task(console.call("blacklist_get", "one"))
    await server.arrived.wait()
    assert await console.call("blacklist_get", "two") == {"id": "two"}
    assert not first.done()
    clock.awake.set()
    assert await first == {"id": "one"}


async def test_after_the_first_401_no_call_is_made(server, connect, answer):
    client, console = connect()
    server.will(answer(401, {"code": "UNAUTHORIZED", "message": "no", "request_id": "req_9"}))
    explained = []
    for call in (*SAFE.values(), CREATES["create"]):
        if call is SAFE["extra read"]:
            continue
        with pytest.raises(Unauthorized) as caught:
            await call(console)
        assert caught.value.answer.request_id == "req_9"
        explained.append(caught.value.already_reported)
    assert explained == [False] + [True] * (len(explained) - 1)
    assert len(server.received) == client.calls.total() == 1


async def test_of_many_calls_in_flight_only_one_401_is_unexplained(server, connect, answer):
    _, console = connect(max_concurrency=8)
    together = asyncio.Barrier(8)

    async def once_all_are_in_flight(request):
        await together.wait()
        return answer(401, ERROR)

    server.otherwise = once_all_are_in_flight
    results = await asyncio.gather(
        *(console.call("blacklist_get", f"blk_{n}") for n in range(40)), return_exceptions=True
    )
    assert all(isinstance(result, Unauthorized) for result in results)
    assert sum(not result.already_reported for result in results) == 1
    assert len(server.received) == 8


async def test_a_connection_that_the_console_has_closed_is_not_used_for_a_create(
    server, connect, answer, loop_turns
):
    _, console = connect(answer(body=GOOD, close_after=True))
    await console.call("blacklist_get", "one")
    await loop_turns()
    server.will(answer(body=GOOD))
    await console.call("agent_create", body={})
    assert [request.connection for request in server.received] == [1, 2]
