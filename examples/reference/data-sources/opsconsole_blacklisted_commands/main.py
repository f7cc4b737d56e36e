from cdktf import App, TerraformOutput, TerraformStack

from opsconsole_cdktf import DataBlacklistedCommands, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(
    stack, "opsconsole", extra_endpoints={"blacklist_list": "GET /api/v1/blacklists"}
)

found = DataBlacklistedCommands(stack, "all")
TerraformOutput(stack, "blacklisted_commands", value=found.blacklisted_commands)

app.synth()
