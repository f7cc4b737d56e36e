"""Exit codes that say more than success and failure, and those of commands that nobody reads."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from opsconsole.errors import TRY_LATER
from opsconsole.standin.main import main as standin
from opsconsole.state import LocalBackend, lock, open_state
from text_groups import read_rows
from virtual_time import Clock

ROWS = read_rows(__file__)

LATER = {"Retry-After": "1000"}


@pytest.fixture
def deployed(native: Any, fleet: Callable[..., dict[str, Any]]) -> Any:
    """A folder whose program was applied."""
    native.settings["max_retries"] = 0
    native.apply(fleet(1, agents=False))
    (native.folder / "same.tfstate").write_bytes(native.state_file.read_bytes())
    (native.folder / "rows.json").write_text(json.dumps([{"name": "one"}, {"name": "two"}]))
    return native


@pytest.mark.parametrize(*ROWS["test_a_state_that_another_run_holds"])
def test_a_state_that_another_run_holds(deployed, words):
    with open_state(LocalBackend(deployed.state_file)):
        told = deployed.run(*words, expect=TRY_LATER).text
    assert "is locked by" in told and "opsconsole apply" in told
    assert told.count("Error: ") == 1


def test_a_held_lock_is_waited_for_or_passed_over(deployed):
    """The exit codes are those of Terraform."""
    deployed.monkeypatch.setattr(lock, "time", Clock())
    with open_state(LocalBackend(deployed.state_file)):
        deployed.run("plan", "-lock=false")
        waited = deployed.run("plan", "-lock-timeout=100ms", expect=TRY_LATER)
        assert "Waiting for the state lock, held by" in waited.err
        with deployed.monkeypatch.context() as patch:
            patch.chdir(deployed.folder)
            assert standin(["plan"]) == 1
    deployed.run("plan")


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    "words",
    [
        ("plan", "-detailed-exitcode"),
        ("apply", "-auto-approve"),
        ("drift",),
        ("hosts", "import", "rows.json"),
    ],
)
def test_a_console_that_is_too_busy(deployed, words, status):
    deployed.console.fault(times=None, path="^/api/", status=status, headers=LATER)
    deployed.run(*words, expect=TRY_LATER)
    deployed.console.clear_faults()
    deployed.console.fault(times=None, path="^/api/", status=500)
    deployed.run(*words, expect=1)


@pytest.mark.parametrize("status", [429, 503])
def test_apply_that_did_a_part_exits_with_1(deployed, fleet, status):
    deployed.console.fault(times=1, method="DELETE", status=status, headers=LATER)
    # A 503 may come from a gateway, when the console has done it all the same.
    code = TRY_LATER if status == 429 else 1
    deployed.run("destroy", "-auto-approve", "-refresh=false", expect=code)
    deployed.write(fleet(2))
    deployed.console.fault(times=None, path="/agents$", method="POST", status=status, headers=LATER)
    deployed.run("apply", "-auto-approve", expect=1)


@pytest.mark.parametrize("words", [("state", "list"), ("state", "pull"), ("show",), ("validate",)])
def test_a_command_that_only_prints_succeeds_though_nobody_reads_it(deployed, words):
    reader, writer = os.pipe()
    os.close(reader)
    with deployed.start(*words, stdout=writer) as process:
        os.close(writer)
        _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
