"""Runs that are interrupted from outside: what is in flight ends, and nothing more is begun."""

import json
import os
import signal
from functools import partial
from typing import Any

import pytest

from opsconsole.resources.agent.lifecycle import AgentLifecycle
from patience import until


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGINT, ("plan",)),
        (signal.SIGTERM, ("drift",)),
        (signal.SIGHUP, ("apply", "-auto-approve")),
    ],
)
def test_reading_stops_too_and_leaves_no_lock(native, fleet, number, words):
    native.settings["max_concurrency"] = 2
    native.apply(fleet(12))
    state = native.state_file.read_bytes()
    native.console.reset_log()
    native.console.fault(path="/hosts/", hold="before", times=None)
    with native.start(*words) as process:
        until(lambda: native.console.traffic()["in_flight"], "it reads")
        process.send_signal(number)
        while "Interrupted" not in (line := process.stderr.readline()):
            assert line, "it ended"
        native.console.clear_faults()
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert err.endswith("Interrupted.\n")
    assert sum(native.console.request_counts().values()) < 12, "not even every host was read"
    assert native.state_file.read_bytes() == state
    names = [path.name for path in native.folder.iterdir()]
    assert not [name for name in names if "lock" in name or "journal" in name]


def test_output_that_nobody_reads_any_more_ends_the_run_in_good_order(native, fleet):
    native.settings["max_concurrency"] = 2
    native.write(fleet(12))
    with native.start("apply", "-auto-approve", preexec_fn=partial(os.close, 1)) as process:
        _, err = process.communicate(timeout=120)
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
        process.send_signal(signal.SIGINT)
        while "Interrupted" not in (line := process.stderr.readline()):
            assert line, "it ended"
        native.console.clear_faults()
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, out + err
    created = native.console.rows("hosts")
    assert 0 < len(created) < 100
    assert all(row["id"] in out for row in created), "no id is lost"
    assert f"Not sent: {100 - len(created)} of 100 rows." in out


def test_what_cannot_be_written_is_found_before_the_first_request(native, fleet, monkeypatch):
    native.write(fleet(2))

    def refuse(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & os.O_CREAT and str(path).startswith(str(native.folder)):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *rest, **named)

    real = os.open
    monkeypatch.setattr(os, "open", refuse)
    result = native.run("apply", "-auto-approve", "-lock=false", expect=1)
    assert "Cannot write" in result.err and "Permission denied" in result.err
    assert native.console.request_counts() == {}


def test_a_defect_ends_the_run_and_what_was_done_is_saved(native, fleet, monkeypatch):
    async def defect(*_: object) -> None:
        raise OverflowError("anything")

    monkeypatch.setattr(AgentLifecycle, "create", defect)
    refused = native.apply(fleet(2), expect=1)
    assert "OverflowError" in refused.text
    hosts = {row["id"] for row in native.console.rows("hosts")}
    assert {native.attributes(f"opsconsole_host.web[{number}]")["id"] for number in (0, 1)} == hosts
    assert not [path for path in native.folder.iterdir() if "lock" in path.name]
