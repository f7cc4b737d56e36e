from cdktf import App, TerraformOutput, TerraformStack

from opsconsole_cdktf import DataAgent, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole", extra_endpoints={"agent_get": "GET /api/v1/agents/{id}"})

found = DataAgent(stack, "ops", id="agt_ops")
TerraformOutput(stack, "status", value=found.status)

app.synth()
