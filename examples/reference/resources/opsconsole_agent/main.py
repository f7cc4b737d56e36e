from cdktf import App, TerraformStack

from opsconsole_cdktf import (
    Agent,
    AgentCredentialConfig,
    DataSpecialty,
    Host,
    OpsconsoleProvider,
)

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

linux = DataSpecialty(stack, "linux", key="linux-server")
host = Host(stack, "web", name="web-north", private_ip="10.1.0.10")
Agent(
    stack,
    "web-agent",
    name="web-north",
    host_id=host.id,
    specialty_id=linux.id,
    main_engine="engine-a",
    plugin_ids=["plg_disk", "plg_logs"],
    credential_config=[
        AgentCredentialConfig(
            credential_id="crd_login", credential_role="login", order=1, is_required=True
        )
    ],
)

app.synth()
