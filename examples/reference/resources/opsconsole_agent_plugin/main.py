from cdktf import App, TerraformStack

from opsconsole_cdktf import Agent, AgentPlugin, Host, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

host = Host(stack, "web", name="web-north")
agent = Agent(stack, "web-agent", host_id=host.id, specialty_id="spc_linux")
for plugin in ("disk", "logs"):
    AgentPlugin(stack, f"web-{plugin}", agent_id=agent.id, plugin_id=f"plg_{plugin}")

app.synth()
