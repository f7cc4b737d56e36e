"""What the commands of a world run on: virtual time, a line to the console, a machine."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import getpass
import os
import random
import secrets
import signal
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import uvloop
from yarl import URL

import opsconsole.cli.main
from consoles import Answer, Session, call
from opsconsole.emulator import API_KEY
from opsconsole.errors import AnswerLost
from opsconsole.state import journal, opening
from opsconsole.v1 import transport
from simulated_disk import Killed
from virtual_time import VirtualLoop

if TYPE_CHECKING:
    from simulation import World

EPOCH = 1_750_000_000.0
ORIGIN = "http://127.0.0.1:9"
# The first use in a process tries the folder with a file, which would be points of one world.
tempfile.gettempdir()
_ALL_TASKS = asyncio.all_tasks
_PARSER_OF = cache(opsconsole.cli.main.build_parser)
"""Making parsers would be a fifth of the time."""


class NumberedTask(asyncio.Task[Any]):
    """A task whose place in a set follows from its number: addresses differ by process."""

    def __init__(self, number: int, work: Coroutine[Any, Any, Any], **options: Any) -> None:
        self._number = number  # Before the constructor puts the task into a set.
        super().__init__(work, **options)

    def __hash__(self) -> int:
        return self._number


def _sorted_tasks(loop: asyncio.AbstractEventLoop) -> list[asyncio.Task[Any]]:
    """Return the tasks of a loop; a set that grew in another world has another order."""
    return sorted(_ALL_TASKS(loop), key=hash)


class WorldLoop(VirtualLoop):
    """The loop of one process of a world."""

    def __init__(self, world: World) -> None:
        super().__init__(world.clock, world.delay)
        self.set_task_factory(self._make_task)
        self.set_exception_handler(lambda *_: None)
        self.world = world
        if world.process is not None:
            world.process.loop = self

    def _make_task(self, _loop: object, work: Any, **options: Any) -> NumberedTask:
        return NumberedTask(next(self.world.task_numbers), work, loop=self, **options)

    def close(self) -> None:
        """End every task first: a dead process must not wake up in another's time."""
        for _ in range(50):
            tasks = _sorted_tasks(self)
            if self.is_closed() or not tasks:
                break
            for task in tasks:
                if task not in self.world.served:
                    task.cancel()
            with contextlib.suppress(Killed, RuntimeError):
                self.run_until_complete(asyncio.wait(tasks))
        if self.world.process is not None and self.world.process.loop is self:
            self.world.process.loop = None
        super().close()


class Line(Session):
    """The line from a process to the console."""

    def __init__(self, world: World, headers: Mapping[str, str]) -> None:
        super().__init__(headers)
        self._world = world
        assert world.process is not None
        self._process = world.process

    async def answer(
        self, method: str, url: URL, headers: list[tuple[bytes, bytes]], content: bytes
    ) -> Answer:
        """Let the console answer, unless the process is dead by then."""
        world, process = self._world, self._process
        lost = AnswerLost("The connection was closed without an answer (simulated).")
        target = url.raw_path_qs
        process.point(f"before {method} {target}")
        await asyncio.sleep(world.delay())
        if process.dead:
            raise Killed
        world.observe(process, method, target, content)
        if world.loses_request(method, target, headers, content):
            raise lost
        # The console finishes what it has begun, whatever becomes of the process.
        serving = asyncio.ensure_future(call(world.application, method, target, headers, content))
        world.served.add(serving)
        serving.add_done_callback(world.served.discard)
        answer = await asyncio.shield(serving)
        await asyncio.sleep(world.delay())
        process.point(f"after {method} {target}")
        if answer is None:
            raise lost
        return answer


def _replace_for_this_thread(
    patch: pytest.MonkeyPatch, module: ModuleType, name: str, function: Callable[..., Any]
) -> None:
    """Replace a function of a module, except for threads that other tests left behind."""
    thread, real = threading.get_ident(), getattr(module, name)

    def call_own(*args: Any, **named: Any) -> Any:
        chosen = function if threading.get_ident() == thread else real
        return chosen(*args, **named)

    patch.setattr(module, name, call_own)


@contextlib.contextmanager
def machine_of(world: World) -> Iterator[pytest.MonkeyPatch]:
    """Put time, chance, disk and network of this process in the world's hands."""
    chance = random.Random(world.seed)
    with pytest.MonkeyPatch.context() as patch, world.disk.watched():
        replace = partial(_replace_for_this_thread, patch)
        replace(time, "time", lambda: EPOCH + world.clock.now)
        replace(time, "monotonic", lambda: world.clock.now)
        replace(time, "sleep", world.clock.advance)
        replace(secrets, "token_hex", lambda size=32: chance.randbytes(size).hex())
        replace(os, "urandom", chance.randbytes)
        replace(uuid, "uuid4", lambda: uuid.UUID(int=chance.getrandbits(128), version=4))
        replace(random, "random", random.Random(world.seed).random)
        # The garbage collector of a command may do as it likes; this process lives longer.
        patch.setattr(gc, "freeze", lambda: None)
        patch.setattr(signal, "signal", lambda *_: None)
        patch.setattr(getpass, "getuser", lambda: "user")
        patch.setattr(socket, "gethostname", lambda: "machine")
        # The usual room takes a memory file system a third of a world's time.
        patch.setattr(journal, "_ROOM_AHEAD", 1 << 17)
        patch.setattr(journal, "_MIN_ROOM", 1 << 16)
        patch.setattr(opsconsole.cli.main, "build_parser", _PARSER_OF)
        patch.setattr(uvloop, "new_event_loop", lambda: WorldLoop(world))
        patch.setattr(asyncio.events, "new_event_loop", lambda: WorldLoop(world))
        patch.setattr(asyncio.tasks, "all_tasks", _sorted_tasks)
        patch.setattr(transport, "open_session", lambda _, __, headers, ___: Line(world, headers))
        patch.setattr(opening, "native_backend", world.open_place)
        for name in [name for name in os.environ if name.startswith(("OPSCONSOLE_", "TF_"))]:
            patch.delenv(name)
        patch.setenv("OPSCONSOLE_BASE_URL", ORIGIN)
        patch.setenv("OPSCONSOLE_API_KEY", API_KEY)
        patch.setenv("NO_COLOR", "1")
        patch.chdir(world.folder)
        patch.setattr(tempfile, "tempdir", str(world.folder))
        yield patch
