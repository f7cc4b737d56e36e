"""A program that a strict type checker accepts, and lines that it must refuse. Not run."""

from collections.abc import Sequence
from typing import Literal, assert_type

import cdktf
from constructs import Construct

from opsconsole_cdktf import (
    Agent,
    AgentCredentialConfig,
    AgentPlugin,
    BlacklistedCommand,
    BlacklistPolicy,
    BlacklistRule,
    DataAgentPlugins,
    DataSpecialties,
    Host,
    HostArguments,
    HostIpConnectMode,
    ManagedHost,
    OpsconsoleProvider,
    Specialty,
    SpecialtyTimeouts,
    Tags,
)
from opsconsole_cdktf import Fleet as AllHosts
from opsconsole_cdktf.rows import HostRow
from opsconsole_cdktf.testing import assert_host


class Fleet(cdktf.TerraformStack):
    def __init__(self, scope: Construct, id_: str) -> None:
        super().__init__(scope, id_)
        lab = OpsconsoleProvider(self, "lab", alias="lab", list_query={"a": "b"}, max_retries=2)
        assert_type(lab.base_url, str | None)
        jump = Host(self, "jump", name="jump", is_jump_host=True, provider=lab)
        mode: HostIpConnectMode = "public"
        host = Host(
            self,
            "host",
            name="host",
            target_port=jump.target_port,
            target_type=jump.target_type,
            ip_connect_mode=mode,
            jump_host_ids=[jump.id],
            tags=("a:1",),
            depends_on=[jump],
            lifecycle={"prevent_destroy": True},
            count=cdktf.TerraformCount.of(2),
        )
        assert_type(host.id, str)
        assert_type(host.target_port, int)
        assert_type(host.target_type, Literal["ssh", "winrm"])
        assert_type(host.tags, list[str])
        assert_type(host.tags_input, Sequence[str] | None)
        assert_type(host.skip_tls_verify, cdktf.IResolvable)
        host.skip_tls_verify = True
        host.tags = ["b:2"]
        host.reset_tags()
        specialty = Specialty(self, "s", key="k", timeouts=SpecialtyTimeouts(delete="2m"))
        assert_type(specialty.timeouts.delete, str)
        entry = AgentCredentialConfig(credential_id="crd_1", order=1)
        agent = Agent(
            self,
            "agent",
            host_id=host.id,
            specialty_id=specialty.id,
            remote_execution=host.skip_tls_verify,
            credential_config=[entry, {"credential_id": "crd_2"}],
        )
        assert_type(agent.credential_config.get(0).order, int)
        agent.put_credential_config([entry])
        AgentPlugin(self, "plugin", agent_id=agent.id, plugin_id="plg_disk")
        BlacklistedCommand(self, "row", id="blk_1", tenant_wide=True)
        assert_type(DataSpecialties(self, "all").specialties.get(0).key, str)
        plugins = DataAgentPlugins(self, "plugins", agent_id=agent.id)
        assert_type(plugins.plugins.get(0).enabled, cdktf.IResolvable)
        host.import_from("hst_1", lab)
        managed = ManagedHost(self, "managed", target_port=22).behind(jump)
        assert_type(managed.add_agent(specialty=specialty, plugins=["plg_disk"]), Agent)
        rows = [HostRow(name="row", target_type="ssh")]
        defaults: HostArguments = {"target_port": 22}
        assert_type(AllHosts(self, "all-hosts", rows, defaults=defaults).hosts["a"].id, str)
        BlacklistPolicy(self, "policy", rules={"a": "rm *", "b": BlacklistRule(pattern="dd")})
        Tags({"site": "north"}).add_to(self)
        assert_host(self, "managed").is_behind("jump").has_tags("site:north")
        Host.generate_config_for_import(self, "other", "hst_2", lab)


def wrong(stack: cdktf.TerraformStack, host: Host) -> None:
    Host(stack, "h", name="h", target_type="telnet")  # refused: arg-type
    Host(stack, "i", name="i", target_port=22.5)  # refused: arg-type
    Host(stack, "j", name="j", jump_host_ids=[host])  # refused: list-item
    Agent(stack, "k", host_id=host, specialty_id="s")  # refused: arg-type
    OpsconsoleProvider(stack, "l", host_read="guess")  # refused: arg-type
    host.tagz = ["a:1"]  # refused: attr-defined
    ManagedHost(stack, "m", target_port="22")  # refused: arg-type
    ManagedHost(stack, "n", colour="red")  # refused: call-arg
    ManagedHost(stack, "o").behind("hst_1")  # refused: arg-type
    ManagedHost(stack, "p").add_agent(plugins=["plg_disk"])  # refused: call-arg
    AllHosts(stack, "q", [], defaults={"target_type": "telnet"})  # refused: arg-type
    HostRow(name="x", target_type="telnet")  # refused: arg-type
    host.ip_connect_mode = "nearest"  # refused: assignment
    Host(stack, "a")  # refused: call-arg
    Agent(stack, "a")  # refused: call-arg
    Host(stack, "b", name=7)  # refused: arg-type
    Host(stack, "c", name="c", colour="red")  # refused: call-arg
    Host(stack, "d", name="d", tags=[1])  # refused: list-item
    host.created_at = "now"  # refused: assignment
    host.target_port = "22"  # refused: assignment
    Agent(stack, "e", host_id=None, specialty_id=None, credential_config=[7])  # refused: list-item
    AgentPlugin(stack, "f", plugin_id="plg_disk")  # refused: call-arg
    Specialty(stack, "g").put_timeouts(create="2m")  # refused: call-arg
