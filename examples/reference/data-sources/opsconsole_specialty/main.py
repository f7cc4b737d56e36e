from cdktf import App, TerraformOutput, TerraformStack

from opsconsole_cdktf import DataSpecialty, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

linux = DataSpecialty(stack, "linux", key="linux-server")
TerraformOutput(stack, "linux_specialty", value=linux.id)

app.synth()
