from cdktf import App, TerraformStack

from opsconsole_cdktf import Host, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")

# The key comes from OPSCONSOLE_API_KEY, so that it is in no file.
OpsconsoleProvider(stack, "opsconsole", base_url="https://console.example.com", org_id="org_main")
lab = OpsconsoleProvider(
    stack,
    "lab",
    alias="lab",
    base_url="https://lab.example.com",
    on_existing_host="adopt",
    extra_endpoints={"host_get": "GET /api/v1/hosts/{id}"},
)
Host(stack, "scratch", name="scratch", provider=lab)

app.synth()
