"""The real cdktf and cdktn commands: on a PATH without Terraform, and cdktn through Terraform."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from scripts.cdktn_twin import rename

from consoles import CONSOLES
from engines import ROOT
from opsconsole.emulator import serve
from patience import until
from sampling import EVERYTHING
from terminals import Session

APP = ROOT / "examples" / "fleet" / "main.py"
TWO_STACKS = Path(__file__).parents[1] / "support" / "two_stacks.py"
BOTH = ("ground", "above")
DOWN, ENTER = "\x1b[B", "\r"


def fleet(engine, fork: str) -> None:
    """Put the example fleet there, written for a fork."""
    source = APP.read_text("utf-8")
    renamed = rename(source) if fork == "cdktn" else source
    (engine.folder / "main.py").write_text(renamed, "utf-8")
    engine.configure(f"{sys.executable} main.py")


def answered(engine, verb: str, *keys: str) -> str:
    """Run a verb in a terminal and answer its question; return what it wrote."""
    # Where CI is set, the clients draw no question.
    unset = ("TF_INPUT", "CI", "CONTINUOUS_INTEGRATION", "BUILD_NUMBER", "RUN_ID")
    environment = {name: value for name, value in engine.environment.items() if name not in unset}
    session = Session([str(engine.program), verb], engine.folder, environment)
    session.wait_for("Approve")
    for key in keys:
        session.choose(key)
        # The choice is described once it is marked; a key that comes before that is lost.
        session.wait_for("Does not apply")
    session.choose(ENTER)
    assert session.finish() == 0, session.text
    return session.text


@pytest.mark.real_client
def test_the_fleet_without_terraform(fork, deployer, real_terraform):
    with serve() as console:
        engine = deployer(console)
        fleet(engine, fork)

        def hosts() -> set[str]:
            return {row["name"] for row in console.rows("hosts")}

        planned = engine.run("diff").text
        assert "1 to adopt, 22 to add, 0 to change, 0 to destroy" in planned
        assert "ERROR" not in planned

        answered(engine, "deploy", DOWN)
        assert hosts() == set()

        deployed = answered(engine, "deploy")
        assert "Apply complete! Resources: 1 adopted, 22 added" in deployed
        assert "ERROR" not in deployed
        assert "web-north" in hosts()
        assert "north_jump_host = hst_" in engine.run("output").text

        assert real_terraform(engine.stack_folder("fleet"), console).plan().actions == {}

        answered(engine, "destroy")
        assert hosts() == set()


@pytest.mark.real_client
@pytest.mark.cdktn
def test_the_fleet_by_cdktn_through_terraform(cdktn_cli):
    with serve() as console:
        engine = cdktn_cli(console)
        fleet(engine, "cdktn")
        engine.deploy()
        assert "web-north" in {row["name"] for row in console.rows("hosts")}
        assert "No changes. Your infrastructure matches the configuration." in engine.diff().text
        engine.destroy()
        assert console.rows("hosts") == []


@pytest.mark.real_client
def test_stacks_and_an_interrupt(fork, deployer, real_terraform):
    with serve() as console:
        told = {"FORK": fork, "SETTINGS": '{"max_concurrency": 1}', "AGENTS": "6"}
        engine = deployer(console, **{f"TWO_STACKS_{name}": text for name, text in told.items()})
        engine.configure(f"{sys.executable} {TWO_STACKS}")
        interrupted(engine, console)

        assert "ERROR" not in engine.deploy(*BOTH).text
        assert len(console.rows("agents")) == 6
        jump = next(row["id"] for row in console.rows("hosts") if row["name"] == "jump")
        assert f"through = {jump}" in engine.run("output", *BOTH).text

        for stack in BOTH:
            assert real_terraform(engine.stack_folder(stack), console).plan().actions == {}

        engine.destroy(*BOTH)
        assert console.rows("hosts") == []


def interrupted(engine, console) -> None:
    """Press Ctrl-C during a slow deploy; what was in flight is in state."""
    # When the first of six agents is reported, five are left. They are slow, so that the interrupt
    # comes before the last of them is created.
    console.fault(method="POST", path="/agents$", delay=4.0, times=None)
    words = ("deploy", "--auto-approve", "--skip-provider-lock", *BOTH)
    # Where CI is set, cdktf writes nothing before its end.
    environment = {name: text for name, text in engine.environment.items() if name != "CI"}
    session = Session([str(engine.program), *words], engine.folder, environment)
    # What is not read fills the terminal, and cdktf waits.
    session.wait_for("(agent-0): Creation complete")
    os.killpg(session.process.pid, signal.SIGINT)
    session.finish()
    state = engine.folder / "terraform.above.tfstate"

    def settled() -> bool:
        if console.traffic()["in_flight"] or not state.exists():
            return False
        found = json.loads(state.read_text() or "{}").get("resources", [])
        held = [item for item in found if item["type"] == "opsconsole_agent"]
        return len(held) == len(console.rows("agents"))

    until(settled)
    assert 0 < len(console.rows("agents")) < 6
    console.clear_faults()


@pytest.mark.skipif(not EVERYTHING, reason="OPSCONSOLE_TEST_EVERYTHING is not set")
@pytest.mark.parametrize("profile", CONSOLES)
def test_stacks_on_each_profile(fork, profile, deployer, real_terraform):
    """Only where everything is wanted: each takes 20 s of CPU time."""
    with serve(CONSOLES[profile]) as console:
        settings = json.dumps(console.profile.provider_settings)
        told = {"TWO_STACKS_FORK": fork, "TWO_STACKS_SETTINGS": settings}
        engine = deployer(console, **told)
        engine.configure(f"{sys.executable} {TWO_STACKS}")

        deploy(engine, console)
        assert {row["name"] for row in console.rows("hosts")} == {"jump", "web"}
        assert "No changes." in engine.diff("--skip-synth", "above").text
        for stack in BOTH:
            assert real_terraform(engine.stack_folder(stack), console).plan().actions == {}

        refused = console.profile.archived_agents_block
        destroyed = engine.destroy("--skip-synth", *BOTH, expect=[1] if refused else [0]).text
        assert "req_" in destroyed or not refused
        assert console.rows("hosts") == []


def deploy(engine, console) -> None:
    """Deploy; a console that imports on a dry run takes one request of hosts in each run."""
    runs = 1
    while engine.deploy(*BOTH, expect=None if not console.profile.honours_dry_run else [0]).code:
        runs += 1
        assert runs <= 4
