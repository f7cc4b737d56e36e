"""Mistakes of a first hour, and the words that answer each of them."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

HOST = {"opsconsole_host": {"a": {"name": "a"}}}
SPECIALTY = {"opsconsole_specialty": {"linux": {"key": "linux-server"}}}


def agent(*plugin_ids: str) -> dict[str, Any]:
    fields = {
        "host_id": "${opsconsole_host.a.id}",
        "specialty_id": "${opsconsole_specialty.linux.id}",
        "plugin_ids": list(plugin_ids),
    }
    return {**HOST, **SPECIALTY, "opsconsole_agent": {"x": fields}}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"public_ip": "10.0.0.999"}, "public_ip: '10.0.0.999' is not an IP address"),
        ({"private_ip": "fe80::zz"}, "private_ip: 'fe80::zz' is not an IP address"),
        (
            {"eligible_subnets": ["10.0.0.0/8", "nonsense"]},
            "eligible_subnets: 'nonsense' is not a subnet",
        ),
        ({"eligible_subnets": ["10.0.0.0/33"]}, "eligible_subnets: '10.0.0.0/33' is not a subnet"),
    ],
)
def test_an_address_that_is_none_is_a_warning(fields, text, native):
    native.write({"opsconsole_host": {"a": {"name": "a", **fields}}})
    said = native.run("validate").err
    assert f"Warning: opsconsole_host.a: {text}" in said
    assert "so the console decides" in said
    assert "Plan: 1 to add" in native.run("plan").out


def test_addresses_and_subnets_are_no_warning(native):
    fields = {
        "public_ip": "203.0.113.7",
        "private_ip": "2001:db8::1",
        "eligible_subnets": ["10.0.0.0/8", "2001:db8::/32", "10.1.2.3/24"],
    }
    native.write({"opsconsole_host": {"a": {"name": "a", **fields}}})
    assert native.run("validate").err == ""


def test_a_host_name_that_is_declared_twice(native):
    said = native.apply(
        {"opsconsole_host": {"a": {"name": "web"}, "b": {"name": "web"}}}, expect=1
    ).text
    assert 'Error: The console would not create the host "web"' in said
    assert (
        "In a dry run, which changes nothing, the console gives its row the status 'updated'"
        in said
    )
    assert "opsconsole_host.a of this run has the same name. Declare each machine once." in said
    assert len([row for row in native.console.rows("hosts") if row["name"] == "web"]) == 1


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("127.0.0.1:8080", 'has no scheme.\nWrite "http://127.0.0.1:8080".'),
        ("localhost:8080/base", 'has no scheme.\nWrite "http://localhost:8080/base".'),
        ("console.example.com", 'has no scheme.\nWrite "https://console.example.com".'),
        ("ftp://console.example.com", "does not begin with https://."),
    ],
)
def test_a_base_address_without_a_scheme(address, text, native, monkeypatch):
    monkeypatch.setenv("OPSCONSOLE_BASE_URL", address)
    assert text in native.run_plan(HOST, expect=1).err


def test_a_plan_is_not_written_over_another_file(native):
    native.write(HOST)
    program = native.folder / "main.py"
    program.write_text("print('mine')\n")
    native.console.reset_log()
    refused = native.run("plan", "--out", "main.py", expect=1)
    assert refused.err == (
        "Error: main.py exists already and is not a plan, so it is not overwritten.\n"
        "Name another file, or remove that file first.\n"
    )
    assert program.read_text() == "print('mine')\n"
    assert native.console.traffic()["total"] == 0


def test_a_plan_is_written_over_a_plan(native):
    native.write(HOST)
    (native.folder / "empty").touch()
    with zipfile.ZipFile(native.folder / "terraforms", "w") as archive:
        archive.writestr("tfplan", "")
    for name in ("new", "new", "empty", "terraforms", os.devnull):
        native.run("plan", "--out", name)
    with zipfile.ZipFile(native.folder / "photos.zip", "w") as archive:
        archive.writestr("photo", "")
    native.run("plan", "--out", "photos.zip", expect=1)


def test_an_unknown_specialty_is_answered_with_a_near_one(native):
    said = native.run_plan({"opsconsole_specialty": {"s": {"key": "linux-sever"}}}, expect=1).out
    assert "There is no specialty with the key 'linux-sever' that this key can see" in said
    assert 'Did you mean "linux-server"?' in said
    native.write({"opsconsole_specialty": {"s": {"key": "qqq"}}})
    assert "There are: " in native.run("plan", expect=1).out
    native.write({}, data={"opsconsole_specialty": {"s": {"name": "Linux sever"}}})
    assert 'Did you mean "Linux server"?' in native.run("plan", expect=1).out


def test_an_unknown_plugin_is_doubted_in_the_plan(native):
    native.apply(agent("plg_disk"))
    said = native.run_plan(agent("plg_disk", "plg_dsk")).out
    assert "Warning: No agent that was read has the plugin plg_dsk" in said
    assert 'Did you mean "plg_disk"?' in said
    attachment = {"agent_id": "${opsconsole_agent.x.id}", "plugin_id": "plg_disks"}
    whole = agent("plg_disk")
    del whole["opsconsole_agent"]["x"]["plugin_ids"]
    native.write({**whole, "opsconsole_agent_plugin": {"p": attachment}})
    assert "has the plugin plg_disks" in native.run("plan").out
    near = {"disk": '"plg_disk"', "disk_usage": 'plg_disk ("Disk usage")'}
    for mistaken, meant in near.items():
        assert f"Did you mean {meant}?" in native.run_plan(agent("plg_disk", mistaken)).out
    said = native.run_plan(agent("plg_disk", "plg_metrics")).out
    assert "They have plg_disk. No operation lists all plugins" in said
    assert "No agent that was read" not in native.run("plan", "--refresh=false").out


def test_lists_that_are_not_whole_prove_no_absence(native_on):
    native = native_on("truncated")
    plugins = ("disk", "logs", "metrics", "packages", "backup", "legacy")
    program = agent(*(f"plg_{name}" for name in plugins))
    program.pop("opsconsole_specialty")
    program["opsconsole_agent"]["x"]["specialty_id"] = "spc_linux"
    native.apply(program)
    fields = program["opsconsole_agent"]["x"]
    fields["plugin_ids"] = [*fields["plugin_ids"], "plg_firewall", "plg_dsk"]
    fields["specialty_id"] = "spc_linuz"
    fields["deletion_policy"] = "abandon"
    said = native.run_plan(program).out
    assert "No list that was read shows the plugin plg_dsk" in said
    assert "the plugin plg_firewall" not in said
    assert "There is no specialty" not in said


def test_an_agent_with_an_unknown_specialty_is_doubted_in_the_plan(native):
    program = agent()
    near = {"spc_linuz": '"spc_linux"', "linux-server": 'spc_linux ("linux-server")'}
    for mistaken, meant in near.items():
        program["opsconsole_agent"]["x"]["specialty_id"] = mistaken
        said = native.run_plan(program).out
        assert f"There is no specialty {mistaken} that this key can see" in said
        assert f"Did you mean {meant}" in said


def test_a_folder_without_a_state(native):
    said = native.run("drift", expect=1).err
    assert f"There is no state file (*.tfstate) in {native.folder} or below it." in said
    assert "Apply the program first" in said


def as_another_user(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user who does not own the folder, where this process may."""
    # That user may not read this Python either: what the command needs is imported before.
    script = (
        "import locale, os, sys\n"
        "import opsconsole.cli.plan, opsconsole.redaction, opsconsole.text\n"
        "from pathlib import Path\n"
        "from opsconsole.cli.main import main\n"
        "from opsconsole.language.synthesis import read_app\n"
        "Path('cdktf.json').exists() and read_app(Path('cdktf.json'))\n"
        "os.getuid() or os.setuid(65534)\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", script, *words], cwd=folder, capture_output=True, text=True
    )


@pytest.fixture
def unwritable() -> Any:
    """A folder that only its owner could write, where everybody gets to."""
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        yield folder
        folder.chmod(0o755)


def test_a_project_that_cannot_be_written(unwritable):
    (unwritable / "cdktf.json").write_text('{"language": "python", "app": "true"}')
    unwritable.chmod(0o555)
    seen = as_another_user(unwritable, "plan")
    assert seen.returncode == 1
    assert seen.stderr == (
        f"Error: The app cannot write its program to {unwritable / 'cdktf.out'}: Permission "
        "denied.\nLet this user write there, or name another directory in CDKTF_OUTDIR.\n"
    )


def test_a_folder_that_cannot_be_entered(unwritable):
    inner = unwritable / "app"
    inner.mkdir()
    (inner / "cdktf.json").write_text('{"app": "true"}')
    inner.chmod(0)
    unwritable.chmod(0o555)
    seen = as_another_user(unwritable, "plan", "--dir", "app")
    assert seen.returncode == 1
    assert "unexpected" not in seen.stderr
    assert "Traceback" not in seen.stderr
    inner.chmod(0o755)


def test_an_error_that_names_an_object_in_state_says_its_address(native):
    host = {"name": "web"}
    ids = {"host_id": "${opsconsole_host.web.id}", "specialty_id": "spc_linux"}
    resources = {
        "opsconsole_host": {"web": host},
        "opsconsole_specialty": {"linux": {"key": "linux-server"}},
        "opsconsole_agent": {"ops": {"name": "ops", **ids}},
    }
    native.apply(resources)
    agent_id = native.attributes("opsconsole_agent.ops")["id"]
    busy = {"status": 409, "code": "BUSY", "details": {"blocked_by": agent_id}}
    native.console.fault(operation="host_update", holds="knowledge", **busy)
    host["knowledge"] = "new"
    told = " ".join(native.apply(resources, expect=1).text.replace("│", " ").split())
    assert "opsconsole_agent.ops" in told
    assert f'"ops" ({agent_id})' in told
