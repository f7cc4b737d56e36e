"""A small fleet: two jump hosts, six hosts behind them, agents, plugins and blacklist entries.

The names of specialties, plugins and blacklist rows are those that `opsconsole emulator` starts
with. Where the console is, and the key to it, come from the environment: OPSCONSOLE_BASE_URL and
OPSCONSOLE_API_KEY.
"""

from __future__ import annotations

from cdktf import App, TerraformOutput, TerraformStack
from constructs import Construct

from opsconsole_cdktf import (
    Agent,
    AgentPlugin,
    BlacklistedCommand,
    DataSpecialty,
    Host,
    OpsconsoleProvider,
    Specialty,
)

SITES = {"north": "10.1.0", "south": "10.2.0"}
"""Each site has one jump host, and a subnet behind it."""

ROLES = ("web", "app", "db")
"""Each site has one host for each role."""


class Site(Construct):
    """A jump host, and the hosts that are reached through it."""

    def __init__(self, scope: Construct, name: str, subnet: str) -> None:
        super().__init__(scope, name)
        self.jump = Host(
            self,
            "jump",
            name=f"jump-{name}",
            private_ip=f"{subnet}.1",
            ip_connect_mode="private",
            is_jump_host=True,
            eligible_subnets=[f"{subnet}.0/24"],
            tags=[f"site:{name}", "role:jump"],
        )
        self.hosts = {
            role: Host(
                self,
                role,
                name=f"{role}-{name}",
                private_ip=f"{subnet}.{number}",
                ip_connect_mode="private",
                target_type="ssh",
                target_port=22,
                jump_host_ids=[self.jump.id],
                tags=[f"site:{name}", f"role:{role}"],
            )
            for number, role in enumerate(ROLES, start=10)
        }


class Fleet(TerraformStack):
    """The whole fleet, as one stack."""

    def __init__(self, scope: Construct, name: str) -> None:
        super().__init__(scope, name)
        OpsconsoleProvider(self, "opsconsole")
        self.sites = {site: Site(self, site, subnet) for site, subnet in SITES.items()}
        self._staff()
        self._forbid()
        for site, part in self.sites.items():
            TerraformOutput(self, f"{site}_jump_host", value=part.jump.id)

    def _staff(self) -> None:
        """Put an agent on every host; databases have a specialty of their own."""
        linux = DataSpecialty(self, "linux", key="linux-server")
        # Adopted: the console keeps it when this stack is destroyed.
        database = Specialty(self, "database", key="database")
        for site, part in self.sites.items():
            for role, host in part.hosts.items():
                agent = Agent(
                    part,
                    f"{role}-agent",
                    name=f"{role}-{site}",
                    host_id=host.id,
                    specialty_id=database.id if role == "db" else linux.id,
                    main_engine="engine-a",
                    # The web agents' plugins are declared as one set, the others' one by one.
                    plugin_ids=["plg_disk", "plg_logs"] if role == "web" else None,
                )
                for plugin in self._plugins(role):
                    AgentPlugin(
                        part, f"{role}-agent-{plugin}", agent_id=agent.id, plugin_id=f"plg_{plugin}"
                    )

    @staticmethod
    def _plugins(role: str) -> tuple[str, ...]:
        return {"app": ("metrics",), "db": ("metrics", "backup")}.get(role, ())

    def _forbid(self) -> None:
        """Adopt rows of the blacklist; their scope is left as it is."""
        BlacklistedCommand(
            self,
            "format",
            id="blk_format",
            pattern="mkfs*",
            description="No file system is made here",
        )
        BlacklistedCommand(self, "wipe", id="blk_wipe", pattern="rm -rf /*")


app = App()
Fleet(app, "fleet")
app.synth()
