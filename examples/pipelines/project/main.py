"""The program that the pipelines in this folder deploy: some hosts, each with an agent.

Pipelines need a state that every job finds. STATE_FILE names a file, for runners that share a disk;
else TF_HTTP_ADDRESS is the address of Terraform's `http` backend, as GitLab has one. Any other
backend of Terraform serves as well. Console and key come from the environment.
"""

from __future__ import annotations

import os

from cdktf import App, HttpBackend, LocalBackend, TerraformStack
from constructs import Construct

from opsconsole_cdktf import Agent, DataSpecialty, Host, OpsconsoleProvider

HOSTS = {"web-1": "10.1.0.11", "web-2": "10.1.0.12"}


class Fleet(TerraformStack):
    """The hosts and their agents."""

    def __init__(self, scope: Construct, name: str) -> None:
        super().__init__(scope, name)
        self._keep_state()
        OpsconsoleProvider(self, "opsconsole")
        linux = DataSpecialty(self, "linux", key="linux-server")
        for host, address in HOSTS.items():
            declared = Host(self, host, name=host, private_ip=address, tags=["role:web"])
            Agent(
                self,
                f"{host}-agent",
                name=host,
                host_id=declared.id,
                specialty_id=linux.id,
                main_engine="engine-a",
            )

    def _keep_state(self) -> None:
        """Say where the state is kept; user and password are TF_HTTP_USERNAME and _PASSWORD."""
        if file := os.environ.get("STATE_FILE"):
            LocalBackend(self, path=file)
            return
        address = os.environ["TF_HTTP_ADDRESS"]
        HttpBackend(
            self,
            address=address,
            lock_address=f"{address}/lock",
            unlock_address=f"{address}/lock",
            lock_method="POST",
            unlock_method="DELETE",
        )


app = App()
Fleet(app, "fleet")
app.synth()
