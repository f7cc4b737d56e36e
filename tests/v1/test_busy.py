"""Consoles that ask for fewer requests, requests that nobody waits for any more, and stops."""

import asyncio

import pytest

from opsconsole.errors import AnswerLost, NotSent, Stopped, TooManyRequests
from opsconsole.v1.limiter import COOL_DOWN, NotReachable

ERROR = {"code": "SLOW_DOWN", "message": "no", "request_id": "req_1"}
GOOD = {"id": "one"}


def read(console):
    return console.call("blacklist_get", "one")


def create(console):
    return console.call("agent_create", body={"name": "a"})


@pytest.mark.parametrize("call", [read, create])
async def test_patience_ends(server, connect, clock, answer, call):
    client, console = connect(rate_limit_patience=60)
    server.otherwise = lambda request: answer(429, ERROR)
    began = clock.now
    told = r"nothing else for 6\d seconds, and rate_limit_patience is 60\."
    with pytest.raises(TooManyRequests, match=told) as caught:
        await call(console)
    assert 60 <= clock.now - began < 70
    assert caught.value.answer.request_id == "req_1"
    assert caught.value.had_no_effect
    assert "rate_limit_patience is 60" in caught.value.remedy
    sent = client.calls.total()
    with pytest.raises(TooManyRequests, match="rate_limit_patience"):
        await call(console)
    assert client.calls.total() == sent, "the next call has nothing better to expect"
    clock.now += COOL_DOWN
    server.otherwise = lambda request: answer(body=GOOD)
    assert await call(console) == GOOD


async def test_too_long_a_wait_ends_every_call_at_once(server, connect, clock, answer):
    client, console = connect(rate_limit_patience=60, max_concurrency=1)
    server.will(answer(429, ERROR, headers={"Retry-After": "3600"}))
    results = await asyncio.gather(*(read(console) for _ in range(3)), return_exceptions=True)
    assert all("wait 3600 seconds" in result.remedy for result in results)
    assert (client.calls.total(), clock.waits) == (1, []), "nobody in the queue waits"


async def test_two_clients_of_one_console_share_its_places(server, connect, answer, loop_turns):
    _, console = connect(max_concurrency=4)
    _, other = connect(max_concurrency=4, shared=True)
    server.otherwise = lambda request: answer(body=GOOD, held=True)
    calls = [asyncio.create_task(read(one)) for one in (console, other) for _ in range(12)]
    await server.has_received(4)
    await loop_turns()
    server.released.set()
    await asyncio.gather(*calls)
    assert server.most_in_flight == 4


@pytest.mark.parametrize("end", ["timeout", "cancel"])
async def test_an_abandoned_request_keeps_its_place_until_it_ended(
    server, connect, answer, loop_time, loop_turns, end
):
    client, console = connect(answer(body=GOOD, held=True), max_concurrency=1, request_timeout=1)
    call = asyncio.create_task(read(console))
    await server.has_received(1)
    if end == "timeout":
        loop_time.advance(1.1)
    else:
        call.cancel()
        call = asyncio.create_task(read(console))
    await loop_turns()
    assert client.waiting.callers == 1, "its next try, or the next call"
    server.released.set()
    assert await call == GOOD
    assert client.calls.total() == len(server.received) == 2
    assert server.most_in_flight == server.connections == 1


async def test_a_connection_that_never_answers_is_closed_in_the_end(
    server, connect, answer, loop_time, loop_turns
):
    client, console = connect(answer(held=True), max_concurrency=1, request_timeout=1)
    call = asyncio.create_task(read(console))
    await server.has_received(1)
    loop_time.advance(1.1)
    await loop_turns()
    assert client.waiting.callers == 1
    loop_time.advance(1.1)
    assert await call == GOOD
    assert server.connections == 2


async def test_closing_ends_what_was_abandoned(server, connect, answer, loop_time):
    client, console = connect(answer(held=True), request_timeout=1, max_retries=0)
    call = asyncio.create_task(read(console))
    await server.has_received(1)
    loop_time.advance(1.1)
    with pytest.raises(AnswerLost):
        await call
    assert client._limiter.in_flight == 1
    await client.aclose()
    assert client._limiter.in_flight == 0


@pytest.mark.parametrize("cut", ["", "unanswered"])
async def test_a_late_answer_shows_that_the_console_answers(
    server, connect, answer, loop_time, loop_turns, cut
):
    _, console = connect(answer(held=True, cut=cut), request_timeout=1, max_retries=0)
    call = asyncio.create_task(read(console))
    await server.has_received(1)
    loop_time.advance(1.1)
    with pytest.raises(AnswerLost):
        await call
    server.released.set()
    await loop_turns()
    [later] = await asyncio.gather(read(console), return_exceptions=True)
    assert type(later) is (NotSent if cut else dict)


async def test_calls_in_the_queue_learn_that_nobody_answers(server, connect, answer, loop_time):
    client, console = connect(max_concurrency=1, request_timeout=1, max_retries=0)
    server.will(answer(held=True))
    calls = [asyncio.create_task(read(console)) for _ in range(5)]
    await server.has_received(1)
    loop_time.advance(1.1)
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(results[0], AnswerLost)
    assert all(isinstance(result, NotSent) for result in results[1:])
    assert client.calls.total() == 1


@pytest.mark.parametrize(("end", "problem"), [("stop", Stopped), ("aclose", NotReachable)])
async def test_the_wait_in_the_queue_of_a_busy_console_ends(
    server, connect, clock, answer, end, problem
):
    client, console = connect()
    clock.awake.clear()
    server.will(answer(429, ERROR, headers={"Retry-After": "60"}))
    calls = [asyncio.create_task(create(console)) for _ in range(3)]
    await clock.slept.wait()
    if closing := getattr(client, end)():
        await closing
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(result) for result in results} <= {problem, dict}


async def test_what_is_in_flight_is_finished_and_what_waits_its_turn_is_not_sent(
    server, connect, answer
):
    client, console = connect(answer(body=GOOD, held=True), max_concurrency=1)
    calls = [asyncio.create_task(read(console)) for _ in range(3)]
    await server.has_received(1)
    client.stop()
    server.released.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [result == GOOD or type(result) for result in results] == [True, Stopped, Stopped]
    with pytest.raises(Stopped, match="was not sent: the run was told to stop"):
        await read(console)
    assert len(server.received) == 1
