"""Ctrl-C and other ends from outside: what is in flight ends, and nothing more is begun."""

import json
import os
import re
import signal
import subprocess
from functools import partial
from typing import Any

import pytest

from opsconsole.local_terraform import journal_of
from patience import PATIENCE, until


def begun(native: Any, fleet: Any, count: int = 12) -> subprocess.Popen[str]:
    """Start an apply that creates agents; return once three are created and the fourth is held."""
    native.settings["max_concurrency"] = 1
    native.apply(fleet(count), "-target=opsconsole_host.web")
    native.console.fault(operation="agent_create", skip=3, times=None, hold="before")
    process: subprocess.Popen[str] = native.start("apply", "-auto-approve")
    until(lambda: native.console.traffic()["in_flight"], "the fourth agent is sent")
    return process


def interrupt(process: subprocess.Popen[str], number: int = signal.SIGINT) -> str:
    """Interrupt a command; return what it says once it has taken notice."""
    process.send_signal(number)
    while "Interrupted" not in (line := process.stderr.readline()):
        assert line, "it ended"
    return line


def test_one_interrupt_finishes_the_calls_in_flight(native, fleet):
    process = begun(native, fleet)
    assert "what is in flight is finished and saved. Press Ctrl-C again" in interrupt(process)
    native.console.clear_faults()
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out + err
    created = len(native.console.rows("agents"))
    assert created == out.count(": Creating...") == 4
    assert "Apply incomplete. Resources: " in out
    agents = [item for item in native.addresses() if ".a[" in item]
    assert len(agents) == created, "what happened is in state"
    assert not journal_of(native.state_file).exists()
    left = re.search(r"Not begun, because the run was interrupted: (\d+)", out)
    assert left is not None and int(left[1]) == 12 - created + 12
    assert re.search(r"^  create opsconsole_agent\.a\[\d+\]$", out, re.MULTILINE)
    native.run("apply", "-auto-approve")
    assert len(native.console.rows("agents")) == 12


def test_second_interrupt_stops_and_loses_nothing(native, fleet):
    process = begun(native, fleet)
    interrupt(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out + err
    assert "the next run adds it to the state" in err
    assert journal_of(native.state_file).exists()
    native.console.clear_faults()
    # What was sent is handled by the console all the same.
    until(lambda: not native.console.traffic()["in_flight"], "the console ends its work")
    result = native.run("apply", "-auto-approve", expect=None)
    assert "of an interrupted run to the state" in result.err
    names = [row["name"] for row in native.console.rows("agents")]
    assert len(names) == len(set(names)), "nothing is created twice"
    assert not journal_of(native.state_file).exists()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGINT, ("plan",)),
        (signal.SIGTERM, ("drift",)),
        (signal.SIGHUP, ("apply", "-auto-approve")),
        (signal.SIGINT, ("apply", "saved")),
        (signal.SIGINT, ("import", "opsconsole_host.web[11]", "hst_none")),
    ],
)
def test_signal_while_reading_ends_with_130_and_no_lock(native, fleet, number, words):
    native.settings["max_concurrency"] = 2
    native.apply(fleet(12))
    native.run("state", "rm", "opsconsole_host.web[11]")
    native.run("plan", "-destroy", "-out=saved")
    state = native.state_file.read_bytes()
    native.console.reset_log()
    native.console.fault(path="/hosts/", hold="before", times=None)
    with native.start(*words) as process:
        until(lambda: native.console.traffic()["in_flight"], "it reads")
        interrupt(process, number)
        native.console.clear_faults()
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert err.endswith("Interrupted.\n")
    assert sum(native.console.request_counts().values()) < 12, "not even every host was read"
    assert native.state_file.read_bytes() == state
    names = [path.name for path in native.folder.iterdir()]
    assert not [name for name in names if "lock" in name or "journal" in name]


def test_a_closed_stdin_approves_nothing(native, fleet):
    native.write(fleet(1))
    with native.start("apply", preexec_fn=partial(os.close, 0)) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (1, "")
    assert out.endswith("Apply cancelled.\n")
    assert native.console.rows("hosts") == []


def test_output_that_nobody_reads_any_more_ends_the_run_in_good_order(native, fleet):
    native.settings["max_concurrency"] = 2
    native.write(fleet(12))
    with native.start("apply", "-auto-approve", preexec_fn=partial(os.close, 1)) as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, ""), "a closed stdout is none"
    # The first pair ends at once; while the second is in flight, the output is closed.
    native.console.fault(operation="host_delete", skip=2, hold="after", times=None)
    with native.start("destroy", "-auto-approve") as process:
        while "Destruction complete" not in process.stdout.readline():
            assert process.poll() is None
        process.stdout.close()
        native.console.clear_faults()
        err = process.stderr.read()
    assert process.returncode == 130, err
    assert "Interrupted, because nobody reads the output any more" in err
    left = sum(row["status"] != "archived" for row in native.console.rows("agents"))
    assert 0 < left < 12
    assert "Not begun, because the run was interrupted" in err
    held = {item["type"]: len(item["instances"]) for item in native.state["resources"]}
    assert held["opsconsole_host"] == held["opsconsole_agent_plugin"] == left
    assert not [path for path in native.folder.iterdir() if "journal" in path.name]


def test_an_import_of_a_file_stops_and_says_what_was_not_sent(native):
    native.settings["import_chunk_size"] = 10
    native.write()
    rows = [{"name": f"host-{number}"} for number in range(100)]
    (native.folder / "hosts.json").write_text(json.dumps(rows))
    native.console.fault(
        operation="host_import", holds='"dry_run":false', skip=1, hold="before", times=None
    )
    with native.start("hosts", "import", "hosts.json") as process:
        until(lambda: native.console.waiting_faults()[0]["skip"] == 0, "ten are imported")
        until(lambda: native.console.traffic()["in_flight"], "ten more are sent")
        interrupt(process)
        native.console.clear_faults()
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out + err
    created = native.console.rows("hosts")
    assert 0 < len(created) < 100
    assert all(row["id"] in out for row in created), "no id is lost"
    assert f"Not sent: {100 - len(created)} of 100 rows." in out
