"""When a plugin process ends: the client says so, goes away, dies, or a signal asks for it.

Waiting for the first of these belongs here; cleaning up does not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal

from opsconsole.terraform.calls import Activity
from opsconsole.terraform.transport import PluginServer

_FIRST_CONNECTION = 60.0
"""Seconds; go-plugin waits as long for a plugin to start."""
_NEXT_CONNECTION = 3.0
_POLL = 1.0
_LAST_CALLS = 1.0
"""Seconds that calls in flight get after a shutdown; go-plugin kills after two."""

log = logging.getLogger(__name__)


async def wait_for_shutdown(
    server: PluginServer, shutdown: asyncio.Event, activity: Activity, parent: int
) -> None:
    """Wait for a reason to end, and for the calls in flight where someone hears their answers.

    `parent` is the process that started this one: after its end nobody does.
    """
    terminated = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminated.set)
    reasons = {
        asyncio.create_task(_shut_down(shutdown, activity)): "the client asked for it",
        asyncio.create_task(_terminated(terminated, activity)): "terminated, nothing in flight",
        asyncio.create_task(_ended(parent)): "the client's process ended",
        asyncio.create_task(
            server.wait_until_idle(_FIRST_CONNECTION, _NEXT_CONNECTION)
        ): "no client",
    }
    done, pending = await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    for task in done:
        task.result()
        log.debug("ending: %s", reasons[task])


async def _shut_down(shutdown: asyncio.Event, activity: Activity) -> None:
    await shutdown.wait()
    try:
        await asyncio.wait_for(activity.idle(), _LAST_CALLS)
    except TimeoutError:
        log.warning("shut down with calls in flight")


async def _terminated(terminated: asyncio.Event, activity: Activity) -> None:
    """Obey SIGTERM, which a whole process group may get, once no answer would be lost by it."""
    await terminated.wait()
    await activity.idle()


async def _ended(parent: int) -> None:
    """Wait for the end of the process that started this one."""
    if os.getppid() != parent:
        return
    if not hasattr(os, "pidfd_open"):
        while os.getppid() == parent:  # noqa: ASYNC110  # no event tells of it on this system
            await asyncio.sleep(_POLL)
        return
    handle = os.pidfd_open(parent)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, ended.set)
    try:
        if os.getppid() == parent:
            await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
