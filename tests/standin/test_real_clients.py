"""The real cdktf and cdktn commands: on a PATH without Terraform, and cdktn through Terraform."""

import sys
from pathlib import Path

import pytest
from scripts.cdktn_twin import rename

from opsconsole.emulator import serve
from terminals import Session

APP = Path(__file__).resolve().parents[2] / "examples" / "fleet" / "main.py"
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
