from cdktf import App, TerraformOutput, TerraformStack

from opsconsole_cdktf import DataHost, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

found = DataHost(stack, "jump", id="hst_jump")
TerraformOutput(stack, "name", value=found.name)

app.synth()
