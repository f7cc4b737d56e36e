"""A list that may not be complete proves no absence."""

import pytest

from declarations import host_with_agent, program
from engines import check_drift

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
    assert told["address"] == "opsconsole_specialty.network"
    assert why in told["detail"]
    found = check_drift(engine.folder, console)
    assert (found.code, found.bucket(told["address"])) == (1, "unchecked")
    assert found.bucket("opsconsole_specialty.linux") == "in_sync"
    assert "may not be complete" in found.of(told["address"])["reason"]


@pytest.mark.parametrize("profile", ["truncated"], indirect=True)
def test_a_list_that_is_cut_short_proves_no_absence(project, console):
    specialties = {"seen": {"key": "linux-server"}, "hidden": {"key": "identity"}}
    [error] = project(program(specialty=specialties), console).plan_run(expect={1}).errors
    assert error["address"] == "opsconsole_specialty.hidden"
    assert "has_more" in error["detail"] and "cursor_parameter" in error["detail"]


def test_lists_that_are_not_whole_prove_no_absence(native_on):
    native = native_on("truncated")
    plugins = ("disk", "logs", "metrics", "packages", "backup", "legacy")
    program = host_with_agent(plugin_ids=[f"plg_{name}" for name in plugins])
    native.apply(program)
    fields = program["opsconsole_agent"]["a"]
    fields["plugin_ids"] = [*fields["plugin_ids"], "plg_firewall", "plg_dsk"]
    fields["specialty_id"] = "spc_linuz"
    fields["deletion_policy"] = "abandon"
    said = native.run_plan(program).out
    assert "No list that was read shows the plugin plg_dsk" in said
    assert "the plugin plg_firewall" not in said
    assert "There is no specialty" not in said
