"""A terminal that goes away during an apply loses nothing."""

from declarations import agent_on
from patience import PATIENCE, until
from terminals import Session

AGENTS = {
    "resource": {
        "opsconsole_host": {"web": {"name": "web"}},
        "opsconsole_agent": {"a": agent_on("web", "a${count.index}", count=8)},
    },
    "provider": {"opsconsole": {"max_concurrency": 1}},
}


def test_what_is_in_flight_is_finished_and_saved(standin, console_of):
    console = console_of("default")
    engine = standin(AGENTS, console, init=False)
    console.fault(operation="agent_create", skip=1, hold="after", times=None)
    command = [str(engine.program), "apply", "-auto-approve"]
    session = Session(command, engine.folder, engine.environment)
    until(lambda: console.traffic()["in_flight"] and len(console.rows("agents")) == 2)
    session.hang_up()
    console.clear_faults()
    assert session.process.wait(PATIENCE) == 130
    created = console.rows("agents")
    assert 0 < len(created) < 8
    held = [item for item in engine.run("state", "list").out.split() if ".a[" in item]
    assert len(held) == len(created)
    engine.apply()
    assert len(console.rows("agents")) == 8
