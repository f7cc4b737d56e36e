from cdktf import App, TerraformOutput, TerraformStack

from opsconsole_cdktf import Host, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

jump = Host(
    stack,
    "jump",
    name="jump-north",
    public_ip="198.51.100.10",
    is_jump_host=True,
    tags=["site:north", "role:jump"],
)
web = Host(
    stack,
    "web",
    name="web-north",
    private_ip="10.1.0.10",
    ip_connect_mode="private",
    target_type="ssh",
    target_port=22,
    jump_host_ids=[jump.id],
    tags=["site:north", "role:web"],
)
TerraformOutput(stack, "web_host", value=web.id)

app.synth()
