"""What the flow control of the client makes of consoles that bear only so much.

Each console is an emulator in a process of its own: a token bucket, answers that take longer the
more requests are in flight, or a stall. The client's goodput (requests done a second) stands beside
the best that a fixed rate, or a fixed number in flight, reaches on the same console in the same
run. Most of the time is spent waiting, so the consoles of one kind are measured side by side.
Run: `python -m benchmarks --only flow`; it takes five minutes.
"""

from __future__ import annotations

import asyncio
import dataclasses
import multiprocessing
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import aiohttp

from opsconsole.emulator.handle import Emulator
from opsconsole.emulator.profiles import profiles
from opsconsole.emulator.running import serve
from opsconsole.errors import ConsoleError
from opsconsole.v1.client import Client
from opsconsole.v1.console import Console
from opsconsole.v1.settings import Settings

MOST = 32
STALL = 30.0
_SHARES = (0.8, 0.9, 1.0, 1.1)
_IN_FLIGHT = (1, 2, 4, 8, 16, 32)
_SWEEP_SECONDS = 4.0


@dataclass(frozen=True)
class Case:
    """One console: its switches, how many requests it gets, and its stall, if any.

    `at_once` is how many requests its bucket holds, one second's where it is None.
    """

    name: str
    requests: int
    rate: int | None = None
    at_once: int | None = None
    retry_after: int | None = None
    latency: float = 0.0
    crowding_microseconds: int = 0
    stall: str = ""


def _buckets(kind: str, size: Callable[[int], int]) -> tuple[Case, ...]:
    return tuple(
        Case(
            f"{rate} a second, {kind}{', Retry-After' if wait else ''}",
            requests,
            rate,
            size(rate),
            wait,
        )
        for rate, requests in ((5, 200), (20, 500), (100, 2000))
        for wait in (None, 1)
    )


BUCKETS = (
    _buckets("saves up a second", lambda rate: rate),
    _buckets("saves up nothing", lambda rate: 1),
    _buckets("saves up two seconds", lambda rate: 2 * rate),
)
CROWDED = tuple(
    Case(
        f"{1000 * latency:g} ms and {crowding / 1000:g} ms times n²",
        1000,
        latency=latency,
        crowding_microseconds=crowding,
    )
    for latency, crowding in ((0.02, 200), (0.02, 5000), (0.05, 50))
)
STALLS = (
    Case("all requests refused (429)", 400, 20, stall="refused"),
    Case("nothing answered", 6000, latency=0.05, stall="stopped"),
)


@dataclass(frozen=True)
class Row:
    """What came of one case.

    `best` is the goodput of the best fixed setting, and `setting` which that was; `extra_seconds`
    is what a stall cost.
    """

    case: Case
    failed: int
    sent: int
    goodput: float
    best: float = 0.0
    setting: str = ""
    extra_seconds: float = 0.0


def _serve(case: Case, pipe: Connection) -> None:
    profile = dataclasses.replace(
        profiles()["default"],
        requests_per_second=case.rate,
        requests_at_once=case.at_once,
        retry_after=case.retry_after,
        crowding_microseconds=case.crowding_microseconds,
    )
    with serve(profile, latency=case.latency) as console:
        row = console.create("blacklists", pattern="rm -rf *")
        pipe.send((console.base_url, console.api_key, row["id"]))
        # It ends when the parent closes its end of the pipe, or ends itself.
        pipe.poll(None)


@asynccontextmanager
async def _console(case: Case) -> AsyncIterator[tuple[BaseProcess, Settings, str]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(case, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        url, key, row = await asyncio.to_thread(ours.recv)
        yield process, Settings(base_url=url, api_key=key, max_concurrency=MOST), row
    finally:
        ours.close()
        await asyncio.to_thread(process.join, 10)


async def _adaptive(settings: Settings, row: str, requests: int) -> tuple[float, int, int]:
    """Return the seconds that all requests took, those that failed, and those that were sent."""
    left = iter(range(requests))
    failed = 0
    async with Client(settings) as client:
        console = Console(client, settings)

        async def work() -> None:
            nonlocal failed
            for _ in left:
                try:
                    await console.get_blacklisted_command(row)
                except ConsoleError:
                    failed += 1

        started = time.monotonic()
        await asyncio.gather(*(work() for _ in range(MOST)))
        return time.monotonic() - started, failed, client.calls.total()


async def _fixed(settings: Settings, row: str, in_flight: int, rate: float | None) -> float:
    """Return the goodput of a fixed number in flight, and a fixed rate where one is given."""
    headers = {"Authorization": f"Bearer {settings.api_key}"}
    url = f"{settings.base_url}/api/v1/blacklists/{row}"
    done = 0
    started = upcoming = time.monotonic()
    ends = started + _SWEEP_SECONDS
    async with aiohttp.ClientSession() as session:

        async def work() -> None:
            nonlocal done, upcoming
            while (now := time.monotonic()) < ends:
                if rate is not None:
                    mine = upcoming = max(upcoming, now - 1 / rate) + 1 / rate
                    await asyncio.sleep(mine - now)
                async with session.get(url, headers=headers) as response:
                    await response.read()
                    done += response.status == 200
                    asked = response.headers.get("Retry-After")
                if asked is not None:
                    upcoming = max(upcoming, time.monotonic() + float(asked))

        await asyncio.gather(*(work() for _ in range(in_flight)))
    return done / (time.monotonic() - started)


async def _compared(case: Case) -> Row:
    async with _console(case) as (_, settings, row):
        seconds, failed, sent = await _adaptive(settings, row, case.requests)
        goodputs: dict[str, float] = {}
        for share in _SHARES if case.rate else ():
            rate = share * (case.rate or 0)
            goodputs[f"{rate:g} a second"] = await _fixed(settings, row, MOST, rate)
        for count in () if case.rate else _IN_FLIGHT:
            goodputs[f"{count} in flight"] = await _fixed(settings, row, count, None)
    best = max(goodputs, key=goodputs.__getitem__)
    goodput = (case.requests - failed) / seconds
    return Row(case, failed, sent, goodput, goodputs[best], best)


async def _stalled(case: Case) -> Row:
    async with _console(case) as (process, settings, row):
        plain, _, _ = await _adaptive(settings, row, case.requests // 2)
        running = asyncio.create_task(_adaptive(settings, row, case.requests))
        await asyncio.sleep(5)
        await _stall(case, process, settings)
        seconds, failed, sent = await running
    return Row(case, failed, sent, case.requests / seconds, extra_seconds=seconds - 2 * plain)


async def _stall(case: Case, process: BaseProcess, settings: Settings) -> None:
    emulator = Emulator(settings.base_url, settings.api_key or "", profiles()["default"])
    if case.stall == "refused":
        await asyncio.to_thread(emulator.fault, times=None, status=429, path="^/api/")
        await asyncio.sleep(STALL)
        await asyncio.to_thread(emulator.clear_faults)
    else:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(STALL)
        finally:
            os.kill(process.pid, signal.SIGCONT)


async def _all() -> list[Row]:
    found: list[Row] = []
    measures: tuple[tuple[tuple[Case, ...], Callable[[Case], Awaitable[Row]]], ...] = (
        *((cases, _compared) for cases in BUCKETS),
        (CROWDED, _compared),
        (STALLS, _stalled),
    )
    for cases, measure in measures:
        found += await asyncio.gather(*(measure(case) for case in cases))
    return found


def rows() -> list[Row]:
    """Measure every case."""
    return asyncio.run(_all())
