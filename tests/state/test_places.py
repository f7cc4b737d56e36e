"""One state by any path: one lock, one journal, and nothing twice, wherever a run is killed."""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines import Run
from forked_runs import Forks, forks_of
from opsconsole.emulator import Emulator
from opsconsole.errors import TRY_LATER
from opsconsole.state.backend import LocalBackend, RunOptions
from opsconsole.state.opening import open_state
from sampling import EVERYTHING

RUN = """
import sys
sys.path.insert(0, {support!r})
from killed_run import Points, watch_files, watch_requests, write_often
from opsconsole.cli.main import main

def run(point, *words):
    write_often()
    points = Points(int(point))
    watch_files(points)
    watch_requests(points)
    sys.exit(main(words))
"""

NAMES = ("a", "b", "c")
WAYS = {
    "path": ("work", "work/terraform.tfstate"),
    "link": ("work", "link.tfstate"),
    "link to a link": ("work", "folder/second.tfstate"),
    "link to the folder": ("work", "folder/terraform.tfstate"),
    "dots": ("work", "folder/sub/../terraform.tfstate"),
    "elsewhere": ("other", "../work/terraform.tfstate"),
    "hard link": ("work", "hard.tfstate"),
    "mount": ("other", "mounted.tfstate"),
}
"""The working directory and the path of the state, for each way to the state."""
SECOND_NAMES = ("hard link", "mount")
MOST_POINTS = 110
"""A run that nothing kills passes about so many."""


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """Processes that run a command and are killed at a point."""
    with forks_of(RUN.format(support=str(Path(__file__).parents[1] / "support"))) as forks:
        yield forks


class Places:
    """One state with many paths, a program in two working directories, and what was run there."""

    def __init__(self, root: Path, forks: Forks, console: Emulator) -> None:
        self.root, self.forks, self.console = root, forks, console
        self.said: list[str] = []
        self.mounted = False
        program = {
            "provider": {"opsconsole": [console.provider_settings]},
            "resource": {
                "opsconsole_host": {name: {"name": name} for name in NAMES},
                "opsconsole_agent": {
                    name: {
                        "name": name,
                        "host_id": f"${{opsconsole_host.{name}.id}}",
                        "specialty_id": "spc_linux",
                    }
                    for name in NAMES
                },
            },
        }
        for folder in ("work", "other", "work/sub"):
            (root / folder).mkdir()
            (root / folder / "main.tf.json").write_text(json.dumps(program))
        self.state = root / "work" / "terraform.tfstate"
        self.state.touch()
        (root / "link.tfstate").symlink_to("work/terraform.tfstate")
        (root / "folder").symlink_to("work")
        (root / "work" / "second.tfstate").symlink_to("../link.tfstate")

    def make(self, way: str) -> None:
        """Give the state a second name, where a way needs one."""
        path = self.root / WAYS[way][1]
        if way == "hard link":
            os.link(self.state, path)
        elif way == "mount":
            path.touch()
            made = subprocess.run(["mount", "--bind", self.state, path], capture_output=True)
            if made.returncode:
                pytest.skip("mounting is not allowed here")
            self.mounted = True

    def clear(self) -> None:
        """Take the mount away."""
        if self.mounted:
            subprocess.run(["umount", self.root / WAYS["mount"][1]], check=True)

    def path(self, way: str) -> Path:
        """Return the path of the state by a way."""
        folder, path = WAYS[way]
        return self.root / (f"{folder}/{path}" if path.startswith("..") else path)

    def run(self, way: str, *words: str, point: int = 0) -> Run:
        """Run a command by a way; it is killed at `point`, unless that is 0."""
        folder, path = self.root / WAYS[way][0], self.path(way)
        words = (words[0], f"--state={path}", *words[1:])
        killed = f"  # killed at point {point}" if point else ""
        self.said.append(f"(cd {folder} && opsconsole {shlex.join(words)}){killed}")
        environment = {**os.environ, **self.console.environment}
        return self.forks.run(str(point), *words, folder=folder, environment=environment)

    def counts(self, collection: str) -> Counter[str]:
        """Return how many of each declared name the console has."""
        rows = self.console.rows(collection)
        return Counter(row["name"] for row in rows if row["name"] in NAMES)


@pytest.fixture
def places(tmp_path: Path, forks: Forks, console_of: object) -> Iterator[Places]:
    """A state with many paths, on an empty console."""
    found = Places(tmp_path, forks, console_of("extended"))  # type: ignore[operator]  # a fixture
    try:
        yield found
    finally:
        found.clear()


@pytest.mark.meetings
@pytest.mark.parametrize("seed", range(2_000 if EVERYTHING else 10))
def test_one_state_by_any_path(places, seed):
    chosen = random.Random(seed)
    ways = chosen.sample(list(WAYS), 3)
    if seed % 5 < len(SECOND_NAMES):
        ways[0] = SECOND_NAMES[seed % 5]
    try:
        walk(places, ways, chosen)
    except AssertionError as error:
        steps = "\n  ".join(places.said)
        again = f".venv/bin/pytest 'tests/state/test_places.py::test_one_state_by_any_path[{seed}]'"
        raise AssertionError(f"{error}\nSteps:\n  {steps}\nAgain:\n  {again}") from error


def walk(places: Places, ways: list[str], chosen: random.Random) -> None:
    """Kill applies that reach the state by these ways, end with one that is not killed, look."""
    for way in dict.fromkeys(ways):
        places.make(way)
    journal: tuple[str, ...] = ()
    if set(ways) & set(SECOND_NAMES):
        way = next(way for way in ways if way in SECOND_NAMES)
        refused = places.run(way, "apply", "--auto-approve")
        assert refused.code == 1
        assert "--journal=FILE" in refused.err
        assert places.console.requests() == []
        journal = (f"--journal={places.state}.opsconsole-journal",)
    own = Path(journal[0].partition("=")[2]) if journal else None
    first, second = chosen.sample(ways, 2)
    with open_state(LocalBackend(places.path(first), RunOptions(journal=own))):
        refused = places.run(second, "apply", "--auto-approve", *journal)
        assert refused.code == TRY_LATER
        assert "is locked by" in refused.err
        assert places.console.requests() == []
    for _ in range(chosen.randint(1, 3)):
        point = chosen.randint(1, MOST_POINTS)
        places.run(chosen.choice(ways), "apply", "--auto-approve", *journal, point=point)
        assert max([*places.counts("hosts").values(), 0]) <= 1, "a host was created twice"
        assert max([*places.counts("agents").values(), 0]) <= 1, "an agent was created twice"
    last = places.run(chosen.choice(ways), "apply", "--auto-approve", *journal)
    assert last.code in (0, 1), last.err
    made = {kind: places.counts(f"{kind}s") for kind in ("host", "agent")}
    if last.code == 0:
        assert made == {"host": Counter(NAMES), "agent": Counter(NAMES)}
    else:
        assert "not known" in last.out
    for kind, counts in made.items():
        for name in NAMES:
            named = f"opsconsole_{kind}.{name}" in last.out
            assert counts[name] == 1 or (named and counts[name] == 0), f"{kind} {name}"
    assert list(places.root.rglob("*opsconsole-journal")) == []
    if not journal:
        assert list(places.root.rglob("*.lock.info")) == []
