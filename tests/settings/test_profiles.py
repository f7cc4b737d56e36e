"""A whole program against every profile: apply, an empty plan, an empty refresh, destroy.

All profiles run with OPSCONSOLE_TEST_EVERYTHING=1 (`make profiles`), else those whose course
differs, and a few that OPSCONSOLE_SEED chooses; the end of a test run prints it.
"""

from typing import Any

import pytest

from consoles import CONSOLES
from declarations import agent_on, gates, held, program, value
from engines import Standin, Terraform
from opsconsole.emulator import Emulator
from opsconsole.resources import AGENT, HOST
from sampling import sample

LINUX = {"specialty_id": "${opsconsole_specialty.linux.id}"}
HOSTS = {"gate-0", "gate-1", "bare", "whole"}
SELECTED = ("id", "org_id", "deletion_policy")
HEEDLESS = (
    "The console's answer to a dry run did not say dry_run: true, so its rows count as imported",
    "The console imported what was sent as a dry run",
)
CHOSEN = sample(CONSOLES, 4, always=("default", "heedless", "holding", "extended"))


def fleet(console: Emulator) -> dict[str, Any]:
    """Declare every resource, every attribute and every data source, in values that are kept."""
    assigned = console.profile.assigns
    whole_host = {
        attribute.name: value(attribute, 0)
        for attribute in HOST.settable
        if attribute.name not in (*assigned, *SELECTED)
    }
    whole_agent = {a.name: value(a, 0) for a in AGENT.settable if a.name not in SELECTED}
    bound = {"host_id": "${opsconsole_host.whole.id}", **LINUX}
    of_bare = {"agent_id": "${opsconsole_agent.bare.id}"}
    later = {"depends_on": ["opsconsole_specialty.linux"]}
    linux = {"key": "linux-server", "deletion_policy": "delete"}
    row = {"id": "blk_format", "pattern": "mkfs.*", "description": "no formatting"}
    declared = program(
        specialty={"linux": linux, "database": {"key": "database"}},
        host=gates(**later)
        | {"bare": {"name": "bare", **later}, "whole": whole_host | {"name": "whole", **later}},
        agent={"whole": whole_agent | bound, "bare": agent_on("bare", "bare", **LINUX)},
        agent_plugin={it: {**of_bare, "plugin_id": it} for it in ("plg_disk", "plg_metrics")},
        blacklisted_command={"format": row, "wipe": {"id": "blk_wipe", "tenant_wide": True}},
    )
    data = {
        "opsconsole_specialty": {"one": {"key": "container-runtime"}},
        "opsconsole_specialties": {"all": {}},
        "opsconsole_agent_plugins": {"bare": of_bare},
        "opsconsole_blacklisted_command": {"shutdown": {"id": "blk_shutdown"}},
    }
    return declared | {"data": data}


@pytest.mark.parametrize("profile", CHOSEN, indirect=True)
def test_apply_plan_refresh_destroy(project, console):
    engine = project(fleet(console), console)

    apply(engine, console)
    engine.plan_run(expect={0})
    engine.plan_run("-refresh-only", expect={0})
    assert {row["name"] for row in console.rows("hosts")} == HOSTS
    assert len(console.rows("agents")) == 2

    destroy(engine, console)
    assert console.rows("hosts") == []
    assert all(row["status"] == "archived" for row in console.rows("agents"))
    assert console.row("specialties", "spc_database") is not None


def apply(engine: Terraform, console: Emulator) -> None:
    """Apply; a console that imports on a dry run takes one request of hosts in each run.

    Which hosts go into one request is up to the order in which Terraform asks for them.
    """
    if console.profile.honours_dry_run:
        assert engine.apply().errors == []
        return
    runs = 1
    while (run := engine.apply(expect={0, 1})).code:
        # Only the native engine, which sends the hosts together, says what the dry run has done.
        said = {error["summary"] for error in run.errors}
        assert said and said <= {*HEEDLESS[: 2 if isinstance(engine, Standin) else 1]}
        assert all("tainted" not in str(item) for item in engine.state()["resources"])
        runs += 1
        assert runs <= len(HOSTS)
    assert runs > 1


def destroy(engine: Terraform, console: Emulator) -> None:
    """Destroy; a specialty that archived agents hold stays, with the console's own words."""
    if not console.profile.archived_agents_block:
        engine.destroy()
        assert engine.state()["resources"] == []
        assert console.row("specialties", "spc_linux") is None
        assert console.row("specialties", "spc_database") is not None
        return
    [error] = engine.destroy(expect={1}).errors
    assert 'the specialty "linux-server" (spc_linux)' in error["summary"]
    assert "409" in error["detail"] and "req_" in error["detail"]
    assert set(held(engine)) == {"opsconsole_specialty.linux"}
