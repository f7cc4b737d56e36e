"""Bad input: one clear error, exit 1, and the state as it was."""

import json
import os
import resource
import signal
import subprocess
import sys
from typing import Any

import pytest

HOST = {"opsconsole_host": {"a": {"name": "a"}}}


def program(resources: Any, **blocks: Any) -> str:
    return json.dumps({"resource": resources, **blocks})


CYCLE = {
    "opsconsole_host": {
        "a": {"name": "a", "jump_host_ids": ["${opsconsole_host.b.id}"]},
        "b": {"name": "b", "jump_host_ids": ["${opsconsole_host.a.id}"]},
    }
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cdk.tf.json:1:"),
        (program({"aws_instance": {"a": {}}}), "aws_instance"),
        (program({"opsconsole_hosts": {"a": {}}}), "opsconsole_hosts"),
        (program(CYCLE), "opsconsole_host.a"),
        (program({"opsconsole_host": {"a": {"name": "${opsconsole_host.no.name}"}}}), ".no"),
        (program({"opsconsole_host": {"a": {"name": "${var.no}"}}}), "no"),
        (program({"opsconsole_host": {"a": {"nam": "a"}}}), "nam"),
        (program(HOST, variable={"v": {}}), 'The root module input variable "v" is not set'),
    ],
    ids=["json", "provider", "type", "cycle", "reference", "variable", "argument", "value"],
)
@pytest.mark.parametrize("command", ["plan", "apply"])
def test_programs(native, text, said, command):
    native.apply(HOST)
    before = native.state_file.read_bytes()
    (native.folder / "cdk.tf.json").write_text(text)
    words = [command] if command == "plan" else [command, "-auto-approve"]
    refused = native.run(*words, expect=1)
    assert said in refused.text
    assert refused.text.count("Error:") == 1
    assert native.state_file.read_bytes() == before
    assert len(native.console.rows("hosts")) == 1


INSTANCE = ("resources", 0, "instances", 0)
SPOILT: list[tuple[tuple[Any, ...], Any]] = [
    (("version",), 5),
    ((*INSTANCE, "schema_version"), 7),
    (("resources", 0, "type"), "aws_instance"),
    (("outputs",), {"x": 5}),
    ((*INSTANCE, "attributes", "id"), 5),
    ((*INSTANCE, "attributes", "id"), None),
    ((*INSTANCE, "attributes"), None),
    ((*INSTANCE, "attributes", "tags"), "x"),
]
"""Where a state holds what it must not."""


@pytest.mark.parametrize(("path", "value"), SPOILT)
def test_states(native, path, value):
    native.apply(HOST)
    state = holder = native.state
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    native.state_file.write_text(json.dumps(state))
    before = native.state_file.read_bytes()
    refused = native.run("apply", "-auto-approve", expect=1)
    assert refused.text.count("Error:") == 1
    assert native.state_file.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [("hosts", "import"), ("plan", "-var-file"), ("plan", "-state"), ("state", "push"), ("show",)],
    ids=" ".join,
)
def test_a_device_that_never_ends(native, words):
    native.write(HOST)
    refused = native.run(*words, "/dev/zero", expect=1)
    assert refused.text.count("Error:") == 1
    kind = "is not a regular file" if words[-1] == "-state" else "it is a device, not a file"
    assert kind in refused.text


def test_the_empty_device_is_an_empty_file(native):
    assert "1 to add" in native.run_plan(HOST, "-var-file=/dev/null").out


def test_a_state_that_is_no_json(native):
    native.write(HOST)
    native.state_file.write_text("{]")
    refused = native.run("plan", expect=1)
    assert refused.err.count("Error:") == 1
    assert native.state_file.read_text() == "{]"


def test_a_place_that_cannot_be_written(native):
    native.write(HOST)
    native.state_file.mkdir()
    refused = native.run("apply", "-auto-approve", expect=1)
    assert refused.err.count("Error:") == 1
    assert native.console.rows("hosts") == []


def test_a_directory_that_is_read_only(native, monkeypatch):
    """Root may write everywhere, so the directory is one that nobody can write to."""
    refused = native.apply(HOST, "-state=/proc/self/x.tfstate", expect=1)
    assert refused.err.count("Error:") == 1
    assert native.console.rows("hosts") == []


def _small_files(size: int) -> Any:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.parametrize("size", [0, 4000])
def test_a_full_disk(native, fleet, size):
    """The limit on a file's size stands for a disk that has no more room."""
    native.apply(fleet(2, agents=False))
    before = native.state
    native.write(fleet(40, agents=False))
    # Python would write half of a compiled module under the limit, and take it for a whole one.
    environment = {**os.environ, **native.console.environment, "PYTHONDONTWRITEBYTECODE": "1"}
    process = native.start("apply", "-auto-approve", preexec_fn=_small_files(size), env=environment)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 1, out + err
    told = [line for line in (out + err).splitlines() if line.startswith("Error:")]
    assert len(told) == 1, out + err
    created = len(native.console.rows("hosts"))
    native.run("state", "fold")
    if size == 0:
        assert created == 2
        assert native.state == before
    native.run("apply", "-auto-approve", expect=None)
    native.run("apply", "-auto-approve", expect=None)
    assert len(native.console.rows("hosts")) == 40


@pytest.mark.parametrize("command", ["apply", "destroy"])
def test_nothing_is_sent_where_the_journal_has_no_room(native, command):
    """The state would fit, and so would the first intents: the journal reserves 1 MiB."""
    native.apply(HOST)
    before = native.console.rows("hosts")
    native.write({"opsconsole_host": {"a": {"name": "other"}}})
    environment = {**os.environ, **native.console.environment, "PYTHONDONTWRITEBYTECODE": "1"}
    process = native.start(
        command, "-auto-approve", preexec_fn=_small_files(600_000), env=environment
    )
    out, err = process.communicate(timeout=300)
    assert process.returncode == 1, out + err
    assert "No further call is made" in err
    assert native.console.rows("hosts") == before
    native.run(command, "-auto-approve")
    assert [row["name"] for row in native.console.rows("hosts")] == ["other"] * (command == "apply")


def test_a_lock_that_another_holds(native):
    native.write(HOST)
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(native.state_file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        for command in (["plan"], ["apply", "-auto-approve"], ["state", "rm", "x.y"]):
            refused = native.run(*command, expect=75)
            assert "opsconsole apply" in refused.err, "the holder is named"
            assert refused.err.count("Error:") == 1
        native.run("plan", "-lock=false")
        waited = native.run("plan", "-lock-timeout=100ms", expect=75)
        assert "Waiting for the state lock, held by" in waited.err
    finally:
        holder.communicate("\n", timeout=300)
    native.run("plan")


_HOLDER = """
import sys
from pathlib import Path
from opsconsole.state.opening import backend_for, open_state
with open_state(backend_for(Path("."), None, "apply", state_path=Path(sys.argv[1]))):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "-nonsense"],
        ["plan", "-lock-timeout=soon"],
        ["plan", "-var", "x"],
        ["plan", "-var-file=none.tfvars"],
        ["plan", "-dir", "nowhere"],
        ["apply", "p", "q"],
        ["state"],
        ["state", "show"],
        ["output", "a", "b"],
        ["hosts", "import"],
    ],
)
def test_command_lines(native, words):
    native.write(HOST)
    refused = native.run(*words, expect=1)
    assert refused.err.count("Error:") == 1


def test_durations(native, tmp_path):
    native.write(HOST)
    for text in ("0", "0s", "1m30s", "250ms", "1.5h"):
        assert native.run("plan", f"-lock-timeout={text}").code == 0
