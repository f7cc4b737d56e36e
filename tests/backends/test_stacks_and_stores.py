"""Two stacks on one kind of backend, with and without a reference: several runs, by every engine,
some of them killed. Nothing is created twice, nothing is lost, and each run ends where it should.
"""

import itertools
import os
import random
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backend_places import KINDS, Place, http_places
from engines import Run
from forked_runs import Forks, forks_of
from sampling import EVERYTHING, sample

RUN = """
import sys
sys.path.insert(0, {support!r})
from killed_run import Points, watch_files, watch_requests, write_often
from opsconsole.cli.main import main
from opsconsole.standin.main import main as standin

def run(point, program, *words):
    write_often()
    points = Points(int(point))
    watch_files(points)
    watch_requests(points)
    sys.exit((standin if program == "opsconsole-terraform" else main)(words))
"""
_UNKNOWN = re.compile(r"It is not known whether (\S+) was created")
MOST_POINTS = 30
"""A run that nothing kills passes about so many."""
OUTPUT = "cross-stack-output-opsconsole_hostjumpid"
REFERENCE = "cross-stack-reference-input-below"

CELLS = list(
    itertools.product(
        KINDS,
        ("reference", "no reference"),
        ("native", "stand-in", "terraform"),
        ("killed", "not killed"),
    )
)
QUICK = [cell for cell in CELLS if cell[3] == "not killed"]
"""What happens to a killed run is the matter of worlds, too."""


@pytest.fixture(scope="module")
def killed_forks() -> Iterator[Forks]:
    """Processes that run a command and are killed at a point."""
    with forks_of(RUN.format(support=str(Path(__file__).parents[1] / "support"))) as forks:
        yield forks


@pytest.fixture
def another_http_place() -> Iterator[Place]:
    """A place on a server of its own."""
    with http_places() as make:
        yield make()


class Stacks:
    """The stack `below`, and the stack `above` that may refer to it; and what was run on them."""

    def __init__(
        self, app: Any, places: dict[str, Place], forks: Forks, environment: dict[str, str]
    ) -> None:
        self.app, self.places, self.forks, self.environment = app, places, forks, environment
        self.said: list[str] = []

    def write(self, port: int, *, refers: bool) -> None:
        """Write both stacks; the host of `above` is at a port."""
        self.app.write(
            "below",
            self.places["below"],
            resource={"opsconsole_host": {"jump": {"name": "jump", "target_port": port}}},
            output={OUTPUT: {"value": "${opsconsole_host.jump.id}"}},
        )
        host: dict[str, Any] = {"name": "web", "target_port": port}
        blocks: dict[str, Any] = {}
        if refers:
            place = self.places["below"]
            data = {"backend": place.kind, "config": dict(place.block)}
            blocks["data"] = {"terraform_remote_state": {REFERENCE: data}}
            value = f"${{data.terraform_remote_state.{REFERENCE}.outputs.{OUTPUT}}}"
            host["jump_host_ids"] = [value]
        agent = {"name": "web", "host_id": "${opsconsole_host.web.id}"}
        resource = {
            "opsconsole_host": {"web": host},
            "opsconsole_agent": {"web": {**agent, "specialty_id": "spc_linux"}},
        }
        self.app.write("above", self.places["above"], resource=resource, **blocks)

    def folder(self, stack: str) -> Path:
        """Where Terraform and the stand-in work on a stack."""
        found: Path = self.app.folder / "cdktf.out" / "stacks" / stack
        return found

    def run(self, *words: str, point: int = 0, stack: str = "") -> Run:
        """Run `opsconsole`, or the stand-in in the folder of a stack; kill it at a point."""
        folder = self.folder(stack) if stack else self.app.folder
        killed = f"  # killed at point {point}" if point else ""
        self.said.append(f"(cd {folder} && {shlex.join(words)}){killed}")
        found = self.forks.run(str(point), *words, folder=folder, environment=self.environment)
        self.said.append(f"→ {found.code} {(found.out + found.err).strip()[-1500:]}")
        return found

    def go(self, *words: str, point: int = 0) -> Run:
        """Run `opsconsole` to a good end; after a kill, do what its messages ask the user for."""
        if point:
            self.run("opsconsole", *words, point=point)
        stack = [word for word in words if word.startswith("--stack")]
        for _ in range(4):
            found = self.run("opsconsole", *words)
            text = found.out + found.err
            held = re.search(r"force-unlock\S* (\S+)|\(ID (\S+?)\)", text)
            unknown = sorted({*_UNKNOWN.findall(text)})
            if found.code == 0 or not (held or unknown):
                break
            if held:
                self.run("opsconsole", "force-unlock", "-force", held[1] or held[2], *stack)
            for address in unknown:
                self.run("opsconsole", "state", "rm", address, *stack)
                kind, _, name = address.partition(".")
                rows = self.app.console.rows(f"{kind.removeprefix('opsconsole_')}s")
                for row in (row for row in rows if row["name"] == name):
                    self.run("opsconsole", "import", address, row["id"], *stack)
        assert found.code == 0
        return found

    def counts(self) -> dict[str, int]:
        """How many of each the console has; archived agents do not run."""
        rows = self.app.console.rows
        agents = (row["name"] for row in rows("agents") if row["status"] != "archived")
        found = Counter([*(row["name"] for row in rows("hosts")), *(f"agent {n}" for n in agents)])
        return dict(found)


BOTH = {"jump": 1, "web": 1, "agent web": 1}


@pytest.mark.meetings
@pytest.mark.timeout(900)
@pytest.mark.parametrize("cell", CELLS if EVERYTHING else sample(QUICK, 2), ids=" ".join)
def test_two_stacks_on_one_kind_of_store(
    cell: tuple[str, ...],
    make_place: Callable[[str], Place],
    app_on: Callable[..., Any],
    killed_forks: Forks,
    cli_environment: Callable[..., dict[str, str]],
    another_http_place: Place,
    terraform_binary: Path,
) -> None:
    kind, reference, before, killed = cell
    places = {stack: make_place(kind) for stack in ("below", "above")}
    if kind == "http":  # a server of the tests keeps one state
        places["above"] = another_http_place
    app = app_on("extended")
    environment = cli_environment(app.console) | dict(places["below"].environment)
    stacks = Stacks(app, places, killed_forks, environment)
    choose = random.Random(CELLS.index(cell))
    try:
        walk(stacks, reference == "reference", before, killed == "killed", choose, terraform_binary)
    except AssertionError as error:
        steps = "\n  ".join(stacks.said)
        raise AssertionError(f"{cell}: {error}\nSteps:\n  {steps}") from error


def walk(
    stacks: Stacks, refers: bool, before: str, killed: bool, choose: random.Random, binary: Path
) -> None:
    """Apply twice by one engine or another, then a saved plan, and destroy; kill some runs."""

    def point() -> int:
        return choose.randint(1, MOST_POINTS) if killed else 0

    stacks.write(22, refers=refers)
    for stack in ("below", "above"):
        if refers and stack == "above" and before == "native":
            assert stacks.run("opsconsole", "plan", "--stack=above").code == 0
        first(stacks, stack, before, binary, point())
    assert stacks.counts() == BOTH
    if refers:
        jump, web = sorted(stacks.app.console.rows("hosts"), key=lambda row: row["name"])
        assert web["jump_host_ids"] == [jump["id"]]
    stacks.write(2222, refers=refers)
    for stack in choose.sample(["below", "above"], 2):
        stacks.go("apply", "-auto-approve", f"--stack={stack}", point=point())
    assert stacks.counts() == BOTH
    stacks.write(2223, refers=refers)
    for stack in ("below", "above"):
        saved = stacks.app.folder / f"{stack}.plan"
        stacks.go("plan", f"--stack={stack}", f"-out={saved}")
        # A killed run may have carried the plan out, or a part of it: what is left is planned anew.
        if stacks.run("opsconsole", "apply", str(saved), point=point()).code:
            stacks.go("apply", "-auto-approve", f"--stack={stack}")
        stacks.go("plan", "-detailed-exitcode", f"--stack={stack}")
    assert stacks.counts() == BOTH
    assert {row["target_port"] for row in stacks.app.console.rows("hosts")} == {2223}
    stacks.go("drift", "--program")
    for stack in ("above", "below"):
        stacks.go("destroy", "-auto-approve", f"--stack={stack}", point=point())
    assert stacks.counts() == {}


def first(stacks: Stacks, stack: str, engine: str, binary: Path, point: int) -> None:
    """Apply a stack for the first time."""
    if engine == "native":
        stacks.go("apply", "-auto-approve", f"--stack={stack}", point=point)
        return
    words: tuple[str, ...] = ("opsconsole-terraform",)
    if engine == "stand-in":
        for last in (("init", "-input=false"), ("apply", "-auto-approve", "-input=false")):
            assert stacks.run(*words, *last, stack=stack).code == 0
        return
    for last in (("init", "-input=false"), ("apply", "-auto-approve", "-input=false")):
        stacks.said.append(f"(cd {stacks.folder(stack)} && terraform {shlex.join(last)})")
        done = subprocess.run(
            [binary, *last],
            cwd=stacks.folder(stack),
            env={**os.environ, **stacks.environment},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
