"""A client that is told to stop begins nothing, and finishes what is in flight."""

import asyncio

import pytest

from opsconsole.errors import AnswerLost, Stopped

ERROR = {"code": "BUSY", "message": "busy", "request_id": "req_1"}
ROW = {"id": "blk_1"}


async def test_nothing_begins_after_a_stop(server, connect):
    client, console = connect()
    client.stop()
    with pytest.raises(Stopped):
        await console.one("blacklist_get", "blk_1")
    assert server.received == []


async def test_what_is_in_flight_is_finished_and_what_waits_its_turn_is_not_sent(
    server, connect, answer
):
    client, console = connect(max_concurrency=1)
    server.will(answer(body=ROW, held=True))
    calls = [asyncio.create_task(console.one("blacklist_get", "blk_1")) for _ in range(3)]
    await server.has_received(1)
    client.stop()
    server.released.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(item) for item in results[1:]] == [Stopped, Stopped]
    assert not isinstance(results[0], Exception)
    assert len(server.received) == 1


async def test_a_call_whose_effect_is_unknown_says_so_and_not_that_it_was_not_begun(
    server, connect, clock, answer
):
    client, console = connect()
    clock.awake.clear()
    server.will(answer(cut="unanswered"))
    call = asyncio.create_task(console.one("host_delete", "hst_1"))
    await clock.slept.wait()
    client.stop()
    with pytest.raises(AnswerLost):
        await call
