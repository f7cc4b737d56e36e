from cdktf import App, TerraformOutput, TerraformStack

from opsconsole_cdktf import DataSpecialties, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

every = DataSpecialties(stack, "all")
TerraformOutput(stack, "first_key", value=every.specialties.get(0).key)

app.synth()
