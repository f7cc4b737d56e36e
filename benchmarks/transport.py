"""What the client costs beside bare aiohttp, and httpx beside both.

Every one makes the same GET calls to the same server, a child process on loopback that answers at
once, in one run; compare the ratios, as the figures differ from machine to machine.
Run: `python benchmarks/transport.py`.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

import aiohttp
import httpx

from opsconsole.v1.client import Client
from opsconsole.v1.console import Console
from opsconsole.v1.settings import Settings

REQUESTS = 1000
ROUNDS = 6
ROUNDS_OF_ALL = 2
"""In the first rounds all are measured; in the others only OURS and BARE, whose ratio has a limit.

The other figures are the best of fewer rounds, so their ratios are a little low.
"""
IN_FLIGHT = (8, 64)
KEY = "svc_ak_benchmark"
PATH = "/api/v1/blacklists/blk_1"
OURS = "the client"
BARE = "bare aiohttp"
_BODY = json.dumps(
    {"id": "blk_1", "pattern": "rm -rf *", "org_id": None, "tenant_id": "ten_1"}
).encode()
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
    len(_BODY),
    _BODY,
)

Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Row:
    """One line of the table: the best of several rounds."""

    transport: str
    in_flight: int
    requests_per_second: float
    cpu_milliseconds: float


class _Answering(asyncio.Protocol):
    """Answers each request with the same bytes; requests without a body only."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        if requests:
            self._transport.write(_ANSWER * len(requests))  # type: ignore[attr-defined]  # a socket's


def _serve(pipe: Connection) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(_Answering, "127.0.0.1", 0, backlog=256)
        pipe.send(server.sockets[0].getsockname()[1])
        # The parent's end of the pipe closes when the parent ends, however it ends.
        stopped = asyncio.Event()
        loop.add_reader(pipe.fileno(), stopped.set)
        await stopped.wait()
        server.close()

    asyncio.run(main())


@asynccontextmanager
async def _httpx(url: str, in_flight: int) -> AsyncIterator[Call]:
    headers = {"Authorization": f"Bearer {KEY}"}
    limits = httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    async with httpx.AsyncClient(limits=limits, trust_env=False) as client:

        async def call() -> object:
            return (await client.get(url + PATH, headers=headers)).json()

        yield call


@asynccontextmanager
async def _aiohttp(url: str, in_flight: int) -> AsyncIterator[Call]:
    headers = {"Authorization": f"Bearer {KEY}"}
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def call() -> object:
            async with session.get(url + PATH, headers=headers) as response:
                return await response.json()

        yield call


@asynccontextmanager
async def _client(url: str, in_flight: int) -> AsyncIterator[Call]:
    settings = Settings(base_url=url, api_key=KEY, max_concurrency=in_flight)
    async with aclosing(Client(settings)) as client:
        console = Console(client, settings)
        yield lambda: console.call("blacklist_get", "blk_1")


_TRANSPORTS: dict[str, Callable[[str, int], AbstractAsyncContextManager[Call]]] = {
    "httpx": _httpx,
    OURS: _client,
    BARE: _aiohttp,
}


async def _spend(call: Call, requests: int, in_flight: int) -> None:
    left = iter(range(requests))

    async def worker() -> None:
        for _ in left:
            await call()

    await asyncio.gather(*(worker() for _ in range(in_flight)))


async def _measure(name: str, url: str, in_flight: int, requests: int) -> Row:
    async with _TRANSPORTS[name](url, in_flight) as call:
        await _spend(call, 4 * in_flight, in_flight)
        started, cpu = time.perf_counter(), _cpu_seconds()
        await _spend(call, requests, in_flight)
        rate = requests / (time.perf_counter() - started)
        return Row(name, in_flight, rate, 1000 * (_cpu_seconds() - cpu) / requests)


def _best_row(rounds: list[Row]) -> Row:
    first = rounds[0]
    rate = max(row.requests_per_second for row in rounds)
    return Row(first.transport, first.in_flight, rate, min(row.cpu_milliseconds for row in rounds))


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def rows(requests: int = REQUESTS) -> list[Row]:
    """Measure every transport at every number in flight; takes some fifteen seconds."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    theirs.close()
    try:
        url = f"http://127.0.0.1:{ours.recv()}"
        found: list[Row] = []
        for in_flight in IN_FLIGHT:
            measured: dict[str, list[Row]] = {name: [] for name in _TRANSPORTS}
            # One after the other in each round: what else the machine does meets all of them.
            for number in range(ROUNDS):
                for name in _TRANSPORTS if number < ROUNDS_OF_ALL else (OURS, BARE):
                    row = asyncio.run(_measure(name, url, in_flight, requests))
                    measured[name].append(row)
            found += map(_best_row, measured.values())
        return found
    finally:
        ours.close()
        server.join(5)


def table(measured: list[Row]) -> str:
    """Return the rows as text; ratios are to bare aiohttp at the same number in flight."""
    lines = [f"{'transport':<32}{'in flight':>10}{'requests/s':>12}{'CPU ms':>8}{'ratio':>7}"]
    bare = {row.in_flight: row for row in measured if row.transport == BARE}
    for row in measured:
        ratio = row.requests_per_second / bare[row.in_flight].requests_per_second
        lines.append(
            f"{row.transport:<32}{row.in_flight:>10}{row.requests_per_second:>12,.0f}"
            f"{row.cpu_milliseconds:>8.2f}{ratio:>7.2f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(rows()))
