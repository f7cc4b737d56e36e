"""The real Terraform against the real provider process: schema, secrets, and sudden ends.

What the resources do is tested elsewhere; here it is the plugin that is looked at.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engines import start_process
from opsconsole.emulator import Emulator
from patience import PATIENCE, until
from sampling import sample

pytestmark = pytest.mark.terraform


@pytest.fixture
def console(console_of: Callable[[str], Emulator]) -> Emulator:
    return console_of("default")


@pytest.fixture
def sockets() -> Iterator[Path]:
    """A temporary folder with a name short enough for a socket's address."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def hosts(count: int) -> dict[str, Any]:
    declared = {f"h{number}": {"name": f"host-{number}"} for number in range(count)}
    return {"resource": {"opsconsole_host": declared}}


def test_no_key_of_the_program_in_trace_log_errors_or_state(installed_terraform, console):
    """Keys and cookies that come in other ways: `settings/test_credentials.py`."""
    secret = "svc_ak_Zq9xWv7"
    settings = {"base_url": console.base_url, "api_key": secret}
    program = {**hosts(1), "provider": {"opsconsole": settings}}
    folder = installed_terraform(program, OPSCONSOLE_API_KEY="", TF_LOG="trace")
    run = folder.apply(expect={1})
    assert "401" in run.text
    assert "provider.terraform-provider-opsconsole_v" in run.err
    assert secret not in run.text
    state = folder.folder / "terraform.tfstate"
    assert not state.exists() or secret not in state.read_text()


def start_apply(folder: Any, sockets: Path) -> subprocess.Popen[str]:
    """Start an apply in a process group of its own, as a terminal does."""
    words = ("apply", "-auto-approve", "-no-color", "-parallelism=4")
    environment = {**folder.environment, "TMPDIR": str(sockets)}
    options = {"stderr": subprocess.STDOUT, "start_new_session": True}
    return start_process(folder.program, *words, cwd=folder.folder, env=environment, **options)


@pytest.mark.parametrize("number", sample([signal.SIGINT, signal.SIGTERM], 1))
def test_an_interrupt_loses_nothing_and_begins_nothing(
    installed_terraform, console, sockets, number
):
    folder = installed_terraform(hosts(12), console)
    console.fault(method="POST", path="/hosts/batch$", skip=1, hold="before", delay=0.5)
    with start_apply(folder, sockets) as process:
        # The dry run is answered; the import is in flight.
        until(lambda: console.request_counts().get("host_import", 0) >= 2)
        os.killpg(process.pid, number)
        output = ""
        while "Interrupt received" not in output and (line := process.stdout.readline()):
            output += line
        console.clear_faults()
        output += process.communicate(timeout=PATIENCE)[0]
    created = {row["id"] for row in console.rows("hosts")}
    assert 0 < len(created) < 12, output
    instances = [item for kept in folder.state()["resources"] for item in kept["instances"]]
    assert {item["attributes"]["id"] for item in instances} == created, output
    assert not list(sockets.iterdir())
    folder.apply()
    assert len(console.rows("hosts")) == 12


def test_nothing_is_left_when_terraform_is_killed(installed_terraform, console, sockets):
    folder = installed_terraform(hosts(2), console)
    console.fault(hold="before", times=None)
    with start_apply(folder, sockets) as process:
        until(lambda: console.request_counts().get("host_import"))
        assert list(sockets.iterdir())
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: not list(sockets.iterdir()))


def test_what_a_removal_leaves_behind_is_told_once_a_command(installed_terraform, console):
    """By the plan, and by an apply of a saved plan; an apply that plans shows its plan's words."""
    kept = {"name": "web", "deletion_policy": "abandon"}

    def told(run: Any) -> int:
        return sum("leaves management" in item["summary"] for item in run.warnings)

    hosts = {"a": kept, "b": kept | {"name": "b"}}
    engine = installed_terraform({"resource": {"opsconsole_host": hosts}}, console)
    engine.apply()
    del hosts["a"]
    assert told(engine.apply(program={"resource": {"opsconsole_host": hosts}})) == 1
    plan = engine.plan(program={})
    assert (told(plan.run), told(engine.apply(plan.saved))) == (1, 1)
