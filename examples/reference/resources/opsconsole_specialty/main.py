from cdktf import App, TerraformStack

from opsconsole_cdktf import Agent, Host, OpsconsoleProvider, Specialty

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

database = Specialty(stack, "database", key="database")
host = Host(stack, "db", name="db-north")
# The host now depends on the specialty: it is destroyed first, which archives the agent.
Agent(stack, "db-agent", host_id=host.id, specialty_id=database.id)

app.synth()
