"""Gathering calls: what goes together, what waits, what one failure does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest

from opsconsole.terraform.coalescing import Gathering


class Call:
    """Doubles numbers, slowly, and remembers what came together."""

    def __init__(self, span: float = 0.0) -> None:
        self.span = span
        self.gathered: list[list[int]] = []

    async def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.gathered.append(list(numbers))
        await asyncio.sleep(self.span)
        if -13 in numbers:
            raise LookupError("thirteen")
        return [2 * number for number in numbers]


async def test_what_comes_at_once_goes_at_once() -> None:
    call = Call()
    gathering = Gathering(call)
    assert await asyncio.gather(*map(gathering.submit, range(50))) == list(range(0, 100, 2))
    assert call.gathered == [list(range(50))]


async def test_what_comes_meanwhile_goes_next() -> None:
    call = Call(0.05)
    gathering = Gathering(call, at_once=1)
    first = asyncio.create_task(gathering.submit(0))
    await asyncio.sleep(0.02)
    late = [asyncio.create_task(gathering.submit(number)) for number in (1, 2, 3)]
    assert await asyncio.gather(first, *late) == [0, 2, 4, 6]
    assert call.gathered == [[0], [1, 2, 3]]


async def test_a_few_calls_are_in_flight() -> None:
    call = Call(0.1)
    gathering = Gathering(call, at_once=2)
    tasks = []
    for number in range(4):
        tasks.append(asyncio.create_task(gathering.submit(number)))
        await asyncio.sleep(0.02)
    assert call.gathered == [[0], [1]]
    assert await asyncio.gather(*tasks) == [0, 2, 4, 6]
    assert call.gathered == [[0], [1], [2, 3]]


async def test_a_single_one_is_hardly_delayed() -> None:
    gathering = Gathering(Call())
    spans = []
    for number in range(20):
        begun = time.perf_counter()
        await gathering.submit(number)
        spans.append(time.perf_counter() - begun)
    assert min(spans) < 0.003


async def test_newcomers_cannot_put_a_call_off_for_ever() -> None:
    call = Call()
    gathering = Gathering(call)
    tasks = []
    for number in range(40):
        tasks.append(asyncio.create_task(gathering.submit(number)))
        await asyncio.sleep(0.0004)
    await asyncio.gather(*tasks)
    assert len(call.gathered) > 1


async def test_a_failure_is_everybodys_and_the_next_call_is_made() -> None:
    gathering = Gathering(Call())
    outcomes = await asyncio.gather(*map(gathering.submit, (12, -13, 14)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [LookupError] * 3
    assert await gathering.submit(1) == 2


@pytest.mark.parametrize("number", [1, -13])
async def test_who_is_cancelled_leaves_the_others_alone(number: int) -> None:
    call = Call(0.02)
    gathering = Gathering(call)
    tasks = [asyncio.create_task(gathering.submit(item)) for item in (0, number)]
    await asyncio.sleep(0.01)
    tasks[0].cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert outcomes[1] == 2 if number == 1 else isinstance(outcomes[1], LookupError)
    assert call.gathered == [[0, number]]
