from cdktf import App, TerraformOutput, TerraformStack

from opsconsole_cdktf import DataAgents, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole", extra_endpoints={"agent_list": "GET /api/v1/agents"})

found = DataAgents(stack, "all")
TerraformOutput(stack, "agents", value=found.agents)

app.synth()
