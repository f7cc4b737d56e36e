"""What only a real process shows: signals. Worlds show the rest."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from declarations import held
from engines import Terraform
from opsconsole.emulator import serve
from patience import until
from worlds import World

HOSTS = 6


def program(knowledge: str = "") -> dict[str, Any]:
    host = {"count": HOSTS, "name": "web-${count.index}"}
    agent = {
        "count": HOSTS,
        "name": "agent-${count.index}",
        "host_id": "${opsconsole_host.web[count.index].id}",
        "specialty_id": "spc_linux",
    }
    if knowledge:
        host["knowledge"] = knowledge
    return {"resource": {"opsconsole_host": {"web": host}, "opsconsole_agent": {"a": agent}}}


@pytest.fixture
def world(terraform: Callable[..., Terraform]) -> Iterator[World]:
    """A program that declares hosts and agents, of which the console has none yet."""
    with serve() as console:
        world = World(console, terraform({}, console))
        world.terraform.environment["OPSCONSOLE_MAX_CONCURRENCY"] = "3"
        world.write(program())
        yield world


def interrupt(world: World, words: list[str], number: int, **options: Any) -> tuple[int, str]:
    """Send a signal to an apply while creates are in flight; return its exit code and output."""
    console = world.console
    console.fault(operation="agent_create", skip=1, times=None, hold="after")
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    options |= {"cwd": world.folder, "env": world.terraform.environment, **pipes}
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, **options) as process:
        until(lambda: process.poll() is not None or console.traffic()["in_flight"] >= 3)
        process.send_signal(number)
        assert process.stdout is not None
        said = ""
        while "nterrupt" not in said and (line := process.stdout.readline()):
            said += line
        console.clear_faults()
        said += process.communicate(timeout=60)[0]
    until(lambda: not console.traffic()["in_flight"])
    return process.returncode, said


def check(world: World) -> None:
    """Every host and agent is there once, and both engines have nothing to do."""
    for collection, name in (("hosts", "web"), ("agents", "agent")):
        names = Counter(row["name"] for row in world.console.rows(collection))
        assert names == Counter(f"{name}-{number}" for number in range(HOSTS))
    assert world.native.plan_run().code == 0
    assert world.terraform.plan_run().code == 0


@pytest.mark.terraform
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_terraform_goes_on_after_a_native_apply_that_was_ended(world: World, number: int) -> None:
    words = [sys.executable, "-m", "opsconsole.cli.main", "apply", "-auto-approve"]
    code, said = interrupt(world, words, number)
    left = [file.name for file in world.folder.iterdir() if "journal" in file.name]
    if number == signal.SIGKILL:
        assert code == -signal.SIGKILL and left
        fold(world, [*words[:3], "state", "fold"])
    else:
        assert code == 130, said
        assert "Traceback" not in said and not left, said
    world.terraform.apply()
    check(world)


def fold(world: World, words: list[str]) -> None:
    """Add the journal to the state, and do what is asked for each create of unknown outcome."""
    subprocess.run(words, cwd=world.folder, env=world.terraform.environment, check=True)
    unknown = {
        address: item["name"]
        for address, item in held(world.terraform).items()
        if item["id"].startswith("outcome-unknown/")
    }
    assert unknown
    for address, name in unknown.items():
        world.terraform.run("state", "rm", address)
        if row := world.find("agents", name):
            world.terraform.import_(address, row["id"])


@pytest.mark.terraform
def test_a_second_run_goes_on_after_an_interrupted_terraform(world: World) -> None:
    world.terraform.start("version").communicate(timeout=60)
    words = [str(world.terraform.program), "apply", "-auto-approve", "-no-color", "-input=false"]
    _, said = interrupt(world, words, signal.SIGINT, start_new_session=True)
    assert "Interrupt received" in said and "Traceback" not in said, said
    world.terraform.apply()
    check(world)
