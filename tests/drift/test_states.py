"""Which states are checked: one, several, all under a folder; and what of a state is."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from opsconsole.cli.main import main
from opsconsole.drift.state_files import stack_names, state_files
from opsconsole.errors import UserError
from opsconsole.reports.formats import FORMATS

LINUX = "opsconsole_specialty.linux"
ONE = {"resource": {"opsconsole_specialty": {"linux": {"key": "linux-server"}}}}
HOST = {"resource": {"opsconsole_host": {"web": {"name": "web"}}}}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/a/fleet/terraform.tfstate"], ["fleet"]),
        (["/a/terraform.fleet.tfstate"], ["fleet"]),
        (["/a/north.tfstate", "/a/south.tfstate"], ["north", "south"]),
        (["/a/x/terraform.tfstate", "/b/x/terraform.tfstate"], ["a/x", "b/x"]),
        (["/a/terraform.x.tfstate", "/b/terraform.x.tfstate"], ["a/x", "b/x"]),
        (["/a/x/terraform.tfstate", "/a/x.tfstate"], ["a/x", "x"]),
        (["/a/p/terraform.tfstate.d/dev/terraform.tfstate"], ["p/dev"]),
        (["/terraform.tfstate"], [""]),
        ([], []),
    ],
)
def test_names(paths, names):
    found = stack_names([Path(path) for path in paths])
    assert len(set(found)) == len(found)
    if names != ["a/x", "x"]:
        assert found == names


def test_what_is_found_under_a_folder(tmp_path):
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
    with pytest.raises(UserError, match="no state file"):
        state_files([tmp_path / "empty"])
    with pytest.raises(UserError, match="There is no state"):
        state_files([tmp_path / "nowhere.tfstate"])


def test_a_state_is_there_once(tmp_path):
    state = tmp_path / "a.tfstate"
    state.touch()
    (tmp_path / "b.tfstate").symlink_to(state)
    places = [state, tmp_path, tmp_path / "x" / ".." / "a.tfstate", tmp_path / "b.tfstate"]
    (tmp_path / "x").mkdir()
    assert state_files(places) == [state]


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


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_name_that_is_no_text(name, ground):
    ground.apply(HOST)
    odd = os.fsdecode(b"odd\xff.tfstate")
    (ground.folder / "terraform.tfstate").rename(ground.folder / odd)
    ground.run("drift", odd, "--format", f"{name}=report", expect=0)
    assert (ground.folder / "report").read_text("utf-8")


def test_one_several_and_all(ground):
    for folder in ("a", "b/c"):
        ground.apply(ONE, folder)
    ground.console.change("specialties", "spc_linux", prompt="changed")
    for places, stacks in (
        (["a"], {"a"}),
        (["a/terraform.tfstate"], {"a"}),
        (["a", "b/c/terraform.tfstate"], {"a", "c"}),
        (["."], {"a", "c"}),
        ([], {"a", "c"}),
    ):
        found = ground.drift(*places, expect=2)
        drifted = {item["stack"] for item in found.findings if item["bucket"] == "changed"}
        assert drifted == stacks


def test_several_states_of_one_console_share_one_search(ground):
    for folder in ("a", "b", "c"):
        ground.apply(ONE, folder)
    ground.console.reset_log()
    found = ground.drift(".", expect=0)
    in_sync = {item["stack"] for item in found.findings if item["bucket"] == "in_sync"}
    assert in_sync == {"a", "b", "c"}
    assert ground.console.request_counts() == {"specialty_search": 1}


def test_a_plugin_attached_by_another_stack_is_managed(ground, world):
    ground.apply(world(), "fleet")
    agent_id = ground.id_of("opsconsole_agent.ops[0]", "fleet")
    more = {"more": {"agent_id": agent_id, "plugin_id": "plg_logs"}}
    ground.apply({"resource": {"opsconsole_agent_plugin": more}}, "more")
    assert ground.drift(".").code == 0
    assert ground.drift("fleet", expect=2).drifted == {f"{agent_id}/plg_logs"}


def test_states_of_one_console_under_other_settings_are_reported_together(ground, world):
    """Settings differ from stack to stack; what one of them manages is not unmanaged."""
    fleet = world()
    ground.apply(fleet)
    agent_id = ground.id_of("opsconsole_agent.ops[0]")
    more = {"agent_id": agent_id, "plugin_id": "plg_logs", "provider": "opsconsole.other"}
    fleet["resource"]["opsconsole_agent_plugin"]["more"] = more
    windows = {"key": "windows-server", "provider": "opsconsole.other"}
    fleet["resource"]["opsconsole_specialty"]["windows"] = windows
    fleet["provider"] = {"opsconsole": [{}, {"alias": "other", "org_id": "org_main"}]}
    ground.apply(fleet)
    found = ground.drift(expect=0)
    assert not found.drifted
    shown = [item["id"] for item in found.findings if item["bucket"] == "unmanaged"]
    assert len(shown) == len(set(shown)) == 4


def test_an_agent_whose_host_is_in_another_state(ground):
    ground.apply(HOST, "z-hosts")
    host_id = ground.id_of("opsconsole_host.web", "z-hosts")
    agent = {"host_id": host_id, "specialty_id": "spc_linux", "main_engine": "engine-a"}
    ground.apply({"resource": {"opsconsole_agent": {"ops": {"name": "ops"} | agent}}}, "agents")
    ground.call("DELETE", f"/api/v1/hosts/{host_id}")
    ground.console.reset_log()
    found = ground.drift(".")
    assert found.bucket("opsconsole_agent.ops") == "archived"
    assert "opsconsole_host.web is gone" in found.of("opsconsole_agent.ops")["reason"]
    assert "plugin_list" not in ground.console.request_counts()


def test_a_state_that_cannot_be_read_hides_no_other(ground):
    ground.apply(ONE, "a")
    (ground.folder / "b.tfstate").write_text('{"version": 9}')
    found = ground.drift("a", "b.tfstate", expect=1)
    assert found.bucket(LINUX) == "in_sync"
    assert "b: its state was not read" in found.told


def test_an_empty_state_file_is_an_error(ground):
    """A write that a full disk cut short leaves one; a state without resources is no such file."""
    (ground.folder / "empty.tfstate").write_text("")
    found = ground.drift("empty.tfstate", expect=1)
    assert found.findings == []
    assert found.document["calls"] == {}
    assert "empty: its state is empty, so it was not checked" in found.told
    assert "there is no backup of it" in found.told
    assert "Coverage" not in ground.run("drift", "empty.tfstate")[1]
    (ground.folder / "empty.tfstate.backup").write_text("{}")
    assert "Restore it from empty.tfstate.backup." in ground.drift("empty.tfstate").told


def test_a_state_that_is_emptied_and_written_again_is_waited_for(ground):
    """Terraform writes in place: a moment's emptiness is no state without resources."""
    ground.apply(ONE)
    path = ground.folder / "terraform.tfstate"
    text = path.read_text()
    path.write_text("")
    timer = threading.Timer(0.2, path.write_text, [text])
    timer.start()
    found = ground.drift("terraform.tfstate")
    timer.join()
    assert found.bucket(LINUX) == "in_sync"


def test_a_program_without_a_state_is_an_error(ground):
    ground.write(ONE)
    assert "there is no state" in ground.drift(expect=1).told
    # Asked what is not applied yet, that is all of it.
    pending = ground.drift("--program", expect=0)
    assert pending.bucket(LINUX) == "pending"
    assert "warning: " in pending.told
    # What was destroyed has a state, in which nothing drifts.
    ground.apply(ONE)
    ground.apply({"resource": {}})
    assert ground.drift().code == 0


def test_nothing_to_check_is_an_error(ground):
    for words in ((), ("nowhere.tfstate",), (".",)):
        code, out, err = ground.run("drift", *words)
        assert code == 1
        assert out == ""
        assert "no state" in err


def test_settings_of_the_environment_serve_bare_states_and_imports(ground_on, monkeypatch):
    """Only `host_get` shows a host, specialties come in pages, and a cookie is all there is."""
    ground = ground_on("extended")
    ground.apply({"resource": HOST["resource"] | ONE["resource"]})
    (ground.folder / "main.tf.json").unlink()
    ground.console.switch(page_size=2, cursor_parameter="after")
    for name, value in {
        "BASE_URL": ground.console.base_url,
        "SESSION_COOKIE": "console_session=session-key_main",
        "EXTRA_ENDPOINTS": '{"host_get": "GET /api/v1/hosts/{id}"}',
        "CURSOR_PARAMETER": "after",
        "CURSOR_FIELD": "next_cursor",
    }.items():
        monkeypatch.setenv(f"OPSCONSOLE_{name}", value)
    monkeypatch.chdir(ground.folder)
    (ground.folder / "hosts.json").write_text('[{"name": "from-a-file"}]')
    ground.console.reset_log()
    assert main(["drift", "--format", "json=report"]) == 0
    checked = json.loads((ground.folder / "report").read_text())
    assert set(checked["calls"]) == {"host_get", "specialty_search"}
    assert checked["calls"]["specialty_search"] > 1
    assert main(["hosts", "import", "hosts.json"]) == 0
    assert "from-a-file" in {row["name"] for row in ground.console.rows("hosts")}
    assert 401 not in {item["status"] for item in ground.console.requests()}
