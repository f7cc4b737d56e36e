"""The commands on remote states: locks, workspaces, settings from outside, and what is refused."""

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend_places import Place, on
from declarations import agent_on
from engines import run_program
from opsconsole.errors import TRY_LATER
from opsconsole.standin.main import main as stand_in
from opsconsole.state.backend import Backend, LocalBackend
from opsconsole.state.backends.base import SharedBackend
from opsconsole.state.lock import LockInfo
from opsconsole.state.model import State
from opsconsole.state.place import local_path
from patience import PATIENCE, until

HOST = {"opsconsole_host": {"h": {"name": "web"}}}
SPECIALTY = {"opsconsole_specialty": {"s": {"key": "linux-server"}}}


def hosts(count: int) -> dict[str, Any]:
    """Return hosts with one agent each."""
    return {
        "opsconsole_host": {"h": {"count": count, "name": "h${count.index}"}},
        "opsconsole_agent": {"a": agent_on("h[count.index]", "a${count.index}", count=count)},
    }


@on("http", "gcs")
def test_a_whole_life_without_terraform(place, app, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    app.write("only", place, resource=HOST)
    app.run("apply", "-auto-approve")
    assert "No changes." in app.run("plan", "-detailed-exitcode")
    assert app.run("state", "list").split() == ["opsconsole_host.h"]
    app.run("drift", "--program")
    app.run("destroy", "-auto-approve")
    assert list(app.folder.rglob("*.tfstate*")) == []
    assert list(app.folder.rglob("*opsconsole-journal*")) == []


@on("http", "pg")
def test_workspaces(place, app):
    app.write("only", place, resource=HOST, data=SPECIALTY)
    if not place.has_workspaces:
        assert "has no workspaces" in app.run("workspace", "new", "blue", expect=1)
        return
    _workspaces(app, place.storage("blue"))


def test_workspaces_of_a_local_state(app):
    app.write("only", Path("terraform.tfstate"), resource=HOST, data=SPECIALTY)
    stack = app.folder / "cdktf.out/stacks/only"
    blue = LocalBackend(local_path(stack, {}, "blue"))
    _workspaces(app, blue)

    app.run("workspace", "new", "blue")
    (stack / ".terraform/environment").write_text("..")
    assert '".." cannot be the name of a workspace' in app.run("state", "list", expect=1)
    app.run("workspace", "select", "default")
    foreign = blue.path.with_name("notes.txt")
    foreign.touch()
    delete = ("workspace", "delete", "blue")
    assert "holds more than the state: notes.txt. Nothing" in app.run(*delete, expect=1)
    assert blue.path.exists()
    foreign.unlink()
    app.run(*delete)
    assert not blue.path.parent.exists()


def _workspaces(app: Any, blue: Backend) -> None:
    app.run("apply", "-auto-approve")
    for name in (".", "..", "a/b", "a?"):
        for verb in ("new", "select", "delete"):
            refused = app.run("workspace", verb, name, expect=1)
            assert f'"{name}" cannot be the name of a workspace' in refused
    app.run("workspace", "new", "blue")
    assert app.run("workspace", "show") == "blue\n"
    assert app.run("workspace", "list") == "  default\n* blue\n"
    assert app.run("state", "list") == ""
    directory = ("--dir", "cdktf.out/stacks/only")
    assert app.run("workspace", "list", *directory) == "  default\n* blue\n"
    assert 'There is no workspace "red"' in app.run("workspace", "select", "red", expect=1)
    assert "is selected" in app.run("workspace", "delete", "blue", expect=1)
    # No lock is taken, as in Terraform; the options of one are valid.
    assert app.run("workspace", "show", "-lock=false") == "blue\n"
    assert app.run("workspace", "list", "-lock=false") == "  default\n* blue\n"
    app.run("workspace", "select", "-lock=false", "default")
    assert app.run("state", "list").split() == ["data.opsconsole_specialty.s", "opsconsole_host.h"]
    blue.open()
    delete = ("workspace", "delete", "-force", "blue")
    assert "is locked by" in app.run(*delete, expect=TRY_LATER)
    if type(blue).__name__ == "AzurermBackend":
        # The lock is a lease, without which the service deletes nothing.
        assert "is locked by" in app.run(*delete, "-lock=false", expect=TRY_LATER)
        blue.close()
        app.run(*delete)
    else:
        app.run(*delete, "-lock=false")
        blue.close()
    app.run("workspace", "new", "blue")
    app.run("apply", "-auto-approve", "-target=data.opsconsole_specialty.s")
    assert app.run("state", "list").split() == ["data.opsconsole_specialty.s"]
    app.run("workspace", "select", "default")
    assert "no option" in app.run("workspace", "delete", "-state=x.tfstate", "blue", expect=1)
    app.run("workspace", "delete", "blue")
    assert app.run("workspace", "list") == "* default\n"


def test_a_backend_without_a_lock_wants_consent(app, make_place):
    place = make_place("http")
    block = {name: item for name, item in place.block.items() if "lock_address" not in name}
    app.write("only", Place("http", block, place.steal), resource=HOST)
    told = app.run("plan")
    assert told.index("name no lock") < told.index("opsconsole_host.h")
    assert "--unlocked-backend" in app.run("apply", "-auto-approve", expect=1)
    assert app.console.rows("hosts") == []
    app.run("apply", "-auto-approve", "--unlocked-backend")

    place = make_place("s3-file")
    block = {name: item for name, item in place.block.items() if name != "use_lockfile"}
    app.write("only", Place("s3", block, place.steal), resource=HOST)
    for verb in ("new", "delete"):
        refused = app.run("workspace", verb, "blue", expect=1)
        assert "--unlocked-backend" in refused
        app.run("workspace", verb, "blue", "--unlocked-backend")
        app.run("workspace", "select", "default")


def test_settings_come_from_outside(app, make_place, tmp_path):
    place = make_place("pg")
    app.write("only", Place("pg", {}, place.steal), resource=HOST)
    file = tmp_path / "backend.hcl"
    file.write_text(f'# where\nconn_str = "{place.block["conn_str"]}"\n')
    schema = f"-backend-config=schema_name={place.block['schema_name']}"
    app.run("apply", "-auto-approve", f"-backend-config={file}", schema)
    assert place.storage().read()
    assert "neither NAME=VALUE nor a file" in app.run("plan", "-backend-config=nowhere", expect=1)
    notes = app.folder / "cdktf.out/stacks/only/.terraform"
    notes.mkdir(exist_ok=True)
    for changes, code in (({"schema_name": "old"}, 1), ({}, 0)):
        noted = {"type": "pg", "config": {**place.block, **changes}}
        (notes / "terraform.tfstate").write_text(json.dumps({"version": 3, "backend": noted}))
        told = app.run("plan", *[schema] * code, expect=code)
        assert ("`schema_name` was 'old'" in told) is bool(code)


@on("gcs")
def test_a_place_that_is_not_that_of_the_last_run_is_refused(kind, app, make_place):
    """Nothing was initialised here: the native run noted by itself where it wrote."""
    place = make_place(kind)
    app.write("only", place, resource=HOST)
    app.run("apply", "-auto-approve")
    moved = {**place.block, **ELSEWHERE[place.kind]}
    for elsewhere in (replace(place, block=moved), Path("other.tfstate")):
        app.write("only", elsewhere, resource=HOST)
        for words in (["plan"], ["apply", "-auto-approve"], ["destroy", "-auto-approve"]):
            told = app.run(*words, expect=1)
            assert "changed since the last run" in told
            assert "init -migrate-state" in told
    assert len(app.console.rows("hosts")) == 1
    note = app.folder / "cdktf.out/stacks/only/.terraform/opsconsole-backend.json"
    assert str(note) in told
    noted = note.read_text()
    for secret in ("password", "access_key", "access_token", "conn_str"):
        assert str(place.block.get(secret, "-no-secret-")) not in noted
    app.write("only", place, resource=HOST)
    assert "No changes." in app.run("plan")
    note.unlink()
    app.write("only", Path("other.tfstate"), resource=HOST)
    assert "1 to add" in app.run("plan")


ELSEWHERE: dict[str, dict[str, Any]] = {
    "http": {"address": "http://127.0.0.1:9/other"},
    "pg": {"schema_name": "elsewhere"},
    "s3": {"key": "elsewhere"},
    "gcs": {"prefix": "elsewhere"},
    "azurerm": {"key": "elsewhere"},
}
"""Kind: settings of another place of the same kind."""


@on("http")
def test_a_state_beside_an_empty_place_goes_there_by_the_remedy(place, app):
    here = app.folder / "cdktf.out/stacks/only"
    of_cdktf, default = app.folder / "terraform.only.tfstate", here / "terraform.tfstate"
    app.write("only", of_cdktf, resource=HOST)
    app.run("apply", "-auto-approve")
    app.write("only", place, resource=HOST)
    for words in (["plan"], ["apply", "-auto-approve"]):
        told = app.run(*words, expect=1)
        assert f"a state with 1 object is in {of_cdktf}" in told
        assert f"copy it to {default}, then run `opsconsole-terraform init -migrate-state`" in told
    assert len(app.console.rows("hosts")) == 1
    shutil.copy(of_cdktf, default)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        assert stand_in(["init", "-migrate-state", "-force-copy"]) == 0
    assert "No changes." in app.run("plan")


@on("http", "pg")
def test_a_lost_machine_loses_five_seconds_at_most(kind, app, make_place):
    place = make_place(kind)
    app.write("only", place, resource=hosts(200))
    app.console.fault(operation="agent_create", skip=24, hold="before", times=None)
    storage = place.storage()
    with app.started("apply", "-auto-approve"):
        until(lambda: len(app.console.rows("hosts")) == 200)
        until(lambda: held(storage, "opsconsole_host") == 200)
        until(lambda: len(app.console.rows("agents")) == 24)
        until(lambda: app.console.traffic()["in_flight"])
    app.console.clear_faults()
    until(lambda: not app.console.traffic()["in_flight"])
    shutil.rmtree(app.folder / "cdktf.out")
    app.write("only", place, resource=hosts(200))
    if kind == "pg":
        until(lambda: storage.holder() is None)
    else:
        found = storage.holder()
        app.run("force-unlock", "-force", found.id)
    storage.close()
    told = app.run("apply", "-auto-approve", expect=None)
    assert len(app.console.rows("hosts")) == 200
    names = [row["name"] for row in app.console.rows("agents")]
    assert len(names) == len(set(names))
    # The documented operations cannot tell which agents in flight came to be: the run names them.
    unknown = re.findall(
        r"Error: It is not known whether opsconsole_agent\.(\S+) was created", told
    )
    assert unknown, told
    assert {f"a{number}" for number in range(200)} == {
        *names,
        *(name.replace("[", "").replace("]", "") for name in unknown),
    }


@on("pg")
def test_a_run_whose_lock_is_taken_away_stops(kind, app, make_place):
    place = make_place(kind)
    app.write("only", place, resource=hosts(200))
    app.console.fault(operation="agent_create", skip=1, hold="before", times=None)
    with app.started("apply", "-auto-approve") as process:
        until(lambda: app.console.rows("agents") and app.console.traffic()["in_flight"])
        place.steal()
        storage = place.storage()
        storage.lock(LockInfo.own("apply by another", ""))
        storage.read()
        app.console.clear_faults()
        process.wait(PATIENCE)
    assert process.returncode == 1, app.said
    assert "This run has lost the lock" in app.said
    assert "opsconsole-journal" in app.said
    assert len(app.console.rows("agents")) < 200
    storage.check_lock()
    storage.unlock()
    storage.close()
    told = app.run("apply", "-auto-approve", expect=None)
    names = [row["name"] for row in app.console.rows("agents")]
    assert len(names) == len(set(names))
    assert len(names) == 200 or "obody knows" in told, told[-2000:]


def held(storage: SharedBackend, type_name: str) -> int:
    """Return how many objects of a type are in the stored state."""
    state = State.parse(storage.read())
    return sum(address.type == type_name for address in state.addresses())


def test_the_journal_is_kept_where_a_pipeline_keeps_it(app, make_place, tmp_path):
    place = make_place("http")
    app.write("only", place, resource=hosts(3))
    journals = tmp_path / "journals"
    app.console.fault(operation="agent_create", hold="before", times=None)
    with app.started("apply", "-auto-approve", f"--journal-dir={journals}"):
        until(lambda: any(journals.glob("http.default.*.opsconsole-journal")))
        # The hosts are in the journal before their agents are sent.
        until(lambda: app.console.traffic()["in_flight"] == 3)
    app.console.clear_faults()
    place.steal()
    app.run("plan", f"--journal-dir={journals}", expect=None)
    assert len(app.run("state", "list", f"--journal-dir={journals}").split()) >= 3


def test_nothing_of_the_backends_is_imported_for_a_local_state(app):
    app.write("only", Path("terraform.tfstate"), resource=HOST)
    program = (
        "import sys, opsconsole\nfrom opsconsole.cli.main import main\n"
        "assert main(['plan']) == 0\n"
        "names = ('psycopg', 'boto3', 'botocore', 'azure', 'google.cloud', 'google.auth')\n"
        "found = [name for name in sys.modules if name.startswith(names)]\n"
        "assert found == [], found\n"
        "own = [name for name in sys.modules if name.startswith('opsconsole.state.backends.')]\n"
        "kinds = {'http', 'pg', 's3', 'gcs', 'azurerm'}\n"
        "assert not kinds & {name.rpartition('.')[2] for name in own}, own\n"
    )
    run_program(sys.executable, "-c", program, folder=app.folder, **app.console.environment)
