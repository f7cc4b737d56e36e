"""What is missing is warned of or refused; a list that may not be whole proves no absence."""

import pytest

from declarations import held, program
from hidden import AWAY, HIDDEN, hide

SPECIALTIES = {"linux": {"key": "linux-server"}, "network": {"key": "network"}}


def test_every_kind_that_is_missing_leaves_state_with_a_warning_or_stays(applied, console):
    engine = applied({"resource": HIDDEN}, console)
    hide(console)

    found = engine.plan_run("-refresh-only", expect={2})
    assert {
        item["address"] for item in found.warnings if "not visible to this key" in item["summary"]
    } == AWAY
    for item in found.warnings:
        assert item["address"] not in AWAY or "removed from state" in item["detail"]
    [agent] = [item for item in found.warnings if item["address"] == "opsconsole_agent.away"]
    assert 'on_missing = "error"' in agent["detail"]

    engine.settings = {"on_missing": "error"}
    engine.write({"resource": HIDDEN})
    refused = engine.plan_run("-refresh-only", expect={1})
    assert {item["address"] for item in refused.errors} == AWAY
    assert all('on_missing is "error"' in item["detail"] for item in refused.errors)
    assert set(held(engine)) >= AWAY

    engine.settings = {"on_missing": "error", "on_missing_host": "remove"}
    engine.write({"resource": HIDDEN})
    refused = engine.plan_run("-refresh-only", expect={1})
    assert {item["address"] for item in refused.errors} == AWAY - {"opsconsole_host.away"}


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
