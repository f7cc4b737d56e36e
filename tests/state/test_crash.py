"""The process is killed at every file operation of a run, halfway through every write."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from extent import EVERYTHING
from forked_runs import Forks, forks_of
from opsconsole.journal_files import journal_of
from opsconsole.state.model import State

RUN = r"""
import asyncio, os, signal
from pathlib import Path
from opsconsole.errors import UserError
from opsconsole.state.backend import LocalBackend
from opsconsole.state.objects import InstanceObject
from opsconsole.state.opening import open_state

OPERATIONS = (
    "pwrite", "ftruncate", "fsync", "fdatasync", "posix_fallocate", "unlink", "replace"
)
calls = 0

def killing(name, kill_at):
    real = getattr(os, name)
    def call(*args, **named):
        global calls
        calls += 1
        if calls == kill_at:
            if name == "pwrite":
                real(args[0], bytes(args[1])[: len(args[1]) // 2], args[2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **named)
    setattr(os, name, call)

def item(number):
    name = f"host-{number:03d}" + "x" * 40 * (number % 3)
    return InstanceObject("provider[p]", {"id": f"hst_{number:03d}", "name": name})

async def change(session, begin, end):
    for number in range(begin, end):
        made = session.intend(f"x.h{number:03d}", "create", {"number": number})
        await session.flush()
        print("called", number, flush=True)
        session.state.put(f"x.h{number:03d}", item(number))
        if number % 4 == 3:
            session.state.remove(f"x.h{number - 1:03d}")
        session.record(settles=[made])
        await session.flush()
        print("durable", number, flush=True)
        if number % 3 == 0:
            await session.checkpoint()

def run(kill_at, begin, end):
    for name in OPERATIONS:
        killing(name, int(kill_at))
    with open_state(LocalBackend(Path("terraform.tfstate"))) as session:
        left = [call.details["number"] for call in session.unresolved]
        print("unresolved", *left, flush=True)
        print("state", *[a.name for a in session.state.addresses()], flush=True)
        asyncio.run(change(session, int(begin), int(end)))
    print("calls", calls, flush=True)
"""

FIRST, LAST = 4, 12


class Crash:
    """Runs the program above in a folder of its own, and reads what it said."""

    def __init__(self, forks: Forks, folder: Path) -> None:
        self.forks = forks
        self.folder = folder

    def run(self, kill_at: int, begin: int, end: int) -> tuple[int, dict[str, list[str]]]:
        ended = self.forks.run(str(kill_at), str(begin), str(end), folder=self.folder)
        assert ended.err == "", ended.err
        said: dict[str, list[str]] = {"called": [], "durable": [], "state": [], "unresolved": []}
        for line in ended.out.splitlines():
            word, *rest = line.split()
            said.setdefault(word, []).extend(rest)
        return ended.code, said


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """Processes that change a state."""
    with forks_of(RUN) as forks:
        yield forks


@pytest.fixture
def crash(forks: Forks, tmp_path: Path) -> Crash:
    """The program above in an empty folder."""
    return Crash(forks, tmp_path)


def expected(durable: set[int]) -> set[str]:
    """The hosts that must be in state after these steps: every fourth removes the one before."""
    return {
        f"h{number:03d}" for number in durable if not (number % 4 == 2 and number + 1 in durable)
    }


def operations(crash: Crash) -> int:
    _, said = crash.run(0, 0, FIRST)
    assert said["calls"] != []
    code, said = crash.run(0, FIRST, LAST)
    assert code == 0
    return int(said["calls"][0])


EVERY = 1 if EVERYTHING else 5
"""One of so many points is taken."""


@pytest.mark.crash
def test_nothing_is_lost_wherever_the_process_dies(crash: Crash, tmp_path: Path) -> None:
    total = operations(crash)
    assert total >= 50
    points = range(1, total + 1, EVERY)
    for kill_at in points:
        for path in tmp_path.iterdir():
            path.unlink()
        crash.run(0, 0, FIRST)
        code, said = crash.run(kill_at, FIRST, LAST)
        assert code == -9, kill_at
        durable = {*range(FIRST), *map(int, said["durable"])}
        asked = set(map(int, said["called"])) - durable
        code, after = crash.run(0, LAST, LAST)
        assert code == 0
        state = set(after["state"])
        maybe = {f"h{number:03d}" for number in asked}
        assert expected(durable) - {f"h{number - 1:03d}" for number in asked} <= state, kill_at
        assert state <= expected(durable) | maybe, kill_at
        told = set(map(int, after["unresolved"]))
        for number in asked:
            assert (f"h{number:03d}" in state) != (number in told), kill_at
        assert not journal_of(tmp_path / "terraform.tfstate").exists()
        written = State.parse((tmp_path / "terraform.tfstate").read_bytes())
        assert {address.name for address in written.addresses()} == state


def test_folding_survives_being_killed_as_often_as_you_like(crash: Crash, tmp_path: Path) -> None:
    total = operations(crash)
    for path in tmp_path.iterdir():
        path.unlink()
    crash.run(0, 0, FIRST)
    _, said = crash.run(total - 12, FIRST, LAST)
    durable = {*range(FIRST), *map(int, said["durable"])}
    for kill_at in itertools.count(1):
        code, after = crash.run(kill_at, LAST, LAST)
        if code == 0:
            break
        assert kill_at < 40
    assert expected(durable) <= set(after["state"])
