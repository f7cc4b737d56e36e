"""The limiter against consoles of every temper, in time that passes only by waiting for it."""

from __future__ import annotations

import asyncio

import pytest

from opsconsole.v1.capacity import Pace
from opsconsole.v1.limiter import Limiter, shared_limiter

MOST = 32


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer instead of waiting for it."""

    def __init__(self):
        super().__init__()
        self.now = 0.0
        select = self._selector.select

        def jump(timeout=None):
            assert timeout is not None, "everybody waits for something that never comes"
            self.now += timeout
            return select(0)

        self._selector.select = jump

    def time(self):
        return self.now


class Bucket:
    """A console that grants `rate` requests a second and saves up `burst` of them."""

    def __init__(self, rate, burst, retry_after=None, latency=0.005, shut=(0, 0), left=None):
        self.rate, self.burst, self.retry_after = rate, burst, retry_after
        self.latency, self.shut = latency, shut
        self.left, self.at = burst if left is None else left, 0.0
        self.accepted = self.refused = 0

    async def answer(self):
        now = asyncio.get_running_loop().time()
        self.left = min(self.burst, self.left + (now - self.at) * self.rate)
        self.at = now
        good = self.left >= 1 and not self.shut[0] <= now < self.shut[1]
        self.left -= good
        self.accepted += good
        self.refused += not good
        await asyncio.sleep(self.latency)
        return good


class Crowded:
    """A console whose answers take longer the more requests it has in flight."""

    retry_after = None

    def __init__(self, seconds):
        self.seconds = seconds
        self.in_flight = self.most_in_flight = 0

    async def answer(self):
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(self.seconds(self.in_flight))
        self.in_flight -= 1
        return True


def seconds_for(console, requests, fixed=None, status=429):
    """Return how long `requests` take, with the limiter, or with a fixed number in flight.

    What the console does not accept it refuses with `status`.
    """
    loop = VirtualLoop()

    async def spend():
        limiter = Limiter(clock=loop.time)
        left = iter(range(requests))

        async def call():
            slot = await limiter.take(limiter, MOST)
            good = await console.answer()
            if good:
                limiter.answered(slot, "read", MOST)
            elif status == 429:
                limiter.refused(slot, console.retry_after)
            else:
                limiter.overloaded(slot, console.retry_after)
            limiter.give_back(slot)
            return good

        async def work():
            for _ in left:
                while not await (console.answer() if fixed else call()):
                    pass

        await asyncio.gather(*(work() for _ in range(fixed or MOST)))
        assert limiter.in_flight == 0
        return loop.time()

    try:
        return loop.run_until_complete(spend())
    finally:
        loop.close()


@pytest.mark.parametrize("rate", [5, 20, 100])
@pytest.mark.parametrize("retry_after", [None, 1])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_console_that_counts_requests_is_used_to_the_full(rate, retry_after, share):
    requests = max(500, 20 * rate)
    console = Bucket(rate, max(1, int(rate * share)), retry_after)
    spent = seconds_for(console, requests)
    assert console.accepted == requests
    assert console.accepted + console.refused <= 1.2 * requests
    assert spent <= (requests - console.burst) / rate / 0.8


@pytest.mark.parametrize("rate", [5, 20, 100])
@pytest.mark.parametrize("retry_after", [None, 1])
@pytest.mark.parametrize(("latency", "share"), [(0.005, 0.8), (0.2, 0.7)])
def test_a_console_that_saves_up_nothing(rate, retry_after, latency, share):
    console = Bucket(rate, 1, retry_after, latency)
    spent = seconds_for(console, max(1000, 50 * rate))
    assert console.refused <= 0.1 * console.accepted
    assert spent <= console.accepted / rate / share


@pytest.mark.parametrize("rate", [5, 20])
@pytest.mark.parametrize("retry_after", [None, 1])
def test_a_console_that_has_nothing_saved_up_at_first(rate, retry_after):
    console = Bucket(rate, rate, retry_after, left=0)
    spent = seconds_for(console, 500)
    assert console.refused <= 0.2 * console.accepted
    assert spent <= console.accepted / rate / 0.8


def test_the_rate_does_not_grow_while_nothing_is_sent():
    pace = Pace()
    pace.sent(0.0)
    pace.refused(0.0, 0.1, None)
    for sent in (1.0, 1.1, 1.2):
        pace.sent(sent)
        pace.accepted(sent)
    pace.sent(1.3)
    pace.refused(1.3, 1.4, 1.0)
    before = pace.rate(2.5)
    pace.sent(100.0)
    assert before * 0.99 <= pace.rate(100.0) <= 1.1 * before


@pytest.mark.parametrize("retry_after", [None, 1, 30])
def test_a_stall_costs_its_own_time(retry_after):
    spent = seconds_for(Bucket(20, 20, retry_after), 1000)
    stalled = Bucket(20, 20, retry_after, shut=(10, 40))
    later = seconds_for(stalled, 1000) - spent
    assert stalled.accepted == 1000
    assert 28 <= later <= 35
    assert stalled.refused <= 100, "most of the stall is waited for, not asked through"


SLOWER_BY_SQUARE = {
    "best with ten": lambda n: 0.02 + 0.0002 * n**2,
    "best with two": lambda n: 0.02 + 0.005 * n**2,
    "best with one": lambda n: 0.001 + 0.001 * n**2,
    "best with all": lambda n: 0.05 + 0.00005 * n**2,
}
OTHERS = {"never slower": lambda n: 0.05, "four workers": lambda n: 0.05 * max(1, n / 4)}


@pytest.mark.parametrize(
    "seconds",
    [*SLOWER_BY_SQUARE.values(), *OTHERS.values()],
    ids=[*SLOWER_BY_SQUARE, *OTHERS],
)
def test_as_much_is_done_as_with_the_best_number_in_flight(seconds):
    best = min(seconds_for(Crowded(seconds), 600, fixed=n) for n in (1, 2, 8, 11, 16, 32))
    console = Crowded(seconds)
    assert seconds_for(console, 600) <= best / 0.8
    assert console.most_in_flight <= MOST


def test_an_overloaded_console_gets_half_as_many_requests_once_for_all_in_flight():
    async def overload():
        limiter = Limiter()
        slots = [await limiter.take(limiter, MOST) for _ in range(8)]
        for slot in slots:
            limiter.overloaded(slot)
            limiter.give_back(slot)
        taken = [asyncio.ensure_future(limiter.take(limiter, MOST)) for _ in range(6)]
        await asyncio.sleep(0)
        assert [one.done() for one in taken] == [True] * 4 + [False] * 2
        assert limiter.waiting.callers == 2
        limiter.wake(limiter)
        assert [await one for one in taken[4:]] == [None, None]

    asyncio.run(overload())


@pytest.mark.parametrize("rate", [5, 20])
def test_a_503_that_says_when_to_come_again_tells_of_a_rate(rate):
    console = Bucket(rate, rate, retry_after=1)
    assert seconds_for(console, 500, status=503) <= 500 / rate / 0.8
    assert console.refused <= 0.2 * 500


def test_callers_that_give_up_leave_their_place_in_the_queue_and_among_those_in_flight():
    async def give_up():
        limiter = Limiter()
        first = await limiter.take(limiter, 1)
        others = [asyncio.ensure_future(limiter.take(limiter, 1)) for _ in range(3)]
        await asyncio.sleep(0)
        others[0].cancel()
        limiter.give_back(first)
        others[1].cancel()
        assert isinstance(await others[2], type(first))
        assert limiter.in_flight == 1
        assert limiter.waiting.callers == 0

    asyncio.run(give_up())


def test_all_clients_of_one_console_share_one_limiter():
    async def ask():
        return shared_limiter("https://a"), shared_limiter("https://a"), shared_limiter("https://b")

    first, second, other = asyncio.run(ask())
    assert first is second
    assert other is not first
    assert asyncio.run(ask())[0] is not first, "another event loop cannot wait for this one"
