"""State through `terraform state pull` and `push`, on a real PostgreSQL.

The native engine speaks to PostgreSQL itself; here it stands for a backend that only Terraform
speaks to.
"""

import json
import os
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest

from backend_places import running_postgres
from declarations import waiting_for
from opsconsole.errors import UserError
from opsconsole.state import ConfiguredBackend
from opsconsole.state.backend import RunOptions
from opsconsole.state.lock import Locking
from opsconsole.state.model import State
from opsconsole.state.objects import StateOutput
from opsconsole.state.opening import backend_for, open_state, read_foreign, read_state
from opsconsole.state.session import StateSession
from opsconsole.state.terraform_backend import TerraformBackend, _same_objects
from patience import PATIENCE

pytestmark = pytest.mark.terraform

WEB = "opsconsole_host.web"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """A PostgreSQL; yields its connection string."""
    with running_postgres() as connection:
        yield connection


@pytest.fixture
def place(
    terraform: Any, postgres: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Any:
    """A working directory that is initialised on the backend, in a schema of the test's own."""
    for name in [name for name in os.environ if name.startswith("TF_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", os.devnull)
    schema = "s" + str(abs(hash(request.node.name)))
    block = {"conn_str": postgres, "schema_name": schema}
    terraform.declare(
        terraform={"backend": {"pg": block}}, resource={"terraform_data": {"one": {"input": "x"}}}
    )
    return terraform


def opened(place: Any, **locking: Any) -> StateSession:
    return open_state(TerraformBackend("pg", RunOptions(place.folder, locking=Locking(**locking))))


def stored(place: Any) -> State:
    return State.parse(place.run("state", "pull").out.encode())


async def test_state_is_pushed_and_terraform_goes_on_with_it(place):
    with opened(place) as session:
        assert session.state.empty
        session.state.set_output("o", StateOutput("x", "string"))
    lineage = stored(place).lineage
    assert session.state.lineage == lineage
    place.run("apply", "-auto-approve")
    assert [str(address) for address in stored(place).addresses()] == ["terraform_data.one"]
    with opened(place) as session:
        assert session.state.lineage == lineage
        item = session.state.get("terraform_data.one")
        for name, count in (("two", 2), ("three", 3)):
            before = session.state.serial
            session.state.put(f"terraform_data.{name}", item)
            await session.checkpoint()
            found = stored(place)
            assert (found.serial, len(found)) == (session.state.serial, count)
            assert found.serial > before
    assert sorted(path.name for path in place.folder.glob("*opsconsole*")) == []
    assert read_state(TerraformBackend("pg", RunOptions(place.folder))).lineage == lineage


@pytest.mark.parametrize("how", ["apply", "foreign"])
def test_what_another_pushed_meanwhile_is_not_written_over(place, host, how):
    place.run("apply", "-auto-approve")
    session = opened(place)
    session.state.put(WEB, host(1))
    if how == "apply":
        place.run("apply", "-auto-approve", "-replace=terraform_data.one")
    else:
        foreign = stored(place)
        foreign.lineage = "foreign"
        (place.folder / "foreign.json").write_bytes(foreign.to_bytes())
        place.run("state", "push", "-force", "foreign.json")
    before = stored(place).to_bytes()
    with pytest.raises(UserError, match=r"written by someone else meanwhile.*kept in the journal"):
        session.close()
    assert stored(place).to_bytes() == before
    if how == "foreign":
        with pytest.raises(UserError, match="belongs to another state: lineage"):
            opened(place)
        assert stored(place).to_bytes() == before
        return
    with opened(place) as again:
        assert again.folded_count == 1
    assert [*map(str, stored(place).addresses())] == [WEB, "terraform_data.one"]


def test_native_runs_in_one_directory_exclude_each_other(place):
    with opened(place) as first:
        assert first._backend._marker.stat().st_mode & 0o7777 == 0o600
        with pytest.raises(UserError, match=r"locked by .+, opsconsole apply"):
            opened(place)
    (again := opened(place)).close()
    again._backend.close()


def test_a_lock_of_the_backend_is_respected(place, host):
    gate = place.folder / "gate"
    backend = json.loads((place.folder / "main.tf.json").read_text())["terraform"]
    place.declare(terraform=backend, resource=waiting_for(gate))
    session = opened(place)
    session.state.put(WEB, host(1))
    running = place.start("apply", "-auto-approve", "-no-color")
    assert any("Creating" in line for line in running.stdout)
    with pytest.raises(UserError, match=r"state push` failed .*lock"):
        session.close()
    gate.touch()
    said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    with opened(place) as again:
        assert again.folded_count == 1
    assert len(stored(place)) == 2


def test_a_directory_that_is_not_initialised_says_so(terraform, tmp_path, monkeypatch):
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", os.devnull)
    (tmp_path / "main.tf.json").write_text('{"terraform": {"backend": {"pg": {}}}}')
    with pytest.raises(UserError, match=r"is not initialised.*Run `terraform init` in"):
        open_state(TerraformBackend("pg", RunOptions(tmp_path)))
    with pytest.raises(UserError, match=r"state pull` failed .*Run `terraform init` in"):
        read_state(TerraformBackend("pg", RunOptions(tmp_path)))


def test_without_terraform_a_remote_backend_is_one_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="no terraform or tofu is installed"):
        backend_for(ConfiguredBackend("consul", {}), RunOptions(tmp_path))
    with pytest.raises(UserError, match="no terraform or tofu is installed"):
        read_foreign(tmp_path, "consul", {}, "default")
    assert read_foreign(tmp_path, "local", {"path": "x"}, "default")[0] == str(tmp_path / "x")
    in_x = ConfiguredBackend("local", {"path": "x"})
    for configured, name in ((None, "terraform.tfstate"), (in_x, "x")):
        assert backend_for(configured, RunOptions(tmp_path)).name == str(tmp_path / name)
    (tmp_path / "tofu").symlink_to("/bin/true")
    found = backend_for(ConfiguredBackend("consul", {}), RunOptions(tmp_path))
    assert found.name == f"the consul backend of {tmp_path}"
    assert found.unlocked_reason().endswith(
        "through Terraform, which cannot hold its lock for a run."
    )
    assert found.journal == tmp_path / "consul.default.opsconsole-journal"
    (tmp_path / "tofu").unlink()
    with pytest.raises(UserError, match=r"^Cannot run .*/tofu: No such file or directory\."):
        found.read()


def test_a_pushed_state_is_known_by_its_objects(host):
    pushed = State.new()
    pushed.put(WEB, host(1))
    text = pushed.to_bytes().decode()
    for old, new, same in (
        ('"version": 4,', '"version": 4, "more": 1,', True),
        ('"hst_0001"', '"hst_0002"', False),
        ('"name": "web"', '"name": "db"', False),
        ("opsconsole_host.jump", "opsconsole_host.other", True),
    ):
        assert old in text
        assert _same_objects(State.parse(text.replace(old, new, 1).encode()), pushed) is same


def test_a_push_says_how_to_lock_and_is_read_back(tmp_path, monkeypatch):
    """A program that stores what it is given stands for Terraform."""
    program, place = tmp_path / "tofu", tmp_path / "state"
    steps = (
        '[ "$2" = pull ] && exec cat state\n'
        # It stores every state with the serial 3.
        '[ ! -e refuses ] && exec sed "/\\"serial\\"/s/[0-9]/3/" >state\n'
        "echo no definition; exit 1\n"
    )
    # Its own session, in which Ctrl-C does not reach it; no input; no arguments of the environment.
    shown = '$(($(cut -d" " -f6 /proc/$$/stat) == $$)) $TF_INPUT$TF_CLI_ARGS'
    program.write_text(f'#!/bin/sh\necho "{shown} $@" >>said\n{steps}')
    program.chmod(0o700)
    place.touch()
    monkeypatch.setenv("TERRAFORM_BINARY_NAME", str(program))
    monkeypatch.setenv("TF_CLI_ARGS", "-no-color")
    pushed = State.new("l")
    backend = TerraformBackend("consul", RunOptions(tmp_path, locking=Locking(timeout=1.5)))
    for serial, refused in ((3, ""), (2, ""), (1, "serial 3, not 1"), (4, "serial 3, not 4")):
        said = f"meanwhile: it has {refused}\\. It is as they left it" if refused else ""
        with pytest.raises(UserError, match=said) if refused else nullcontext():
            pushed.serial = serial
            assert backend.write(pushed.to_bytes()) == ("l", 3)
    said = "pull", "push -lock=true -lock-timeout=1500ms -", "pull"
    called = (tmp_path / "said").read_text().splitlines()
    assert called == [f"1 0 state {words}" for words in said] * 4
    (tmp_path / "refuses").touch()
    with pytest.raises(
        UserError, match=r"failed for the consul backend of .*: no definition\. The changes"
    ):
        backend.write(pushed.to_bytes())
    place.write_bytes(b"")
    with pytest.raises(UserError, match="it has lineage none, not l"):
        backend.write(pushed.to_bytes())
    for refused in (backend.workspaces, partial(backend.check_force_unlock, "id")):
        with pytest.raises(
            UserError, match=r"is reached through .*\. Use `.* (workspace|force-un)"
        ):
            refused()
    (tmp_path / ".terraform" / "consul.default.opsconsole-lock").mkdir(parents=True)
    (tmp_path / ".terraform" / "terraform.tfstate").touch()
    with pytest.raises(UserError, match=r"^Cannot write .*-lock: .* Nothing was changed\."):
        backend.open()
