"""Data sources: what is found, what is not, and what others manage."""

from typing import Any

import pytest

from declarations import attribute_at
from opsconsole.emulator import Emulator
from opsconsole.resources import DATA_SOURCES


def test_data_sources(applied, console):
    agent = console.create("agents", name="a", status="idle", specialty_id="spc_linux")
    console.create("attachments", agent_id=agent["id"], plugin_id="plg_logs")
    outputs = {
        "ids": '[for way in ["id", "key", "name"] : data.opsconsole_specialty.by[way].id]',
        "prompt": 'data.opsconsole_specialty.by["key"].prompt',
        "keys": "data.opsconsole_specialties.all.specialties[*].key",
        "plugins": "[for p in data.opsconsole_agent_plugins.a.plugins : [p.id, p.enabled]]",
        "complete": "data.opsconsole_agent_plugins.a.complete",
        "entry": "data.opsconsole_blacklisted_command.wipe",
    }
    ways = {"id": "spc_linux", "key": "database", "name": "Network"}
    by_way = {way: f'${{each.key == "{way}" ? each.value : null}}' for way in ways}
    data = {
        "opsconsole_specialty": {"by": {"for_each": ways, **by_way}},
        "opsconsole_specialties": {"all": {}},
        "opsconsole_agent_plugins": {"a": {"agent_id": agent["id"]}},
        "opsconsole_blacklisted_command": {"wipe": {"id": "blk_wipe"}},
    }
    output = {name: {"value": f"${{{expression}}}"} for name, expression in outputs.items()}
    found = applied({"data": data, "output": output}, console).outputs()
    assert found["ids"] == ["spc_linux", "spc_database", "spc_network"]
    assert found["prompt"] == "Watch databases and their backups."
    assert found["keys"] == [
        row["key"] for row in sorted(console.rows("specialties"), key=lambda row: row["id"])
    ]
    assert found["plugins"] == [["plg_logs", True]]
    assert found["complete"] is True
    assert found["entry"]["pattern"] == "rm -rf /" and found["entry"]["tenant_wide"] is True
    assert console.request_counts() == {"specialty_search": 1, "plugin_list": 1, "blacklist_get": 1}


def test_data_sources_without_a_match_are_errors(project, console):
    data = {
        "opsconsole_specialty": {"none": {"key": "none"}, "both": {"key": "a", "id": "b"}},
        "opsconsole_agent_plugins": {"none": {"agent_id": "agt_none"}},
        "opsconsole_blacklisted_command": {"none": {"id": "blk_none"}},
    }
    engine = project({"data": data}, console)
    told = {error["address"]: error for error in engine.plan_run(expect={1}).errors}
    places = {address: attribute_at(engine.folder, error) for address, error in told.items()}
    assert places == {
        "data.opsconsole_specialty.none": "key",
        "data.opsconsole_specialty.both": "",
        "data.opsconsole_agent_plugins.none": "agent_id",
        "data.opsconsole_blacklisted_command.none": "id",
    }
    both = told["data.opsconsole_specialty.both"]
    assert both["summary"] == "A specialty is found by exactly one of id, key or name"
    assert "The declaration sets id, key." in both["detail"]
    for name in ("agent_plugins", "blacklisted_command"):
        assert "request id req_" in told[f"data.opsconsole_{name}.none"]["detail"]


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
    "of_no_org": "[for row in data.opsconsole_blacklisted_commands.all.blacklisted_commands : "
    "row.id if row.org_id == null]",
    "count": "data.opsconsole_blacklisted_commands.all.total_count",
}

OUTPUT = {name: {"value": f"${{{expression}}}"} for name, expression in VALUES.items()}

EXPECTED = {
    "jump": "their-jump",
    "names": ["their-jump"],
    "roles": ["login"],
    "nested": "crd_1",
    "wide": ["blk_wipe"],
    "of_no_org": ["blk_wipe"],
    "count": 3,
}


def create_others(console: Emulator) -> None:
    """Put a host and an agent of somebody else on the console."""
    console.create("hosts", id="hst_jump", name="their-jump", is_jump_host=True)
    credentials = [{"credential_id": "crd_1", "credential_role": "login"}]
    agent = {"id": "agt_ops", "name": "their-agent", "status": "idle", "host_id": "hst_jump"}
    console.create("agents", **agent, credential_config=credentials)


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
def test_data_sources_of_hosts_agents_and_blacklisted_commands(applied, console):
    create_others(console)
    engine = applied({"data": DATA, "output": OUTPUT}, console)
    outputs = engine.state()["outputs"]
    assert {name: item["value"] for name, item in outputs.items()} == EXPECTED


def test_data_source_without_its_endpoint_is_an_error_but_for_a_host(project, console):
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


@pytest.mark.parametrize("profile", ["truncated"], indirect=True)
@pytest.mark.parametrize(
    ("selector", "told"),
    [
        ({"id": "spc_linux"}, None),
        ({"key": "linux-server"}, None),
        (
            {"name": "Linux server"},
            "Cannot tell whether there is one specialty with the name 'Linux server'",
        ),
        ({"key": "identity"}, "Cannot tell whether there is one specialty with the key 'identity'"),
    ],
)
async def test_a_match_in_the_shown_part_counts_where_it_is_the_only_one(one_run, selector, told):
    config = DATA_SOURCES["opsconsole_specialty"].empty() | selector
    outcome = await one_run().read_data("opsconsole_specialty", config)
    assert [item.summary for item in outcome.diagnostics] == ([told] if told else [])
    assert (outcome.state or {}).get("id") == (None if told else "spc_linux")

    whole = await one_run().read_data("opsconsole_specialties", {})
    assert (whole.state["complete"], whole.failed) == (False, False)
    assert whole.diagnostics[0].detail.startswith("The list of specialties may not be complete: ")


@pytest.mark.parametrize("profile", ["blind"], indirect=True)
async def test_a_host_that_cannot_be_read_says_why(one_run, console):
    async def read(**settings: str) -> list[str]:
        provider = one_run(**settings)
        outcomes = [await provider.read_data("opsconsole_host", {"id": name}) for name in "ab"]
        return [item.summary + item.text for outcome in outcomes for item in outcome.diagnostics]

    console.create("hosts", id="a", name="a")
    console.create("hosts", id="b", name="b")
    own, general = await read()
    assert "Cannot read opsconsole_host" in own
    assert "(status 400, code VALIDATION_FAILED, request id req_" in own
    # Two hosts refused: no third is asked.
    assert "the console refuses an empty update, by which hosts are read" in general
    assert "name it in extra_endpoints as host_get" in general
    console.reset_log()
    for told in await read(host_read="none"):
        assert 'the setting host_read is "none", and extra_endpoints names no GET' in told
        assert 'host_read = "empty_update" reads hosts by an update without a field.' in told
    assert console.request_counts() == {}
