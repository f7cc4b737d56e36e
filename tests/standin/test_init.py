"""`init` notes the backend as Terraform does, and copies the state where it has changed."""

import json
import subprocess

import pytest

from native_project import PROVIDER, intents_left, leave_intents
from opsconsole.state import Intent

HOST = {"resource": {"opsconsole_host": {"web": {"name": "web"}}}}


def local(path: str | float = "", **settings: str):
    backend = settings | ({"path": path} if path else {})
    return HOST | {"terraform": {"backend": {"local": backend}}}


def noted(engine):
    return json.loads((engine.folder / ".terraform" / "terraform.tfstate").read_text())


def answered(engine, answer: str, *words: str, **variables: str) -> subprocess.CompletedProcess:
    """Run the program with an answer on stdin."""
    environment = {**engine.environment, "TF_INPUT": "1", **variables}
    command = [engine.program, *words]
    return subprocess.run(
        command, cwd=engine.folder, env=environment, input=answer, capture_output=True, text=True
    )


@pytest.mark.terraform
@pytest.mark.parametrize(
    "settings", [{}, {"path": "ä b.tfstate"}, {"path": "a", "workspace_dir": 'w"\\\n'}]
)
def test_the_note_is_the_one_that_terraform_writes(standin, installed_terraform, settings):
    program = local(**settings)
    ours, theirs = standin(program), installed_terraform(program)
    assert noted(ours) == noted(theirs)
    ours.run("init", OPSCONSOLE_ENGINE="native")
    assert noted(ours) == noted(theirs)


def test_the_directory_must_be_initialised_for_the_backend(standin, console_of):
    engine = standin(local("one"), console_of("strict"), init=False)
    assert "please run `init`" in engine.run("plan", expect={1}).err
    engine.init()
    engine.apply()
    engine.write(local(2.5))
    assert "Reason: the backend configuration has changed" in engine.run("plan", expect={1}).err
    engine.write(local("two"))
    for verb in ("plan", "apply", "output", "destroy", "refresh"):
        assert "Reason: the backend configuration has changed" in engine.run(verb, expect={1}).err
    assert "Backend configuration changed" in engine.run("init", expect={1}).err
    engine.write(HOST)
    assert '"local" is no longer in the program' in engine.run("plan", expect={1}).err


def test_a_changed_backend_takes_the_state_along(standin, console_of):
    engine = standin(local("one"), console_of("strict"))
    engine.apply()
    engine.write(local("two"))
    assert answered(engine, "yes\n", "init", "-migrate-state").returncode == 0
    assert engine.plan().actions == {}
    one, two = (json.loads((engine.folder / name).read_text()) for name in ("one", "two"))
    assert one == two
    engine.write(local("three"))
    engine.run("init", "-reconfigure")
    assert engine.plan().actions == {"opsconsole_host.web": ["create"]}


@pytest.mark.parametrize("applied", [False, True], ids=["without a state", "with a state"])
def test_a_call_of_unknown_outcome_is_not_left_behind(standin, console_of, applied):
    engine = standin(local("one"), console_of("strict"))
    if applied:
        engine.apply()
    details = {"verb": "create", "planned": {"name": "web"}, "provider": PROVIDER}
    call = Intent("1", "opsconsole_host.web", "host_import", details, "2026-01-01")
    leave_intents(engine.folder / "one", [call])
    engine.write(local("two"))
    refused = engine.run("init", "-force-copy", expect={1}).err
    assert "did not learn the outcome of opsconsole_host.web (host_import)" in refused
    assert intents_left(engine.folder / "one") == [call]
    assert not (engine.folder / "two").exists()


@pytest.mark.parametrize("answer", ["no\n", "perhaps\n", ""])
def test_the_state_is_copied_with_a_yes_alone(standin, console_of, answer):
    engine = standin(local("one"), console_of("strict"))
    engine.apply()
    engine.write(local("two"))
    said = answered(engine, answer, "init", "-migrate-state")
    assert "Do you want to copy existing state to the new backend?" in said.stdout
    assert not (engine.folder / "two").exists() or (engine.folder / "two").read_text() == ""
    assert (said.returncode == 0) is (answer == "no\n")


def test_nothing_is_asked_where_nothing_may_be(standin, console_of):
    engine = standin(local("one"), console_of("strict"))
    engine.apply()
    engine.write(local("two"))
    run = engine.run("init", "-migrate-state", "-input=false", expect={1})
    assert "-input=false forbids the question" in run.err
    engine.run("init", "-force-copy", "-input=false")
    assert engine.plan().actions == {}


def test_a_state_without_backend_block_moves_into_the_first_one(standin, console_of):
    engine = standin(HOST, console_of("strict"))
    engine.apply()
    engine.write(local("one"))
    assert answered(engine, "yes\n", "init").returncode == 0
    assert engine.plan().actions == {}
    assert (engine.folder / "terraform.tfstate").read_text() == ""
    assert (engine.folder / "terraform.tfstate.backup").read_text() != ""
    engine.write(HOST)
    assert answered(engine, "yes\n", "init", "-migrate-state").returncode == 0
    assert engine.plan().actions == {}
    assert "backend" not in noted(engine)


def test_settings_on_the_command_line_are_noted_and_used(standin, console_of):
    engine = standin(local(), console_of("strict"), init=False)
    engine.run("init", "-backend-config=path=elsewhere")
    engine.apply()
    assert (engine.folder / "elsewhere").read_text() != ""
    assert not (engine.folder / "terraform.tfstate").exists()
    assert engine.plan().actions == {}
    assert engine.run("state", "pull").out != ""
    run = engine.run("init", "-backend-config=path=third", expect={1})
    assert "Backend configuration changed" in run.err
    run = engine.run("init", "-backend-config=nonsense=1", expect={1})
    assert 'has no setting "nonsense"' in run.err


def test_init_as_json_is_a_stream(standin):
    engine = standin(local("one"), init=False)
    kinds = [message["type"] for message in engine.run("init", "-json").messages]
    assert kinds[0] == "version"
    assert set(kinds[1:]) == {"init_output"}
    engine.write(local("two"))
    run = engine.run("init", "-json", expect={1})
    assert "Backend configuration changed" in run.errors[0]["summary"]


@pytest.mark.terraform
def test_both_engines_go_on_with_what_the_other_initialised(
    standin, installed_terraform, console_of
):
    console = console_of("strict")
    engine = standin(local("state"), console)
    engine.apply()
    beside = installed_terraform(local(str(engine.folder / "state")), console)
    assert beside.plan().actions == {}
    beside.apply()
    assert engine.plan().actions == {}
