"""Data sources of what somebody else manages."""

from typing import Any

from opsconsole.emulator import Emulator

DATA: dict[str, Any] = {
    "opsconsole_host": {"jump": {"id": "hst_jump"}},
    "opsconsole_hosts": {"all": {}},
    "opsconsole_agent": {"ops": {"id": "agt_ops"}},
    "opsconsole_agents": {"all": {}},
    "opsconsole_blacklisted_commands": {"all": {}},
}

VALUES = {
    "jump": "data.opsconsole_host.jump.name",
    "names": "data.opsconsole_hosts.all.hosts[*].name",
    "roles": "data.opsconsole_agent.ops.credential_config[*].credential_role",
    "nested": "data.opsconsole_agents.all.agents[0].credential_config[0].credential_id",
    "wide": "[for row in data.opsconsole_blacklisted_commands.all.blacklisted_commands : "
    "row.id if row.tenant_wide]",
    "count": "data.opsconsole_blacklisted_commands.all.total_count",
}
OUTPUT = {name: {"value": f"${{{expression}}}"} for name, expression in VALUES.items()}

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


def test_what_others_manage_is_looked_up(applied, console_of):
    console = console_of("extended")
    create_others(console)
    engine = applied({"data": DATA, "output": OUTPUT}, console)
    outputs = engine.state()["outputs"]
    assert {name: item["value"] for name, item in outputs.items()} == EXPECTED


def test_a_list_that_nothing_names_is_an_error_and_a_host_is_read_all_the_same(project, console):
    create_others(console)
    engine = project({"data": DATA}, console)
    run = engine.plan_run(expect={1})
    assert {item["address"] for item in run.errors} == {
        f"data.{kind}.{name}"
        for kind, named in DATA.items()
        for name in named
        if kind != "opsconsole_host"
    }
    assert all("extra_endpoints" in item["detail"] for item in run.errors)
    told = str(run.errors)
    for endpoint in ("host_list", "agent_get", "agent_list", "blacklist_list"):
        assert f"no operation for {endpoint}" in told
    engine.write({"data": {"opsconsole_host": {"jump": {"id": "hst_gone"}}}})
    assert "There is no host hst_gone" in str(engine.plan_run(expect={1}).errors)
