"""How many requests a run costs: counted exactly, never timed."""

from itertools import product
from typing import Any

import pytest

from declarations import agent_on, held, program
from engines import ON_TERRAFORM, check_drift

HOSTS, AGENTS, SPECIALTIES, ENTRIES = 3, 4, 3, 2
PLUGINS = ("plg_disk", "plg_logs")
PAGES = {"default": 1, "paged": 3}
"""The pages of a search, by profile: the console has six specialties."""

KEYS = ("linux-server", "database", "network")
ENTRY_IDS = ("blk_format", "blk_wipe")
REFRESH = {"host_update": HOSTS, "plugin_list": AGENTS, "blacklist_get": ENTRIES}
"""What a refresh sends, besides the search of specialties."""


def estate(plugins: tuple[str, ...] = PLUGINS) -> dict[str, Any]:
    agents = [f"a{n}" for n in range(AGENTS)]
    ids = {name: {"agent_id": f"${{opsconsole_agent.{name}.id}}"} for name in agents}
    of = {name: f"h{n % HOSTS}" for n, name in enumerate(agents)}
    pairs = product(agents, plugins)
    attachments = {f"{name}_{it}": ids[name] | {"plugin_id": it} for name, it in pairs}
    declared = program(
        host={f"h{n}": {"name": f"h{n}"} for n in range(HOSTS)},
        agent={name: agent_on(of[name], name, specialty_id="spc_container") for name in agents},
        agent_plugin=attachments,
        specialty={key: {"key": key, "deletion_policy": "delete"} for key in KEYS},
        blacklisted_command={row: {"id": row} for row in ENTRY_IDS},
    )
    named = {"opsconsole_specialty": {"one": {"name": "Database"}}}
    data = {"opsconsole_specialties": {"all": {}}, "opsconsole_agent_plugins": {"a0": ids["a0"]}}
    return declared | {"data": data | named}


@ON_TERRAFORM
@pytest.mark.parametrize("profile", PAGES, indirect=True)
def test_refresh_and_destroy_cost_what_they_must(profile, applied, console):
    engine = applied(estate(), console)

    refresh = REFRESH | {"specialty_search": PAGES[profile]}
    for words in ((), ("-refresh-only",)):
        console.reset_log()
        engine.plan_run(*words, expect={0})
        assert console.request_counts() == refresh

    console.reset_log()
    engine.destroy("-refresh=false")
    assert console.request_counts() == {
        "plugin_detach": AGENTS * len(PLUGINS),
        "host_delete": HOSTS,
        "specialty_delete": SPECIALTIES,
    }


def test_attachments_cost_no_reads_and_a_gone_host_none_for_its_agents(applied, console):
    many = (*PLUGINS, "plg_metrics", "plg_backup", "plg_packages")
    engine = applied(estate(many), console)
    gone = held(engine)["opsconsole_host.h0"]["id"]
    console.delete("hosts", gone)

    console.reset_log()
    plan = engine.plan("-refresh-only")

    refresh = REFRESH | {"specialty_search": 1, "plugin_list": AGENTS - 2}
    assert console.request_counts() == refresh
    assert len(plan.drift) == 1 + 2 + 2 * len(many)
    console.reset_log()
    assert check_drift(engine.folder, console).document["calls"] == refresh
    assert console.request_counts() == refresh


def test_nothing_is_called_after_the_first_401(applied, console):
    engine = applied(estate(), console)
    console.change("keys", "key_main", status="revoked")
    console.reset_log()

    run = engine.plan_run("-parallelism=1", expect={1})

    assert console.traffic()["total"] == 1
    explained = [error for error in run.errors if "code UNAUTHORIZED" in error["detail"]]
    assert len(explained) == 1
    assert "API Keys settings" in explained[0]["detail"]
    others = {error["detail"] for error in run.errors if error not in explained}
    assert others == {"The console refused the credentials; no call was made."}
