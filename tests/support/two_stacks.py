"""Two stacks with every kind of resource; the second refers to the first.

Run as a program it synthesises them, with the framework, the provider's settings and so many agents
as the environment says.
"""

import importlib
import json
import os

FORK = os.environ["TWO_STACKS_FORK"]
SETTINGS = json.loads(os.environ["TWO_STACKS_SETTINGS"])
AGENTS = int(os.environ.get("TWO_STACKS_AGENTS", "1"))


def synthesise() -> None:
    """Write both stacks."""
    framework = importlib.import_module(FORK)
    own = importlib.import_module(f"opsconsole_{FORK}")
    app = framework.App()

    ground = framework.TerraformStack(app, "ground")
    own.OpsconsoleProvider(ground, "provider", **SETTINGS)
    jump = own.Host(ground, "jump", name="jump", is_jump_host=True, tags=["site:north"])
    linux = own.Specialty(ground, "linux", key="linux-server")
    own.BlacklistedCommand(ground, "format", id="blk_format", pattern="mkfs*")
    framework.TerraformOutput(ground, "jump_host", value=jump.id)

    above = framework.TerraformStack(app, "above")
    own.OpsconsoleProvider(above, "provider", **SETTINGS)
    web = own.Host(above, "web", name="web", jump_host_ids=[jump.id], target_port=22)
    declared = {"main_engine": "e", "host_id": web.id, "specialty_id": linux.id}
    agents = [own.Agent(above, f"agent-{n}", name=f"a{n}", **declared) for n in range(AGENTS)]
    own.AgentPlugin(above, "disk", agent_id=agents[0].id, plugin_id="plg_disk")
    one = own.DataSpecialty(above, "one", key="database")
    framework.TerraformOutput(above, "through", value=jump.id)
    framework.TerraformOutput(above, "specialty", value=one.name)

    app.synth()


if __name__ == "__main__":
    synthesise()
