"""Bad input: one clear error, exit 1, and the state as it was."""

import json
import os
import resource
import signal
from typing import Any

import pytest

from opsconsole.state.backend import LocalBackend
from opsconsole.state.opening import open_state

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
        (program(CYCLE), "opsconsole_host.a"),
        (program(HOST, variable={"v": {}}), 'The root module input variable "v" is not set'),
    ],
    ids=["json", "provider", "cycle", "value"],
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


@pytest.mark.parametrize("spoil", ["text", "directory", "place"])
def test_a_place_that_holds_or_takes_no_state(native, spoil):
    """Root may write everywhere, so the place is in a directory that nobody can write to."""
    native.write(HOST)
    words = ["-state=/proc/self/x.tfstate"] if spoil == "place" else []
    if spoil == "text":
        native.state_file.write_text("{]")
    elif spoil == "directory":
        native.state_file.mkdir()
    refused = native.run("apply", "-auto-approve", *words, expect=1)
    assert refused.err.count("Error:") == 1
    assert native.console.rows("hosts") == []
    assert spoil != "text" or native.state_file.read_text() == "{]"


def _limit_files() -> None:
    """The limit on a file's size stands for a disk that has no more room."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))


@pytest.mark.parametrize("command", ["apply", "destroy"])
def test_nothing_is_sent_where_the_journal_has_no_room(native, command):
    """The state would fit, and so would the first intents: the journal reserves 1 MiB."""
    native.apply(HOST)
    before = native.console.rows("hosts")
    native.write({"opsconsole_host": {"a": {"name": "other"}}})
    # Python would write half of a compiled module under the limit, and take it for a whole one.
    environment = {**os.environ, **native.console.environment, "PYTHONDONTWRITEBYTECODE": "1"}
    process = native.start(command, "-auto-approve", preexec_fn=_limit_files, env=environment)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 1, out + err
    assert "No further call is made" in err
    assert native.console.rows("hosts") == before
    native.run(command, "-auto-approve")
    assert [row["name"] for row in native.console.rows("hosts")] == ["other"] * (command == "apply")


def test_a_lock_that_another_holds(native):
    native.write(HOST)
    with open_state(LocalBackend(native.state_file, "opsconsole apply")):
        refused = native.run("plan", expect=75)
        assert "opsconsole apply" in refused.err, "the holder is named"
        assert refused.err.count("Error:") == 1
        native.run("plan", "-lock=false")
        waited = native.run("plan", "-lock-timeout=100ms", expect=75)
        assert "Waiting for the state lock, held by" in waited.err
    native.run("plan")


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
