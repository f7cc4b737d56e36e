"""A terminal that goes away during an apply loses nothing."""

import time

from declarations import agent_on
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
    console.fault(method="POST", path="/agents$", delay=0.25, times=None)
    command = [str(engine.program), "apply", "-auto-approve"]
    session = Session(command, engine.folder, engine.environment)
    while not console.rows("agents"):
        time.sleep(0.02)
    session.hang_up()
    assert session.process.wait(60) == 130
    created = console.rows("agents")
    assert 0 < len(created) < 8
    held = [item for item in engine.run("state", "list").out.split() if ".a[" in item]
    assert len(held) == len(created)
    console.clear_faults()
    engine.apply()
    assert len(console.rows("agents")) == 8
