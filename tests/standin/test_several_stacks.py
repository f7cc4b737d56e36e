"""Several stacks with references between them, and an interrupted deploy, by the real clients.

By cdktn only where everything is wanted.
"""

import json
import os
import signal
import sys

import pytest
from scripts.cdktn_twin import rename

from opsconsole.emulator import serve
from patience import until
from terminals import Session

APP = """
from cdktf import App, TerraformOutput, TerraformStack
from opsconsole_cdktf import Agent, Host, OpsconsoleProvider

app = App()
ground = TerraformStack(app, "ground")
OpsconsoleProvider(ground, "provider")
jump = Host(ground, "jump", name="jump")

above = TerraformStack(app, "above")
OpsconsoleProvider(above, "provider", max_concurrency=1)
web = Host(above, "web", name="web", jump_host_ids=[jump.id])
TerraformOutput(above, "through", value=jump.id)
for number in range(6):
    Agent(
        above,
        f"agent-{number}",
        name=f"a{number}",
        main_engine="engine",
        host_id=web.id,
        specialty_id="spc_linux",
    )
app.synth()
"""


@pytest.mark.real_client
def test_stacks_and_an_interrupt(fork, deployer, real_terraform):
    with serve() as console:
        engine = deployer(console)
        source = rename(APP) if fork == "cdktn" else APP
        (engine.folder / "main.py").write_text(source, "utf-8")
        engine.configure(f"{sys.executable} main.py")
        interrupted(engine, console)

        assert "ERROR" not in engine.deploy("ground", "above").text
        assert len(console.rows("agents")) == 6
        jump = next(row["id"] for row in console.rows("hosts") if row["name"] == "jump")
        assert f"through = {jump}" in engine.run("output", "ground", "above").text

        for stack in ("ground", "above"):
            assert real_terraform(engine.stack_folder(stack), console).plan().actions == {}

        engine.destroy("ground", "above")
        assert console.rows("hosts") == []


def interrupted(engine, console) -> None:
    """Press Ctrl-C during a slow deploy; what was in flight is in state."""
    console.fault(method="POST", path="/agents$", delay=1.0, times=None)
    words = ("deploy", "--auto-approve", "--skip-provider-lock", "ground", "above")
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
