"""The limiter against consoles that count requests, in virtual time."""

import asyncio
import gc
import math
import weakref

import pytest

from opsconsole.v1.limiter import Limiter, Rate, shared_limiter
from virtual_time import VirtualLoop

MOST = 32


class Bucket:
    """A console that grants `rate` requests a second and saves up `burst` of them."""

    def __init__(self, rate, burst, retry_after=None, latency=0.005, shut=(0, 0), left=None):
        self.rate, self.burst, self.retry_after = rate, burst, retry_after
        self.latency, self.shut = latency, shut
        self.left, self.at = burst if left is None else left, 0.0
        self.accepted = self.refused = 0
        self.begun = []

    async def answer(self):
        now = asyncio.get_running_loop().time()
        self.begun.append(now)
        self.left = min(self.burst, self.left + (now - self.at) * self.rate)
        self.at = now
        good = self.left >= 1 and not self.shut[0] <= now < self.shut[1]
        self.left -= good
        self.accepted += good
        self.refused += not good
        await asyncio.sleep(self.latency)
        return good


def seconds_for(console, requests, *, status=429, workers=MOST, per_second=None):
    """Return how long `requests` take. The console refuses with `status`."""
    loop = VirtualLoop()

    async def spend():
        limiter = Limiter()
        left = iter(range(requests))

        async def call():
            sent = await limiter.take(limiter, MOST, per_second)
            good = await console.answer()
            if good:
                limiter.note_accepted(sent)
            elif status == 429:
                limiter.note_refused(sent, console.retry_after)
            else:
                limiter.slow_down(sent, console.retry_after)
            limiter.give_back()
            return good

        async def work():
            for _ in left:
                tries = 1
                while not await call():
                    tries += 1
                assert tries <= 5, "no caller starves"

        await asyncio.gather(*(work() for _ in range(workers)))
        assert limiter.in_flight == 0
        return loop.time()

    try:
        return loop.run_until_complete(spend())
    finally:
        loop.close()


def test_the_rate_is_measured_between_two_refusals():
    rate = Rate()
    assert (rate.most_in_flight, rate.per_second(0.0), rate.wait(0.0)) == (8, math.inf, 0.0)
    for _ in range(5):
        rate.note_accepted(0.0)
    assert rate.most_in_flight == 10
    assert rate.note_refused(1.0, 2.0, None) == 0.25
    # These two were under way at the refusal.
    assert [rate.note_refused(2.0, 2.1, asked) for asked in (7.0, None)] == [7.0, 0.0]
    assert (rate.most_in_flight, rate.wait(2.0)) == (1, 0.25)
    in_vain = [(3.0, None), (4.0, None), (5.0, None), (6.0, None), (9.0, 30.0), (40.0, 1.0)]
    assert [rate.note_refused(at, at, asked) for at, asked in in_vain] == [0.5, 1, 2, 2, 30, 2]
    for sent in (40.0, *[45.0] * 10):
        rate.note_accepted(sent)
    assert (rate.most_in_flight, rate.per_second(99.0)) == (1 + 10 // 2, math.inf)
    # It granted 10 in 10 seconds. No rate was refused: 16 times that is the upper bound.
    first = 0.97 * math.sqrt(1 * 16)
    assert rate.note_refused(50.0, 51.0, None) == pytest.approx(1 / first)
    assert rate.most_in_flight == 1
    start = 51 + rate.wait(51.0)
    grown = [rate.per_second(start + seconds) / first for seconds in (-1, 0, 0.25, 1)]
    assert grown == pytest.approx([1, 1, 1 + 0.1 * (0.5 + 0.125), 1 + 0.1 * (2 + 8)])
    for _ in range(12):
        rate.note_accepted(52.0)
    assert rate.most_in_flight == math.inf
    # 12 in 2 seconds: of those after the pause, 5 may have been saved up.
    second = 0.97 * math.sqrt(6 * rate.per_second(53.0))
    assert rate.note_refused(53.0, 54.0, 2.0) == 2.0
    grown = [rate.per_second(56.0 + seconds) / second for seconds in (0, 1, 2)]
    assert grown == pytest.approx([1, 1 + 0.1 * (1 + 1), 1 + 0.1 * (2 + 8)])
    for _ in range(70):
        rate.note_accepted(57.0)
    third = 0.97 * math.sqrt((70 - 5) / 2.5 * rate.per_second(58.5))
    assert rate.note_refused(58.5, 59.0, 0.05) == 0.05
    # The bounds are close to each other: it grows as slowly as it may, without the linear part.
    start = 59 + rate.wait(59.0)
    grown = [rate.per_second(start + seconds) / third for seconds in (0, 1.25, 2.5)]
    assert grown == pytest.approx([1, 1 + 0.1 / 8, 1 + 0.1])
    rate.note_sent(start, most=2.0)
    assert (rate.per_second(start), rate.wait(start)) == (2.0, 0.5)
    # It does not grow while nothing is sent.
    rate.note_sent(start + 100)
    assert rate.per_second(start + 100) == pytest.approx(third * (1 + 0.1 * (0.5 / 2.5) ** 3))
    # Among the requests of a console that refuses the first one, one may have been saved up.
    rate = Rate()
    rate.note_refused(0.0, 0.0, None)
    for _ in range(10):
        rate.note_accepted(1.0)
    assert rate.note_refused(1.25, 1.25, None) == pytest.approx(1 / (0.97 * 4 * 9))


CONSOLES = {
    "saves up a second": ({}, 1.15, 0.8),
    "saves up half a second": ({"burst": 0.5}, 1.15, 0.8),
    "saves up nothing": ({"burst": 0}, 1.1, 0.8),
    "saves up nothing, far away": ({"burst": 0, "latency": 0.2}, 1.1, 0.7),
    "has nothing saved up at first": ({"left": 0}, 1.2, 0.8),
}
"""What it does, the requests it may be sent for each needed one, and the least share used."""


@pytest.mark.parametrize("rate", [5, 20, 100])
@pytest.mark.parametrize("retry_after", [None, 1])
@pytest.mark.parametrize(("does", "sent", "share"), CONSOLES.values(), ids=CONSOLES)
def test_a_console_that_counts_requests_is_used_to_the_full(rate, retry_after, does, sent, share):
    requests = max(1000, 50 * rate)
    burst = max(1, int(rate * does.get("burst", 1)))
    console = Bucket(rate, burst, retry_after, **{n: v for n, v in does.items() if n != "burst"})
    spent = seconds_for(console, requests)
    assert console.accepted == requests
    assert len(console.begun) <= sent * requests
    assert spent <= (requests - burst) / rate / share


@pytest.mark.parametrize("retry_after", [None, 1, 30])
def test_a_stall_costs_its_own_time(retry_after):
    spent = seconds_for(Bucket(20, 20, retry_after), 1000)
    stalled = Bucket(20, 20, retry_after, shut=(10, 40))
    later = seconds_for(stalled, 1000) - spent
    assert stalled.accepted == 1000
    assert 28 <= later <= 35
    assert stalled.refused <= 100, "most of the stall is waited for, not asked through"


@pytest.mark.parametrize("workers", [MOST, 500])
@pytest.mark.parametrize("latency", [0.005, 0.2])
@pytest.mark.parametrize("retry_after", [None, 1])
def test_what_is_sent_for_each_needed_one(retry_after, latency, workers):
    console = Bucket(20, 20, retry_after, latency)
    seconds_for(console, 500, workers=workers)
    assert console.accepted == 500
    assert len(console.begun) <= 1.15 * 500


@pytest.mark.parametrize("granted", [None, 4, 100])
@pytest.mark.parametrize("per_second", [0.5, 10])
def test_no_more_are_begun_in_a_second_than_is_set(per_second, granted):
    console = Bucket(granted or 1000, granted or 1000)
    requests = 60
    spent = seconds_for(console, requests, per_second=per_second)
    begun = console.begun
    for window, most in ((1, max(1, per_second)), (10, 10 * per_second)):
        assert max(sum(t <= other < t + window - 1e-6 for other in begun) for t in begun) <= most
    if granted != 4:
        assert spent <= requests / per_second
        assert console.refused == 0


@pytest.mark.parametrize("rate", [5, 20])
def test_a_503_that_says_when_to_come_again_tells_of_a_rate(rate):
    console = Bucket(rate, rate, retry_after=1)
    assert seconds_for(console, 500, status=503) <= 500 / rate / 0.8
    assert console.refused <= 0.2 * 500


def test_cancelled_callers_free_their_places():
    """Of the queue, and of the requests in flight."""

    async def give_up():
        limiter = Limiter()
        first = await limiter.take(limiter, 1)
        others = [asyncio.ensure_future(limiter.take(limiter, 1)) for _ in range(3)]
        await asyncio.sleep(0)
        others[0].cancel()
        limiter.give_back()
        others[1].cancel()
        assert await others[2] >= first and all(one.cancelled() for one in others[:2])
        assert limiter.in_flight == 1
        # The first in the queue gives up; the next may have more requests in flight.
        takes = [limiter.take(limiter, most) for most in (1, 1, 2)]
        blocked, behind, free = map(asyncio.ensure_future, takes)
        for caller, left in ((behind, 2), (blocked, 0)):
            await asyncio.sleep(0)
            caller.cancel()
            await asyncio.sleep(0)
            assert limiter.waiting.callers == left
        assert await free >= first

    asyncio.run(give_up())


def test_all_clients_of_one_console_share_one_limiter():
    async def ask():
        return shared_limiter("https://a"), shared_limiter("https://a"), shared_limiter("https://b")

    first, second, other = asyncio.run(ask())
    assert first is second and other is not first
    assert asyncio.run(ask())[0] is not first, "another event loop cannot wait for this one"


def test_a_limiter_that_callers_waited_for_goes_with_its_loop():
    async def wait_for_a_large_answer():
        lock = shared_limiter("https://a").large_answers
        await lock.acquire()
        asyncio.get_running_loop().call_soon(lock.release)
        async with lock:
            return weakref.ref(asyncio.get_running_loop())

    async def ask_again():
        shared_limiter("https://a")

    loop = asyncio.run(wait_for_a_large_answer())
    asyncio.run(ask_again())
    gc.collect()
    assert loop() is None


def test_a_limiter_does_not_keep_its_loop():
    async def ask():
        assert shared_limiter("https://a").clock() > 0
        return weakref.ref(asyncio.get_running_loop())

    loop = asyncio.run(ask())
    gc.collect()
    assert loop() is None
