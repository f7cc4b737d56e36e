"""A list that may not be whole proves no absence."""

from typing import Any

import pytest

from declarations import program
from drift_checks import check_drift

HOST, NETWORK = "opsconsole_host.gone", "opsconsole_specialty.network"
SPECIALTIES = {"linux": {"key": "linux-server"}, "network": {"key": "network"}}


@pytest.mark.parametrize(
    ("switches", "settings", "why"),
    [
        (
            {"filter_parameter": "q"},
            {"list_query": {"specialties.q": "linux"}},
            "leave entries out",
        ),
        ({"has_more": "absent", "total_count": "never"}, {}, "it has no has_more"),
        ({"has_more": "always_false", "page_size": 2}, {}, "contradicts"),
        ({"has_more": "always_true"}, {}, "contradicts"),
    ],
)
def test_a_list_that_may_not_be_whole_lets_nothing_leave_state(
    switches, settings, why, applied, console
):
    engine = applied(program(specialty=SPECIALTIES), console)
    console.switch(**switches)
    console.delete("specialties", "spc_network")
    engine.settings = settings
    engine.write(program(specialty=SPECIALTIES))

    run = engine.plan_run(expect={0})
    [told] = [item for item in run.warnings if "was not checked" in item["summary"]]
    assert told["address"] == NETWORK
    assert why in told["detail"]
    found = check_drift(engine.folder, console)
    assert (found.code, found.bucket(NETWORK)) == (1, "unchecked")
    assert found.bucket("opsconsole_specialty.linux") == "in_sync"
    assert "may not be whole" in found.of(NETWORK)["reason"]


def test_a_list_that_is_cut_short_proves_no_absence(project, console_of):
    console = console_of("truncated")
    specialties = {"seen": {"key": "linux-server"}, "hidden": {"key": "identity"}}
    engine = project(program(specialty=specialties), console)
    [error] = engine.plan_run(expect={1}).errors
    assert error["address"] == "opsconsole_specialty.hidden"
    assert "has_more" in error["detail"] and "cursor_parameter" in error["detail"]


ONE_HOST = {"opsconsole_host": {"a": {"name": "a"}}}
SPECIALTY = {"opsconsole_specialty": {"linux": {"key": "linux-server"}}}


def agent(*plugin_ids: str) -> dict[str, Any]:
    fields = {
        "host_id": "${opsconsole_host.a.id}",
        "specialty_id": "${opsconsole_specialty.linux.id}",
        "plugin_ids": list(plugin_ids),
    }
    return {**ONE_HOST, **SPECIALTY, "opsconsole_agent": {"x": fields}}


def test_lists_that_are_not_whole_prove_no_absence(native_on):
    native = native_on("truncated")
    plugins = ("disk", "logs", "metrics", "packages", "backup", "legacy")
    program = agent(*(f"plg_{name}" for name in plugins))
    program.pop("opsconsole_specialty")
    program["opsconsole_agent"]["x"]["specialty_id"] = "spc_linux"
    native.apply(program)
    fields = program["opsconsole_agent"]["x"]
    fields["plugin_ids"] = [*fields["plugin_ids"], "plg_firewall", "plg_dsk"]
    fields["specialty_id"] = "spc_linuz"
    fields["deletion_policy"] = "abandon"
    said = native.run_plan(program).out
    assert "No list that was read shows the plugin plg_dsk" in said
    assert "the plugin plg_firewall" not in said
    assert "There is no specialty" not in said
