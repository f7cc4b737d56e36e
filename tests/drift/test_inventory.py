"""What whole lists show that no state holds, where an operator has named them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

World = Callable[..., dict[str, Any]]


def test_what_named_lists_show_is_shown_and_counts_where_asked_for(
    ground_on: Callable[..., Any], world: World
) -> None:
    ground = ground_on("extended")
    ground.apply(world())
    before = ground.drift().addresses("unmanaged")
    host = ground.console.create("hosts", name="stray")
    agent = ground.console.create("agents", name="ghost", host_id=host["id"])
    ground.console.create("agents", name="gone", host_id=host["id"], status="archived")
    row = ground.console.create("blacklists", pattern="shutdown")

    found = ground.drift()
    counted = ground.drift("--count-unmanaged", "hosts,agents,blacklisted_commands")

    assert found.code == 0
    strays = {host["id"], agent["id"], row["id"]}
    assert found.addresses("unmanaged") - before == strays
    finding = found.of(host["id"])
    assert (finding["type"], finding["label"]) == ("opsconsole_host", "stray")
    assert found.of(row["id"])["label"] == "shutdown"
    assert counted.code == 2
    assert strays <= counted.drifted


def test_a_list_that_cannot_be_read_is_told(ground_on: Callable[..., Any], world: World) -> None:
    ground = ground_on("extended")
    ground.apply(world())
    ground.console.fault(method="GET", path="^/api/v1/hosts$", times=None, status=403)

    found = ground.drift()

    assert "host_list was not read" in found.told
    assert found.code == 0


def test_nothing_is_listed_that_is_not_named(ground: Any, world: World) -> None:
    ground.apply(world())
    ground.console.create("hosts", name="stray")

    found = ground.drift()

    assert not any(item.startswith("hst_") for item in found.addresses("unmanaged"))
