from cdktf import App, TerraformStack

from opsconsole_cdktf import BlacklistedCommand, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

BlacklistedCommand(
    stack,
    "format",
    id="blk_format",
    pattern="mkfs*",
    description="No file system is made here",
)
BlacklistedCommand(stack, "wipe", id="blk_wipe", pattern="rm -rf /*", tenant_wide=True)

app.synth()
