"""Doing one thing for many, some at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


async def each(
    items: Sequence[Item], work: Callable[[Item], Awaitable[Result]], limit: int
) -> list[Result]:
    """Return what `work` makes of each item, in order, at most `limit` at a time.

    A few workers share one iterator: fifty thousand items do not become fifty thousand tasks.
    The first exception cancels the rest and is raised.
    """
    if len(items) == 1:
        return [await work(items[0])]
    results: dict[int, Result] = {}
    pending: Iterator[tuple[int, Item]] = iter(enumerate(items))

    async def worker() -> None:
        for index, item in pending:
            results[index] = await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(limit, len(items))):
                group.create_task(worker())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [results[index] for index in range(len(items))]
