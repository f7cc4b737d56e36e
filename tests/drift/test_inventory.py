"""What whole lists show that no state holds, where an operator has named them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from declarations import host_with_agent

ALL = ("--count-unmanaged", "hosts,agents,blacklisted_commands")


def test_lists_are_read_for_the_kinds_that_count(native_on, world):
    """A refused list is an error."""
    native = native_on("extended")
    native.apply(**world())
    before = native.drift(*ALL).addresses("unmanaged")
    host = native.console.create("hosts", name="stray")
    agent = native.console.create("agents", name="ghost", host_id=host["id"])
    native.console.create("agents", name="gone", host_id=host["id"], status="archived")
    row = native.console.create("blacklists", pattern="shutdown")
    native.console.reset_log()

    found = native.drift(*ALL)

    strays = {host["id"], agent["id"], row["id"]}
    assert found.code == 2
    assert found.addresses("unmanaged") - before == strays
    assert strays <= found.drifted
    finding = found.of(host["id"])
    assert (finding["type"], finding["label"]) == ("opsconsole_host", "stray")
    assert found.of(row["id"])["label"] == "shutdown"
    calls = native.console.request_counts()
    assert [calls[name] for name in ("host_list", "agent_list", "blacklist_list")] == [1, 1, 1]

    native.console.fault(method="GET", path="^/api/v1/hosts$", times=None, status=403)
    found = native.drift("--count-unmanaged", "hosts", expect=1)
    assert "host_list was not read" in found.told
    assert found.document["scope"]["listed"] == []

    native.console.fault(path="/plugins$", times=None, status=403)
    assert native.drift().of("opsconsole_agent.whole")["cause"]["status"] == 403


@pytest.fixture
def cut(native_on: Callable[..., Any], world: Any) -> Iterator[Any]:
    """The world on a console whose lists end after one entry, without a way on."""
    native = native_on("extended")
    native.apply(**world())
    before = native.console.profile
    native.console.switch(page_size=1, cursor_parameter=None)
    yield native
    native.console.switch(page_size=before.page_size, cursor_parameter=before.cursor_parameter)


@pytest.mark.parametrize("kind", ["hosts", "specialties"])
def test_a_list_that_is_cut_short_is_an_error(kind, cut):
    """What nobody saw may be unmanaged: that is not the health that was asked about."""
    found = cut.drift("--count-unmanaged", kind, expect=1)
    said = f"Not all {kind} may have been seen: some may be unmanaged\nThe list shows 1. "
    assert said in found.told and "cursor_parameter" in found.told


def test_specialties_that_count_are_searched_for_where_none_is_managed(native):
    native.apply({"opsconsole_host": {"web": {"name": "web"}}})

    # What no endpoint lists cannot count.
    found = native.drift("--count-unmanaged", "hosts", expect=1)
    assert "Unmanaged hosts cannot be counted" in found.told
    assert "host_list" in found.told
    found = native.drift("--count-unmanaged", "specialties", expect=2)
    assert "spc_linux" in found.addresses("unmanaged")
    native.console.fault(path="/specialties/search", status=403, times=None)
    assert native.drift("--count-unmanaged", "specialties").code == 1


def test_plugins_of_agents_that_are_read_by_another_operation_count(native_on):
    """The read of such an agent shows no plugins, and no attachment in state needs their list."""
    native = native_on("extended")
    native.apply(host_with_agent())
    agent = native.id_of("opsconsole_agent.a")
    native.console.create("attachments", agent_id=agent, plugin_id="plg_logs")

    assert native.drift(expect=2).addresses("unmanaged") == {f"{agent}/plg_logs"}
    assert native.drift("--count-unmanaged", "none", expect=0).addresses("unmanaged") == set()

    native.console.fault(operation="plugin_list", times=None, status=403)
    found = native.drift(expect=1)
    assert "The plugins of 1 agent were not read" in found.told
    assert found.document["scope"]["listed"] == []
    # As for what is in state, a lower coverage takes a refusal, and no other error.
    assert "1 agent were not read" in native.drift("--min-coverage", "99", expect=0).told
    native.console.clear_faults()
    native.console.fault(operation="plugin_list", times=None, status=404)
    native.drift("--min-coverage", "99", expect=1)
