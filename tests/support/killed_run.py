"""Commands that are killed at one of the things that they do outside of themselves.

A point is before a request, after its answer, before a file operation, or halfway through a write.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from forked_runs import Forks, forks_of
from opsconsole.cli.main import main
from opsconsole.standin.main import main as standin
from opsconsole.state import opening
from opsconsole.state.session import Cadence
from opsconsole.v1.transport import Reply, Transport
from simulated_disk import Disk


class MortalProcess:
    """Kills this process at the point of a number; 0: at none. `Disk` calls its points."""

    def __init__(self, dies_at: int) -> None:
        self.files: dict[int, int] = {}
        self._left = dies_at
        self._lock = threading.Lock()

    def point(self, _name: str, half: Callable[[], object] = lambda: None) -> None:
        """Pass a point, or die there, with what `half` does done."""
        with self._lock:
            self._left -= 1
            if not self._left:
                half()
                # With the lock held: no other thread does anything more.
                os.kill(os.getpid(), signal.SIGKILL)

    def fail_on_disk(self) -> None:
        """Let every operation on a file succeed."""


def run(point: str, program: str, *words: str) -> NoReturn:
    """Run `opsconsole` or the stand-in in this process, and kill it at a point."""
    process = MortalProcess(int(point))
    real = Transport.send

    async def send(self: Transport, method: str, url: str, *rest: Any) -> Reply:
        process.point("before the request")
        reply = await real(self, method, url, *rest)
        process.point("after the answer")
        return reply

    Transport.send = send  # type: ignore[method-assign]  # nobody else may hear of the points
    # Writes of the state are to fall between all kinds of requests.
    opening.Cadence = partial(Cadence, changes=8, share=1.0)  # type: ignore[misc,assignment]
    with Disk(lambda: process).watched():
        sys.exit((standin if program == "opsconsole-terraform" else main)(words))


def mortal_commands() -> AbstractContextManager[Forks]:
    """Start the process whose forks run both commands: `run(point, program, *words, folder=…)`."""
    folder = str(Path(__file__).parent)
    return forks_of(f"import sys; sys.path.insert(0, {folder!r})\nfrom killed_run import run")
