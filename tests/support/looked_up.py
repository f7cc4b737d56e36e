"""What somebody else manages, and a program that looks it up by every data source of such."""

from typing import Any

from opsconsole.emulator import Emulator

DATA: dict[str, Any] = {
    "opsconsole_host": {"jump": {"id": "hst_jump"}},
    "opsconsole_hosts": {"all": {}},
    "opsconsole_agent": {"ops": {"id": "agt_ops"}},
    "opsconsole_agents": {"all": {}},
    "opsconsole_blacklisted_commands": {"all": {}},
}

OUTPUT: dict[str, Any] = {
    "jump": {"value": "${data.opsconsole_host.jump.name}"},
    "names": {"value": "${data.opsconsole_hosts.all.hosts[*].name}"},
    "roles": {
        "value": "${data.opsconsole_agent.ops.credential_config[*].credential_role}",
    },
    "nested": {
        "value": "${data.opsconsole_agents.all.agents[0].credential_config[0].credential_id}",
    },
    "wide": {
        "value": "${[for row in data.opsconsole_blacklisted_commands.all.blacklisted_commands : "
        "row.id if row.tenant_wide]}",
    },
    "count": {"value": "${data.opsconsole_blacklisted_commands.all.total_count}"},
}

EXPECTED = {
    "jump": "their-jump",
    "names": ["their-jump"],
    "roles": ["login"],
    "nested": "crd_1",
    "wide": ["blk_wipe"],
    "count": 3,
}


def create_others(console: Emulator) -> None:
    """Put a host and an agent of somebody else on the console."""
    console.create("hosts", id="hst_jump", name="their-jump", is_jump_host=True)
    credential = {"credential_id": "crd_1", "credential_role": "login"}
    console.create(
        "agents",
        id="agt_ops",
        name="their-agent",
        status="idle",
        host_id="hst_jump",
        credential_config=[credential],
    )
