"""Terraform and the native engine on one state: who holds it, what each reads of the other."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen

import pytest

from backend_places import SEVERAL_OBJECTS, on
from declarations import waiting_for
from engines import Terraform
from opsconsole.standin.main import main as standin
from opsconsole.state.lock import LockHeld
from opsconsole.state.objects import StateOutput
from patience import PATIENCE

pytestmark = pytest.mark.terraform


@contextmanager
def slowly_applying(engine: Terraform) -> Iterator[Popen[str]]:
    """Let Terraform hold the lock until the block ends."""
    gate = engine.folder / "gate"
    program = {"resource": waiting_for(gate)}
    (engine.folder / "slow.tf.json").write_text(json.dumps(program))
    process = engine.start("apply", "-auto-approve", "-no-color")
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if "slow: Provisioning" in line or "slow: Creating" in line:
                break
        yield process
    finally:
        gate.touch()
        said, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said + errors


@on("http", "pg", among=("http", "pg"))
@pytest.mark.parametrize("partly", [False, True])
def test_the_stand_in_goes_on_where_terraform_initialised(place, terraform_at, monkeypatch, partly):
    engine = terraform_at(place)
    note = engine.folder / ".terraform" / "terraform.tfstate"
    if partly:
        rest = [f"{name} = {json.dumps(value)}\n" for name, value in place.block.items()]
        (engine.folder / "rest.tfvars").write_text("".join(rest))
        program = {"terraform": {"backend": {place.kind: {}}}}
        (engine.folder / "main.tf.json").write_text(json.dumps(program))
        engine.run("init", "-input=false", "-reconfigure", "-backend-config=rest.tfvars")
    noted = note.read_bytes()
    monkeypatch.chdir(engine.folder)
    for words in (["plan", "-input=false"], ["init", "-input=false"], ["state", "list"]):
        assert standin(words) == 0
    assert note.read_bytes() == noted
    assert engine.plan_run().code == 0
    other = {"http": {"username": "x"}, "pg": {"schema_name": "x"}}
    changed = {place.kind: {**place.block, **other[place.kind]}}
    (engine.folder / "main.tf.json").write_text(json.dumps({"terraform": {"backend": changed}}))
    assert standin(["plan"]) == 1


@on("http", "pg", "gcs")
@pytest.mark.parametrize("stored", [False, True])
def test_a_native_run_keeps_terraform_out(place, terraform_at, tmp_path, stored):
    engine = terraform_at(place, one="x")
    if stored:
        engine.apply()
    with place.session(tmp_path / "native") as session:
        refused = engine.apply(expect=None)
        assert refused.code == 1
        if place.kind == "pg":
            # Terraform shows its own lock there: it has no way to name a holder.
            assert "lock" in refused.text
        elif place.kind == "http":
            # Terraform names the ID alone there, beside a lock of its own.
            assert json.loads(place.server.lock)["ID"] in refused.text
        else:
            assert "opsconsole apply" in refused.text
        session.state.set_output("kept", StateOutput("yes", "string"))
    assert engine.run("apply", "-auto-approve").code == 0


@on("pg", "s3-both", "azurerm")
def test_terraform_keeps_a_native_run_out(place, terraform_at, tmp_path):
    engine = terraform_at(place, one="x")
    engine.apply()
    with slowly_applying(engine):
        with pytest.raises(LockHeld) as held:
            place.session(tmp_path / "native")
        who = "PostgreSQL session" if place.kind == "pg" else "OperationTypeApply"
        assert who in str(held.value)
    with place.session(tmp_path / "native", timeout=300) as session:
        assert "terraform_data.slow" in session.state


@on("http")
def test_a_native_run_waits_for_terraform(place, terraform_at, tmp_path):
    engine = terraform_at(place, one="x")
    engine.apply()
    waited: list[str] = []
    with slowly_applying(engine):

        def waiting(holder: object) -> None:
            waited.append(str(holder))
            (engine.folder / "gate").touch()

        with place.session(tmp_path / "native", timeout=300, on_wait=waiting) as session:
            assert "terraform_data.slow" in session.state
    assert len(waited) == 1


@on("s3-row", "gcs", "azurerm")
def test_each_goes_on_with_what_the_other_wrote(place, terraform_at, tmp_path):
    engine = terraform_at(place, one="x", two="y")
    engine.apply()
    with place.session(tmp_path / "native") as session:
        outputs = {name: item.value for name, item in session.state.outputs.items()}
        assert outputs == {"one": "x", "two": "y"}
        item = session.state.get("terraform_data.one")
        assert item is not None
        session.state.remove("terraform_data.one")
    assert engine.plan_run().code == 2
    with place.session(tmp_path / "native") as session:
        session.state.put("terraform_data.one", item)
    assert engine.plan_run().code == 0
    assert engine.apply().code == 0
    with place.session(tmp_path / "other") as session:
        assert len(session.state) == 2


@on("http", "pg")
def test_a_state_begun_natively_is_gone_on_with(place, terraform_at, tmp_path):
    with place.session(tmp_path / "native") as session:
        session.state.set_output("one", StateOutput("x", "string"))
        session.intend("opsconsole_agent.a", "POST /api/v1/agents", {})
    engine = terraform_at(place, one="x")
    assert engine.outputs() == {"one": "x"}
    engine.apply()
    with place.session(tmp_path / "native") as session:
        assert "terraform_data.one" in session.state
        assert [intent.address for intent in session.open_intents] == ["opsconsole_agent.a"]


@on("gcs", among=SEVERAL_OBJECTS)
def test_workspaces_are_the_same_for_both(place, terraform_at, tmp_path, monkeypatch):
    engine = terraform_at(place, one="x")
    engine.run("workspace", "new", "blue")
    engine.apply()
    assert place.storage().workspaces() == ["default", "blue"]
    monkeypatch.setenv("TF_WORKSPACE", "blue")
    with place.session(tmp_path / "native") as session:
        assert "terraform_data.one" in session.state
    monkeypatch.setenv("TF_WORKSPACE", "green")
    with place.session(tmp_path / "native") as session:
        assert session.state.empty
        session.state.set_output("one", StateOutput("g", "string"))
    listed = engine.run("workspace", "list").out
    assert sorted(listed.replace("*", " ").split()) == ["blue", "default", "green"]
    engine.run("workspace", "select", "green")
    assert engine.outputs() == {"one": "g"}
