"""Tags for every host of a stack, and others for the hosts of one site."""

from __future__ import annotations

from cdktf import App, TerraformStack
from constructs import Construct

from opsconsole_cdktf import Host, OpsconsoleProvider, Tags

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")

north = Construct(stack, "north")
Host(north, "web", name="web-north", tags=["role:web"])
Host(stack, "mail", name="mail")

Tags({"owner": "platform", "env": "production"}).add_to(stack)
Tags({"site": "north"}).add_to(north)

app.synth()
