"""Which states are checked: one, several, all under a folder; and what of a state is."""

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from consoles import call_api
from opsconsole.cli.drift import stack_names, state_files
from opsconsole.cli.main import main
from opsconsole.drift import stack
from opsconsole.errors import UserError
from opsconsole.reports.formats import FORMATS
from text_groups import read_rows

ROWS = read_rows(__file__)

LINUX = "opsconsole_specialty.linux"
ONE = {"opsconsole_specialty": {"linux": {"key": "linux-server"}}}
HOST = {"opsconsole_host": {"web": {"name": "web"}}}


@pytest.mark.parametrize(*ROWS["test_stack_names_of_state_files"])
def test_stack_names_of_state_files(paths, names):
    assert stack_names([Path(path) for path in paths]) == names


def test_states_are_found_under_a_folder(tmp_path):
    wanted = ["a/terraform.tfstate", "b/terraform.tfstate.d/dev/terraform.tfstate", "c.tfstate"]
    passed = [
        "a/.terraform/terraform.tfstate",
        "a/terraform.tfstate.backup",
        "a/errored.tfstate",
        "node_modules/x/terraform.tfstate",
        "a/terraform.tfstate.opsconsole-journal",
    ]
    for name in [*wanted, *passed]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert state_files([tmp_path]) == [tmp_path / name for name in wanted]
    assert state_files([tmp_path / "a", tmp_path / "a/terraform.tfstate"]) == [
        tmp_path / "a/terraform.tfstate"
    ]
    (tmp_path / "empty").mkdir()

    # A state is there once.
    state, link = tmp_path / "empty/a.tfstate", tmp_path / "empty/b.tfstate"
    state.touch()
    link.symlink_to(state)
    assert state_files([state, state.parent, tmp_path / "a/../empty/a.tfstate", link]) == [state]


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    """What lies in it is not checked, so nothing may be said of it by silence."""
    (tmp_path / "a.tfstate").touch()
    for name in ("shut", "lost+found"):
        (tmp_path / name).mkdir()
    scandir = os.scandir

    def refusing(place: str) -> Any:
        if Path(place).name in ("shut", "lost+found"):
            raise PermissionError(13, "Permission denied", place)
        return scandir(place)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(UserError, match="shut cannot be read: Permission denied"):
        state_files([tmp_path])
    (tmp_path / "shut").rmdir()
    assert state_files([tmp_path]) == [tmp_path / "a.tfstate"]


def test_a_file_name_that_is_no_text(native):
    native.apply(HOST)
    odd = os.fsdecode(b"odd\xff.tfstate")
    (native.folder / "terraform.tfstate").rename(native.folder / odd)
    files = [f"--format={name}=drift.{name}" for name in FORMATS]
    native.run("drift", odd, *files)
    assert all((native.folder / f"drift.{name}").read_text("utf-8") for name in FORMATS)


def test_one_several_and_all_share_one_search(native):
    for folder in ("a", "b/c", "d"):
        native.at(folder).apply(ONE)
    native.console.reset_log()
    found = native.drift(".", expect=0)
    in_sync = {item["stack"] for item in found.findings if item["bucket"] == "in_sync"}
    assert in_sync == {"a", "c", "d"}
    assert native.console.request_counts() == {"specialty_search": 1}
    native.console.change("specialties", "spc_linux", prompt="changed")
    for places, stacks in (
        (["a"], {"a"}),
        (["a/terraform.tfstate"], {"a"}),
        (["a", "b/c/terraform.tfstate"], {"a", "c"}),
        (["."], {"a", "c", "d"}),
        ([], {"a", "c", "d"}),
    ):
        found = native.drift(*places, expect=2)
        drifted = {item["stack"] for item in found.findings if item["bucket"] == "changed"}
        assert drifted == stacks


def test_a_plugin_attached_by_another_stack_is_managed(native, world):
    native.at("fleet").apply(**world())
    agent_id = native.at("fleet").id_of("opsconsole_agent.ops[0]")
    more = {"more": {"agent_id": agent_id, "plugin_id": "plg_logs"}}
    native.at("more").apply({"opsconsole_agent_plugin": more})
    assert native.drift(".").code == 0
    assert native.drift("fleet", expect=2).drifted == {f"{agent_id}/plg_logs"}


def test_states_of_one_console_under_other_settings_are_reported_together(native, world):
    """Settings differ from stack to stack; what one of them manages is not unmanaged."""
    fleet = world()
    native.apply(**fleet)
    agent_id = native.id_of("opsconsole_agent.ops[0]")
    more = {"agent_id": agent_id, "plugin_id": "plg_logs", "provider": "opsconsole.other"}
    fleet["resource"]["opsconsole_agent_plugin"]["more"] = more
    windows = {"key": "windows-server", "provider": "opsconsole.other"}
    fleet["resource"]["opsconsole_specialty"]["windows"] = windows
    fleet["provider"] = {"opsconsole": [{}, {"alias": "other", "org_id": "org_main"}]}
    native.apply(**fleet)
    found = native.drift(expect=0)
    assert not found.drifted
    shown = [item["id"] for item in found.findings if item["bucket"] == "unmanaged"]
    assert len(shown) == len(set(shown)) == 4


def test_an_agent_whose_host_is_in_another_state(native):
    native.at("z-hosts").apply(HOST)
    host_id = native.at("z-hosts").id_of("opsconsole_host.web")
    agent = {"host_id": host_id, "specialty_id": "spc_linux", "main_engine": "engine-a"}
    native.at("agents").apply({"opsconsole_agent": {"ops": {"name": "ops"} | agent}})
    call_api(native.console, "DELETE", f"/api/v1/hosts/{host_id}")
    native.console.reset_log()
    found = native.drift(".")
    assert found.bucket("opsconsole_agent.ops") == "archived"
    assert "opsconsole_host.web is gone" in found.of("opsconsole_agent.ops")["reason"]
    assert "plugin_list" not in native.console.request_counts()


def test_an_empty_state_file_is_an_error(native):
    """A write that a full disk cut short leaves one; a state without resources is no such file."""
    (native.folder / "empty.tfstate").write_text("")
    found = native.drift("empty.tfstate", expect=1)
    assert found.findings == []
    assert found.document["calls"] == {}
    assert "empty: its state is empty, so it was not checked" in found.told
    assert "there is no backup of it" in found.told
    assert "Coverage" not in native.run("drift", "empty.tfstate", expect=1).out
    (native.folder / "empty.tfstate.backup").write_text("{}")
    assert "Restore it from empty.tfstate.backup." in native.drift("empty.tfstate").told


def test_a_state_that_is_emptied_and_written_again_is_waited_for(native):
    """Terraform writes in place: a moment's emptiness is no state without resources."""
    native.apply(ONE)
    path = native.folder / "terraform.tfstate"
    text = path.read_text()
    path.write_text("")
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: path.write_text(text))
    native.monkeypatch.setattr(stack, "time", clock)
    found = native.drift("terraform.tfstate")
    assert found.bucket(LINUX) == "in_sync"


def test_a_program_without_a_state_is_an_error(native):
    native.write(ONE)
    assert "there is no state" in native.drift(expect=1).told
    # Asked what is not applied yet, that is all of it.
    pending = native.drift("--program", expect=0)
    assert pending.bucket(LINUX) == "pending"
    assert "warning: " in pending.told
    # What was destroyed has a state, in which nothing drifts.
    native.apply(ONE)
    native.apply()
    assert native.drift().code == 0


def test_nothing_to_check_is_an_error(native):
    for words in ((), ("nowhere.tfstate",), (".",)):
        ran = native.run("drift", *words, expect=1)
        assert ran.out == ""
        assert "no state" in ran.err
    assert f"There is no state file (*.tfstate) in {native.folder} or below it." in ran.err
    assert "Apply the program first" in ran.err


def test_settings_of_the_environment_serve_bare_states_and_imports(native_on, monkeypatch):
    """Only `host_get` shows a host, specialties come in pages, and a cookie is all there is."""
    native = native_on("extended")
    native.apply(HOST | ONE)
    (native.folder / "cdk.tf.json").unlink()
    native.console.switch(page_size=2, cursor_parameter="after")
    for name, value in {
        "BASE_URL": native.console.base_url,
        "SESSION_COOKIE": "console_session=session-key_main",
        "EXTRA_ENDPOINTS": '{"host_get": "GET /api/v1/hosts/{id}"}',
        "CURSOR_PARAMETER": "after",
        "CURSOR_FIELD": "next_cursor",
    }.items():
        monkeypatch.setenv(f"OPSCONSOLE_{name}", value)
    monkeypatch.delenv("OPSCONSOLE_API_KEY")
    monkeypatch.chdir(native.folder)
    (native.folder / "hosts.json").write_text('[{"name": "from-a-file"}]')
    native.console.reset_log()
    assert main(["drift", "--format", "json=report"]) == 0
    checked = json.loads((native.folder / "report").read_text())
    assert set(checked["calls"]) == {"host_get", "specialty_search"}
    assert checked["calls"]["specialty_search"] > 1
    assert main(["hosts", "import", "hosts.json"]) == 0
    assert "from-a-file" in {row["name"] for row in native.console.rows("hosts")}
    assert 401 not in {item["status"] for item in native.console.requests()}
