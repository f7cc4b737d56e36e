from cdktf import App, TerraformOutput, TerraformStack

from opsconsole_cdktf import DataAgentPlugins, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

attached = DataAgentPlugins(stack, "web", agent_id="agt_web")
TerraformOutput(stack, "plugins", value=attached.plugins)

app.synth()
