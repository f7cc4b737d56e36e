"""A small CDKTF program with every resource; run as a program, it synthesises.

The provider's settings come as JSON in SMALL_STACK_SETTINGS.
"""

from __future__ import annotations

import json
import os

from cdktf import App, TerraformStack

from opsconsole_cdktf import (
    Agent,
    AgentPlugin,
    BlacklistedCommand,
    Host,
    OpsconsoleProvider,
    Specialty,
)


def build(stack: TerraformStack) -> None:
    """Declare a jump host, a host behind it with an agent, and what is adopted."""
    OpsconsoleProvider(
        stack, "opsconsole", **json.loads(os.environ.get("SMALL_STACK_SETTINGS", "{}"))
    )
    linux = Specialty(stack, "linux", key="linux-server")
    jump = Host(stack, "jump", name="jump", public_ip="192.0.2.1", is_jump_host=True)
    web = Host(
        stack,
        "web",
        name="web",
        public_ip="192.0.2.2",
        jump_host_ids=[jump.id],
        tags=["role:web", "env:test"],
    )
    agent = Agent(
        stack, "agent", name="agent", host_id=web.id, specialty_id=linux.id, main_engine="e1"
    )
    AgentPlugin(stack, "disk", agent_id=agent.id, plugin_id="plg_disk")
    BlacklistedCommand(stack, "format", id="blk_format", pattern="mkfs.*")


if __name__ == "__main__":
    app = App()
    build(TerraformStack(app, "small"))
    app.synth()
