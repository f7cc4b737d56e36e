"""The same state file under this program and under the real terraform."""

import json
from subprocess import Popen
from typing import Any

import pytest

from declarations import waiting_for
from opsconsole.errors import UserError
from opsconsole.state.lock import LockInfo
from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject, StateOutput
from opsconsole.state.terraform_backend import read_with_terraform
from patience import PATIENCE, until

pytestmark = pytest.mark.terraform

DATA = {
    "terraform_data": {"one": {"input": "a<b>&"}, "many": {"count": 3, "input": "${count.index}"}}
}
OUTPUT = {"out": {"value": ["${terraform_data.one.id}"], "sensitive": True}}


def shown(terraform: Any) -> Any:
    found = json.loads(terraform.run("show", "-json").out)
    found.pop("terraform_version", None)
    return found


def test_a_state_of_terraforms_comes_back_byte_by_byte(terraform, state_path):
    terraform.declare(resource=DATA, output=OUTPUT)
    terraform.run("apply", "-auto-approve")
    data = state_path.read_bytes()
    state = State.parse(data)
    assert state.to_bytes() == data
    assert [*map(str, state.addresses())] == terraform.run("state", "list").out.splitlines()
    for address in list(state.addresses()):
        item = state.get(address)
        state.put(address, item)
    state.set_output("out", state.outputs["out"])
    assert not state.changed
    assert state.to_bytes() == data


def test_a_state_that_was_rewritten_is_read_by_terraform_unchanged(terraform, session, state_path):
    terraform.declare(resource=DATA, output=OUTPUT)
    terraform.run("apply", "-auto-approve")
    before, listed = shown(terraform), terraform.run("state", "list").out.splitlines()
    with session() as opened:
        item = opened.state.get("terraform_data.one")
        opened.state.put("terraform_data.extra", item._replace(dependencies=["terraform_data.one"]))
        opened.state.set_output("added", StateOutput("x", "string"))
    listed = sorted([*listed, "terraform_data.extra"])
    assert terraform.run("state", "list").out.splitlines() == listed
    with session() as opened:
        opened.state.remove("terraform_data.extra")
        opened.state.set_output("added", None)
    assert shown(terraform) == before
    terraform.run("plan", "-detailed-exitcode")
    data = state_path.read_bytes()
    terraform.run("apply", "-auto-approve", "-replace=terraform_data.many[1]")
    after = State.parse(state_path.read_bytes())
    assert after.lineage == State.parse(data).lineage
    assert after.serial > State.parse(data).serial
    assert after.to_bytes() == state_path.read_bytes()


def test_taint_deposed_and_moved_objects_are_terraforms_own(terraform, session):
    terraform.declare(resource=DATA)
    terraform.run("apply", "-auto-approve")
    with session() as opened:
        opened.state.taint("terraform_data.one")
        opened.state.move("terraform_data.many[2]", "terraform_data.many[7]")
        deposed = opened.state.depose("terraform_data.many[1]")
    said = terraform.run("plan", "-detailed-exitcode", expect=[2]).text
    assert "terraform_data.one is tainted, so must be replaced" in said
    assert f"terraform_data.many[1] (deposed object {deposed}) will be destroyed" in said
    assert "terraform_data.many[7] will be destroyed" in said
    assert "terraform_data.many[2] will be created" in said


@pytest.mark.parametrize("command", ["plan", "apply -auto-approve"])
def test_terraform_is_refused_while_we_hold_the_lock(terraform, session, command):
    terraform.declare(resource=DATA)
    with session(command="apply"):
        said = terraform.run(*command.split(), expect=[1]).text
    assert "Error acquiring the state lock" in said
    assert "opsconsole apply" in said
    assert "@" in said
    terraform.run(*command.split())


def waits_for_the_lock(running: Popen[str]) -> bool:
    """Read what a Terraform says, until it says that it waits."""
    return any("Acquiring state lock" in line for line in running.stdout)


def test_we_are_refused_or_wait_while_terraform_holds_the_lock(terraform, session, state_path):
    gate = state_path.with_name("gate")
    terraform.declare(resource=waiting_for(gate))
    running: Popen[str] = terraform.start("apply", "-auto-approve")
    info = state_path.with_name(".terraform.tfstate.lock.info")
    until(lambda: info.exists() and info.read_text().rstrip().endswith("}"))
    with pytest.raises(UserError, match=r"locked by .+@.+, OperationTypeApply, since 2"):
        session()
    told: list[str] = []

    def open_gate(info: LockInfo) -> None:
        told.append(info.operation)
        gate.touch()

    with session(timeout=PATIENCE, on_wait=open_gate) as opened:
        assert [str(address) for address in opened.state.addresses()] == ["terraform_data.slow"]
    assert told == ["OperationTypeApply"]
    said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said


@pytest.mark.parametrize("existing", [True, False])
def test_a_terraform_that_waits_loses_nothing(terraform, session, state_path, host, existing):
    if existing:
        terraform.declare(resource={"terraform_data": {"old": {"input": "x"}}})
        terraform.run("apply", "-auto-approve")
    opened = session()
    pet = InstanceObject(
        'provider["terraform.io/builtin/terraform"]',
        {"id": "kept", "input": None, "output": None, "triggers_replace": None},
    )
    opened.state.put("terraform_data.kept[0]", pet)
    terraform.declare(resource={"terraform_data": {"kept": {"count": 40}, "new": {"count": 2}}})
    running: Popen[str] = terraform.start("apply", "-auto-approve", "-lock-timeout=120s")
    assert waits_for_the_lock(running)
    for number in range(1, 40):
        opened.state.put(
            f"terraform_data.kept[{number}]",
            pet._replace(attributes={**pet.attributes, "id": f"kept-{number}"}),
        )
    opened.close()
    said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    state = State.parse(state_path.read_bytes())
    assert len(state) == 42
    item = state.get("terraform_data.kept[0]")
    assert item.attributes["id"] == "kept"


def test_a_run_that_wrote_nothing_is_nothing_to_terraform(terraform, session, state_path):
    session().close()
    assert not state_path.exists()
    terraform.declare(resource=DATA)
    opened = session()
    running: Popen[str] = terraform.start("apply", "-auto-approve", "-lock-timeout=120s")
    assert waits_for_the_lock(running)
    opened.close()
    said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    assert len(State.parse(state_path.read_bytes())) == 4


def test_the_state_of_another_program_is_read_through_terraform(
    terraform, session, state_path, monkeypatch
):
    with session() as opened:
        opened.state.set_output("o", StateOutput("x", "string"))
    # `state pull` refuses the first; the others are another program's backend and folder.
    monkeypatch.setenv("TF_CLI_ARGS", "-lock=false")
    monkeypatch.setenv("TF_CLI_ARGS_init", "-backend-config=path=other.tfstate")
    monkeypatch.setenv("TF_DATA_DIR", str(state_path.parent / "data"))
    name, state = read_with_terraform(
        "local", {"path": str(state_path), "workspace_dir": None}, "default"
    )
    assert (name, [*state.outputs]) == ("the local backend", ["o"])
    assert not (state_path.parent / "data").exists()
    with pytest.raises(UserError, match=r"terraform cannot read it: .*no-such"):
        read_with_terraform("no-such", {}, "default")
