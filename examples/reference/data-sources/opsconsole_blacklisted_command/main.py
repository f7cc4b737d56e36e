from cdktf import App, TerraformOutput, TerraformStack

from opsconsole_cdktf import DataBlacklistedCommand, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

shutdown = DataBlacklistedCommand(stack, "shutdown", id="blk_shutdown")
TerraformOutput(stack, "shutdown_pattern", value=shutdown.pattern)

app.synth()
