"""A jump host, and a host behind it with two agents, each in one declaration."""

from __future__ import annotations

from cdktf import App, TerraformStack
from constructs import Construct

from opsconsole_cdktf import DataSpecialty, ManagedHost, OpsconsoleProvider

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")
linux = DataSpecialty(stack, "linux", key="linux-server")
database = DataSpecialty(stack, "database", key="database")

north = Construct(stack, "north")
jump = ManagedHost(north, "jump", private_ip="10.1.0.1", eligible_subnets=["10.1.0.0/24"])
store = ManagedHost(north, "db", private_ip="10.1.0.20", target_port=22).behind(jump)
store.add_agent("system", specialty=linux, main_engine="engine-a", plugins=["plg_disk"])
store.add_agent(
    "backup",
    specialty=database,
    main_engine="engine-a",
    plugins=["plg_backup", "plg_metrics"],
    credentials=[{"credential_id": "crd_db", "credential_role": "login", "order": 1}],
)

app.synth()
