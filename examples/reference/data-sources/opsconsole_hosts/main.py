from cdktf import App, TerraformOutput, TerraformStack

from opsconsole_cdktf import DataHosts, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole", extra_endpoints={"host_list": "GET /api/v1/hosts"})

found = DataHosts(stack, "all")
TerraformOutput(stack, "hosts", value=found.hosts)

app.synth()
