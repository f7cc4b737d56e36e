"""What is missing is warned of or refused; a list that may not be whole proves no absence."""

from collections.abc import Mapping
from typing import Any

import pytest

from declarations import agent_on, held, program
from drift_checks import check_drift
from opsconsole.emulator import Emulator

HIDDEN: Mapping[str, Mapping[str, Any]] = {
    "opsconsole_host": {"away": {"name": "away"}, "stays": {"name": "stays"}},
    "opsconsole_agent": {name: agent_on("stays", name) for name in ("away", "stays")},
    "opsconsole_agent_plugin": {
        "away": {"agent_id": "${opsconsole_agent.stays.id}", "plugin_id": "plg_disk"}
    },
    "opsconsole_specialty": {"away": {"key": "database"}},
    "opsconsole_blacklisted_command": {"away": {"id": "blk_format"}},
}

AWAY = frozenset(f"{type_name}.away" for type_name in HIDDEN)

HOST, NETWORK = "opsconsole_host.away", "opsconsole_specialty.network"
SPECIALTIES = {"linux": {"key": "linux-server"}, "network": {"key": "network"}}


def hide(console: Emulator) -> None:
    """Let the console show none of what is called `away`."""
    [host] = [row for row in console.rows("hosts") if row["name"] == "away"]
    [agent] = [row for row in console.rows("agents") if row["name"] == "away"]
    [attachment] = console.rows("attachments")
    console.delete("hosts", host["id"])
    console.delete("agents", agent["id"])
    console.delete("attachments", attachment["id"])
    console.delete("specialties", "spc_database")
    console.delete("blacklists", "blk_format")


def test_every_kind_that_is_missing_leaves_state_with_a_warning_or_stays(applied, console):
    engine = applied({"resource": HIDDEN}, console)
    hide(console)

    found = engine.plan_run("-refresh-only", expect={2})
    assert {
        item["address"] for item in found.warnings if "not visible to this key" in item["summary"]
    } == AWAY
    for item in found.warnings:
        assert item["address"] not in AWAY or "removed from state" in item["detail"]
    drifted = check_drift(engine.folder, console)
    assert (drifted.code, drifted.addresses("missing")) == (2, AWAY)
    assert all("not visible to this key" in drifted.of(address)["reason"] for address in AWAY)
    said = {item["address"]: item["detail"] for item in found.warnings}
    assert 'on_missing = "error"' in said["opsconsole_agent.away"]
    # They are not read, so that they have no warning of their own.
    assert "with those of its agents and plugins that state holds" in said[HOST]

    engine.settings = {"on_missing": "error"}
    engine.write({"resource": HIDDEN})
    refused = engine.plan_run("-refresh-only", expect={1})
    assert {item["address"] for item in refused.errors} == AWAY
    assert all('on_missing is "error"' in item["detail"] for item in refused.errors)
    assert set(held(engine)) >= AWAY
    # Missing is missing, whatever a refresh would do.
    assert check_drift(engine.folder, console).addresses("missing") == AWAY

    for settings, kept in (
        ({"on_missing": "error", "on_missing_host": "remove"}, AWAY - {HOST}),
        ({"on_missing_host": "error"}, {HOST}),
    ):
        engine.settings = settings
        engine.write({"resource": HIDDEN})
        refused = engine.plan_run("-refresh-only", expect={1})
        assert {item["address"] for item in refused.errors} == kept <= held(engine).keys()
    assert "request id req_" in refused.errors[0]["detail"]


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
