"""What whole lists show that no state holds, where an operator has named them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

World = Callable[..., dict[str, Any]]


ALL = ("--count-unmanaged", "hosts,agents,blacklisted_commands")


def test_lists_are_read_for_the_kinds_that_count(
    ground_on: Callable[..., Any], world: World
) -> None:
    ground = ground_on("extended")
    ground.apply(world())
    before = ground.drift(*ALL).addresses("unmanaged")
    host = ground.console.create("hosts", name="stray")
    agent = ground.console.create("agents", name="ghost", host_id=host["id"])
    ground.console.create("agents", name="gone", host_id=host["id"], status="archived")
    row = ground.console.create("blacklists", pattern="shutdown")
    ground.console.reset_log()

    found = ground.drift(*ALL)

    strays = {host["id"], agent["id"], row["id"]}
    assert found.code == 2
    assert found.addresses("unmanaged") - before == strays
    assert strays <= found.drifted
    finding = found.of(host["id"])
    assert (finding["type"], finding["label"]) == ("opsconsole_host", "stray")
    assert found.of(row["id"])["label"] == "shutdown"
    calls = ground.console.request_counts()
    assert [calls[name] for name in ("host_list", "agent_list", "blacklist_list")] == [1, 1, 1]


def test_no_list_is_read_that_nobody_counts(ground_on: Callable[..., Any], world: World) -> None:
    ground = ground_on("extended")
    ground.apply(world())
    ground.console.create("hosts", name="stray")
    ground.console.reset_log()

    found = ground.drift()

    assert found.code == 0
    assert "host_list" not in ground.console.request_counts()


def test_a_list_that_cannot_be_read_is_an_error(
    ground_on: Callable[..., Any], world: World
) -> None:
    ground = ground_on("extended")
    ground.apply(world())
    ground.console.fault(method="GET", path="^/api/v1/hosts$", times=None, status=403)

    found = ground.drift("--count-unmanaged", "hosts")

    assert "host_list was not read" in found.told
    assert found.code == 1


def test_what_no_endpoint_lists_is_an_error(ground: Any, world: World) -> None:
    ground.apply(world())

    found = ground.drift("--count-unmanaged", "hosts")

    assert "Unmanaged objects of opsconsole_host cannot be counted" in found.told
    assert "host_list" in found.told
    assert found.code == 1
