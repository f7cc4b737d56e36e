"""What only a real process shows: signals. Worlds show the rest."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from declarations import agent_on, held
from engines import Terraform
from opsconsole.emulator import serve
from patience import PATIENCE, until
from shared_stack import SharedStack

HOSTS = 6


def program(knowledge: str = "") -> dict[str, Any]:
    host = {"count": HOSTS, "name": "web-${count.index}"}
    agent = agent_on("web[count.index]", "agent-${count.index}", count=HOSTS)
    if knowledge:
        host["knowledge"] = knowledge
    return {"resource": {"opsconsole_host": {"web": host}, "opsconsole_agent": {"a": agent}}}


@pytest.fixture
def stack(terraform: Callable[..., Terraform]) -> Iterator[SharedStack]:
    """A program that declares hosts and agents, of which the console has none yet."""
    with serve() as console:
        stack = SharedStack(console, terraform({}, console))
        stack.terraform.environment["OPSCONSOLE_MAX_CONCURRENCY"] = "3"
        stack.write(program())
        yield stack


def interrupt(stack: SharedStack, words: list[str], number: int, **options: Any) -> tuple[int, str]:
    """Send a signal to an apply while creates are in flight; return its exit code and output."""
    console = stack.console
    console.fault(operation="agent_create", skip=1, times=None, hold="after")
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    options |= {"cwd": stack.folder, "env": stack.terraform.environment, **pipes}
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, **options) as process:
        until(lambda: process.poll() is not None or console.traffic()["in_flight"] >= 3)
        process.send_signal(number)
        said = ""
        while "nterrupt" not in said and (line := process.stdout.readline()):
            said += line
        console.clear_faults()
        said += process.communicate(timeout=PATIENCE)[0]
    until(lambda: not console.traffic()["in_flight"])
    return process.returncode, said


def check(stack: SharedStack) -> None:
    """Every host and agent is there once, and both engines have nothing to do."""
    for collection, name in (("hosts", "web"), ("agents", "agent")):
        names = Counter(row["name"] for row in stack.console.rows(collection))
        assert names == Counter(f"{name}-{number}" for number in range(HOSTS))
    assert stack.native.plan_run().code == 0
    assert stack.terraform.plan_run().code == 0


@pytest.mark.terraform
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_terraform_goes_on_after_a_native_apply_that_was_ended(stack, number):
    words = [sys.executable, "-m", "opsconsole.cli.main", "apply", "-auto-approve"]
    code, said = interrupt(stack, words, number)
    left = [file.name for file in stack.folder.iterdir() if "journal" in file.name]
    if number == signal.SIGKILL:
        assert code == -signal.SIGKILL and left
        fold(stack, [*words[:3], "state", "fold"])
    else:
        assert code == 130, said
        assert "Traceback" not in said and not left, said
    stack.terraform.apply()
    check(stack)


def fold(stack: SharedStack, words: list[str]) -> None:
    """Add the journal to the state, and do what is asked for each create of unknown outcome."""
    subprocess.run(words, cwd=stack.folder, env=stack.terraform.environment, check=True)
    unknown = {
        address: item["name"]
        for address, item in held(stack.terraform).items()
        if item["id"].startswith("outcome-unknown/")
    }
    assert unknown
    for address, name in unknown.items():
        stack.terraform.run("state", "rm", address)
        if row := stack.find("agents", name):
            stack.terraform.import_(address, row["id"])


@pytest.mark.terraform
def test_a_second_run_goes_on_after_an_interrupted_terraform(stack):
    stack.terraform.start("version").communicate(timeout=PATIENCE)
    words = [str(stack.terraform.program), "apply", "-auto-approve", "-no-color", "-input=false"]
    _, said = interrupt(stack, words, signal.SIGINT, start_new_session=True)
    assert "Interrupt received" in said and "Traceback" not in said, said
    stack.terraform.apply()
    check(stack)
