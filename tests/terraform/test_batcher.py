"""Creations in batches: what goes together, what waits, what one failure does."""

import asyncio
from collections.abc import Sequence

import pytest

from opsconsole.lifecycle.interface import CreateRequest, Outcome, ReportOutcomes
from opsconsole.terraform.batcher import Batcher


def request(number: int) -> CreateRequest:
    return CreateRequest({"number": number}, {"number": number})


class Lifecycle:
    """Takes creations, and holds each batch back until it is let go."""

    def __init__(self, max_creates_at_once: int = 500) -> None:
        self.max_creates_at_once = max_creates_at_once
        self.batches: list[list[int]] = []
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.go.set()

    async def create(self, requests: Sequence[CreateRequest], report: ReportOutcomes) -> None:
        numbers = [item.planned["number"] for item in requests]
        self.batches.append(numbers)
        self.begun.set()
        await self.go.wait()
        if -13 in numbers:
            raise LookupError("thirteen")
        for item in requests:
            await report([(item, Outcome({"id": "seen"}))], final=False)
            await report([(item, Outcome({"id": str(2 * item.planned["number"])}))])


def created(outcomes: Sequence[Outcome]) -> list[int]:
    return [int(item.state["id"]) for item in outcomes]


async def test_what_comes_at_once_goes_at_once():
    lifecycle = Lifecycle()
    batcher = Batcher(lifecycle)
    found = await asyncio.gather(*(batcher.create(request(number)) for number in range(50)))
    assert created(found) == list(range(0, 100, 2))
    assert lifecycle.batches == [list(range(50))]


async def test_a_batch_holds_no_more_than_the_console_takes():
    lifecycle = Lifecycle(max_creates_at_once=20)
    batcher = Batcher(lifecycle)
    await asyncio.gather(*(batcher.create(request(number)) for number in range(50)))
    assert [len(batch) for batch in lifecycle.batches] == [20, 20, 10]


async def test_what_the_console_takes_singly_never_waits():
    lifecycle = Lifecycle(max_creates_at_once=1)
    batcher = Batcher(lifecycle, at_once=2)
    lifecycle.go.clear()
    tasks = [asyncio.create_task(batcher.create(request(number))) for number in range(10)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert lifecycle.batches == [[number] for number in range(10)]
    lifecycle.go.set()
    await asyncio.gather(*tasks)


async def test_what_comes_meanwhile_goes_next():
    lifecycle = Lifecycle()
    batcher = Batcher(lifecycle, at_once=1)
    lifecycle.go.clear()
    first = asyncio.create_task(batcher.create(request(0)))
    await lifecycle.begun.wait()
    late = [asyncio.create_task(batcher.create(request(number))) for number in (1, 2, 3)]
    await asyncio.sleep(0)
    lifecycle.go.set()
    assert created(await asyncio.gather(first, *late)) == [0, 2, 4, 6]
    assert lifecycle.batches == [[0], [1, 2, 3]]


async def test_a_few_batches_are_in_flight():
    lifecycle = Lifecycle()
    batcher = Batcher(lifecycle, at_once=2)
    lifecycle.go.clear()
    tasks = []
    for number in range(2):
        lifecycle.begun.clear()
        tasks.append(asyncio.create_task(batcher.create(request(number))))
        await lifecycle.begun.wait()
    tasks += [asyncio.create_task(batcher.create(request(number))) for number in (2, 3)]
    await asyncio.sleep(0)
    assert lifecycle.batches == [[0], [1]]
    lifecycle.go.set()
    assert created(await asyncio.gather(*tasks)) == [0, 2, 4, 6]
    assert lifecycle.batches == [[0], [1], [2, 3]]


async def test_what_fails_fails_for_all_of_its_batch_and_for_no_other():
    batcher = Batcher(Lifecycle())
    both = [batcher.create(request(number)) for number in (1, -13)]
    found = await asyncio.gather(*both, return_exceptions=True)
    assert [type(item) for item in found] == [LookupError, LookupError]
    assert created([await batcher.create(request(4))]) == [8]


async def test_a_caller_that_is_cancelled_leaves_its_request_in_the_batch():
    lifecycle = Lifecycle()
    batcher = Batcher(lifecycle)
    lifecycle.go.clear()
    gone = asyncio.create_task(batcher.create(request(1)))
    stays = asyncio.create_task(batcher.create(request(2)))
    await lifecycle.begun.wait()
    gone.cancel()
    lifecycle.go.set()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert created([await stays]) == [4]
    assert lifecycle.batches == [[1, 2]]
