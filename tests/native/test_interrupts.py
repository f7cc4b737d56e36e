"""Ctrl-C during an apply: once to finish what is in flight, twice to stop now."""

import os
import pty
import re
import signal
import subprocess
from typing import Any

from opsconsole.journal_files import journal_of
from patience import until


def begun(native: Any, fleet: Any, count: int = 12) -> subprocess.Popen[str]:
    """Start an apply that creates agents; return once three are created and the fourth is held."""
    native.settings["max_concurrency"] = 1
    native.apply(fleet(count), "-target=opsconsole_host.web")
    native.console.fault(operation="agent_create", skip=3, times=None, hold="before")
    process: subprocess.Popen[str] = native.start("apply", "-auto-approve")
    until(lambda: native.console.traffic()["in_flight"], "the fourth agent is sent")
    return process


def interrupt(process: subprocess.Popen[str]) -> None:
    """Interrupt a command, and return once it has taken notice."""
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    line = process.stderr.readline()
    while "Interrupted: what is in flight is finished and saved. Press Ctrl-C again" not in line:
        assert line, "it ended"
        line = process.stderr.readline()


def test_once_finishes_what_is_in_flight(native, fleet):
    process = begun(native, fleet)
    interrupt(process)
    native.console.clear_faults()
    out, err = process.communicate(timeout=60)
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


def test_twice_stops_now_and_loses_nothing(native, fleet):
    process = begun(native, fleet)
    interrupt(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
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


def on_a_terminal(native: Any, *words: str) -> tuple[int, str]:
    """Run a command on a terminal of its own; return its exit code and what it wrote there."""
    controller, terminal = pty.openpty()
    environment = {**os.environ, **native.console.environment, "TERM": "xterm", "COLUMNS": "120"}
    environment.pop("NO_COLOR", None)
    process = native.start(
        *words, stdin=terminal, stdout=terminal, stderr=terminal, env=environment
    )
    os.close(terminal)
    written = b""
    while True:
        try:
            piece = os.read(controller, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
    os.close(controller)
    return process.wait(timeout=300), written.decode()


def test_a_terminal_shows_a_bar_with_counts_rate_and_time_left(native, fleet):
    native.settings["import_chunk_size"] = 5
    native.write(fleet(45, agents=False))
    native.console.fault(path="/hosts/batch$", delay=0.5, times=None)
    code, text = on_a_terminal(native, "apply", "-auto-approve")
    assert code == 0
    assert "Planning…" in text
    assert re.search(r"Applying.*\d+ of 45.*/s · \d+s left", text)
    assert "\033[1m" in text and "\033[32m+" in text
    assert "opsconsole_host.web[3]: Creation complete" not in text, "many are counted, not listed"


def test_few_changes_are_listed_on_a_terminal_too_and_nothing_is_painted_unasked(native, fleet):
    native.write(fleet(2, agents=False))
    code, text = on_a_terminal(native, "apply", "-auto-approve", "-no-color")
    assert code == 0
    assert "opsconsole_host.web[1]: Creation complete" in text
    assert "\033[3" not in text
