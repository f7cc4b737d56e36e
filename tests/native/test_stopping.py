"""A mass change that is interrupted or killed: what is in flight ends, nothing is lost or begun."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opsconsole.emulator import Emulator

COUNT = 40
AT_ONCE = 4
PASSING = AT_ONCE + 1
"""How many the console lets pass before it holds what is asked."""


def wait_for(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def effects(console: Emulator) -> dict[str, int]:
    """Count what the console holds, by which effects are counted."""
    hosts = console.rows("hosts")
    return {
        "hosts": len(hosts),
        "changed": sum(row.get("knowledge") == "new" for row in hosts),
        "agents": sum(row["status"] != "archived" for row in console.rows("agents")),
        "attachments": len(console.rows("attachments")),
    }


class Story:
    """A change of one kind to many, of which each takes a while."""

    def __init__(self, kind: str, native: Any, fleet: Any) -> None:
        self.native = native
        self.kind = kind
        native.settings["max_concurrency"] = AT_ONCE
        whole, bare = fleet(COUNT), fleet(COUNT, agents=False)
        agents = {name: whole[name] for name in whole if not name.endswith("plugin")}
        before, after, counted, slow = {
            "destroy": (whole, whole, "hosts", ("DELETE", "/hosts/")),
            "update": (bare, fleet(COUNT, agents=False, knowledge="new"), "changed", None),
            "create": (bare, agents, "agents", ("POST", "/agents$")),
            "attach": (agents, whole, "attachments", ("POST", "/plugins$")),
            "detach": (whole, agents, "attachments", ("DELETE", "/plugins/")),
        }[kind]
        self.counted = counted
        self.slow = slow or ("POST", "/hosts/hst_")
        native.write(before)
        native.run("apply", "-auto-approve")
        native.write(after)
        self.before = effects(native.console)[counted]

    @property
    def words(self) -> tuple[str, ...]:
        """The command that makes the change."""
        # A detached fleet is most of a fleet: the guard is not what is tested here.
        return {
            "destroy": ("destroy", "-auto-approve"),
            "detach": ("apply", "-auto-approve", "--force"),
        }.get(self.kind, ("apply", "-auto-approve"))

    def done(self) -> int:
        """How many the change has reached on the console."""
        return abs(effects(self.native.console)[self.counted] - self.before)

    def start(self) -> subprocess.Popen[str]:
        """Start the change; return once some have ended and the console holds the next."""
        method, path = self.slow
        holds = '"knowledge"' if self.kind == "update" else None
        members = {"holds": holds} if holds else {}
        console = self.native.console
        console.fault(method=method, path=path, skip=PASSING, hold="after", times=None, **members)
        process: subprocess.Popen[str] = self.native.start(
            *self.words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        wait_for(lambda: self.done() > PASSING, "the change is under way")
        return process

    def settle(self) -> None:
        """Let the console end what was sent."""
        self.native.console.clear_faults()
        wait_for(lambda: not self.native.console.traffic()["in_flight"], "the console ends")

    def held(self) -> int:
        """How many the change has reached, as state has it."""
        found = 0
        for resource in self.native.state["resources"]:
            for item in resource["instances"]:
                values = item["attributes"]
                kind = resource["type"].removeprefix("opsconsole_")
                found += {
                    "hosts": kind == "host",
                    "changed": kind == "host" and values["knowledge"] == "new",
                    "agents": kind == "agent",
                    "attachments": kind == "agent_plugin",
                }[self.counted]
        return abs(found - self.before)


KINDS = ("destroy", "update", "create", "attach", "detach")


@pytest.fixture(params=KINDS)
def story(request: pytest.FixtureRequest, native: Any, fleet: Any) -> Story:
    return Story(request.param, native, fleet)


def test_one_interrupt_finishes_what_is_in_flight_and_begins_nothing(story: Story) -> None:
    with story.start() as process:
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        while "Interrupted: what is in flight is finished and saved." not in (
            line := process.stderr.readline()
        ):
            assert line, "it ended"
        story.settle()
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert PASSING < story.done() <= PASSING + AT_ONCE, "nothing was begun but what was held"
    assert story.held() == story.done(), "state is what the console has"
    story.native.run(*story.words)
    assert story.done() == COUNT


def test_after_a_kill_only_what_was_in_flight_is_not_known_and_each_is_named(story: Story) -> None:
    with story.start() as process:
        process.kill()
        process.communicate(timeout=120)
    story.settle()
    done = story.done()
    journal = Path(f"{story.native.state_file}.opsconsole-journal")
    open_writes = _open_intents(journal.read_bytes())
    assert 0 < len(open_writes) <= AT_ONCE
    folded = story.native.run("state", "fold")
    assert "of the interrupted run to the state" in folded.out
    if story.kind != "attach":
        # Attaching may be repeated, so nothing need be said of it where the list shows it.
        for address in open_writes:
            assert address in folded.text, f"{address} is named"
    unsettled = folded.err.count("It is not known whether")
    assert unsettled == (len(open_writes) if story.kind == "create" else 0)
    if story.kind == "create":
        # An agent cannot be settled under the documented operations: the user says which it was.
        assert story.held() - unsettled <= done <= story.held()
        return
    if story.kind != "update":
        assert story.held() == done
    story.native.run(*story.words)
    assert story.done() == COUNT


def _open_intents(data: bytes) -> list[str]:
    found: dict[str, str] = {}
    for line in data.rstrip(b"\0").decode().splitlines():
        kind, *fields = json.loads(line.split(" ", 3)[3])
        if kind == "intent":
            found[fields[0]] = fields[1]
        elif kind == "changed":
            for settled in fields[1]:
                found.pop(settled, None)
    return list(found.values())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("words", [("plan",), ("drift",), ("apply", "-auto-approve")])
def test_reading_stops_too_and_leaves_no_lock(
    native: Any, fleet: Any, number: int, words: tuple[str, ...]
) -> None:
    native.settings["max_concurrency"] = 2
    native.write(fleet(12))
    native.run("apply", "-auto-approve")
    state = native.state_file.read_bytes()
    native.console.reset_log()
    native.console.fault(path="/hosts/", hold="before", times=None)
    with native.start(*words) as process:
        wait_for(lambda: native.console.traffic()["in_flight"], "it reads")
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


def test_output_that_nobody_reads_any_more_ends_the_run_in_good_order(
    native: Any, fleet: Any
) -> None:
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
    left = effects(native.console)["agents"]
    assert 0 < left < 12
    assert "Not begun, because the run was interrupted" in err
    held = {item["type"]: len(item["instances"]) for item in native.state["resources"]}
    assert held["opsconsole_host"] == held["opsconsole_agent_plugin"] == left
    assert not [path for path in native.folder.iterdir() if "journal" in path.name]


def test_an_import_of_a_file_stops_and_says_what_was_not_sent(native: Any) -> None:
    native.settings["import_chunk_size"] = 10
    native.write()
    rows = [{"name": f"host-{number}"} for number in range(100)]
    (native.folder / "hosts.json").write_text(json.dumps(rows))
    native.console.fault(
        operation="host_import", holds='"dry_run":false', skip=1, hold="before", times=None
    )
    with native.start("hosts", "import", "hosts.json") as process:
        wait_for(lambda: native.console.waiting_faults()[0]["skip"] == 0, "ten are imported")
        wait_for(lambda: native.console.traffic()["in_flight"], "ten more are sent")
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


def test_what_cannot_be_written_is_found_before_the_first_request(
    native: Any, fleet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
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
