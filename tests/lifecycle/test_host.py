"""Hosts through the lifecycle: guarded imports, reading, updates, deletion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from consoles import CONSOLES
from opsconsole.emulator import Emulator
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.lifecycle.interface import DeleteRequest, Outcome, ReadRequest, Seen
from opsconsole.lifecycle.lifecycle import Lifecycle
from outcomes import errors, warnings

READABLE = [name for name, profile in CONSOLES.items() if profile.hosts_readable]
GUARDED = [name for name, profile in CONSOLES.items() if profile.honours_dry_run]


@pytest.mark.parametrize("profile", list(CONSOLES), indirect=True)
async def test_creation_then_a_plan_without_a_change(
    steps_of: Callable[..., Any], console: Emulator
) -> None:
    hosts = steps_of("host")
    declared = {"name": "web", "public_ip": "192.0.2.1", "tags": ["b:2", "a:1"], "target_port": 22}

    created = await hosts.create(**declared)

    assert errors(created) == []
    assert created.state["id"] in {row["id"] for row in console.rows("hosts")}
    assert created.state["tags"] == ["a:1", "b:2"]
    read = await hosts.read(created)
    plan = await hosts.plan(read, hosts.config(**declared))
    assert plan.planned == read.state
    assert plan.replace == ()
    assert errors(plan) == []


@pytest.mark.parametrize("profile", READABLE, indirect=True)
async def test_refreshing_right_after_creation_changes_nothing(
    steps_of: Callable[..., Any],
) -> None:
    hosts = steps_of("host")
    created = await hosts.create(name="web", public_ip="192.0.2.1")

    for _ in range(3):
        assert (await hosts.read(created)).state == created.state


@pytest.mark.parametrize("profile", GUARDED, indirect=True)
async def test_requests_of_a_bulk_creation(steps_of: Callable[..., Any], console: Emulator) -> None:
    hosts = steps_of("host", import_chunk_size=4)
    configs = [
        hosts.config(name=f"h{number}", public_ip=f"192.0.2.{number}") for number in range(1, 8)
    ]
    console.reset_log()

    outcomes = await hosts.create_all(*configs)

    assert [errors(outcome) for outcome in outcomes] == [[]] * 7
    total = console.traffic()["total"]
    if console.profile.hosts_readable:
        assert total == 2 * 2 + 7
    else:
        assert 2 * 2 < total <= 2 * 2 + 7


async def test_a_bad_row_fails_alone(steps_of: Callable[..., Any], console: Emulator) -> None:
    hosts = steps_of("host")
    console.create("hosts", name="taken")
    configs = [hosts.config(name=name) for name in ("one", "taken", "two")]

    one, taken, two = await hosts.create_all(*configs)

    assert errors(one) == errors(two) == []
    assert taken.state is None
    assert "would not create" in errors(taken)[0]
    assert len(console.rows("hosts")) == 3


async def test_an_existing_host_is_adopted_where_that_is_asked_for(
    steps_of: Callable[..., Any], console: Emulator
) -> None:
    there = console.create("hosts", name="old", knowledge="before")
    hosts = steps_of("host", on_existing_host="adopt")

    adopted = await hosts.create(name="old", knowledge="after")

    assert adopted.state["id"] == there["id"]
    assert errors(adopted) == []
    assert console.row("hosts", there["id"])["knowledge"] == "after"


@pytest.mark.parametrize("profile", ["heedless"], indirect=True)
async def test_a_console_that_ignores_the_dry_run_is_asked_once(
    steps_of: Callable[..., Any], console: Emulator
) -> None:
    hosts = steps_of("host", import_chunk_size=2)
    hosts.lifecycle = hosts.open()
    configs = [hosts.config(name=f"h{number}") for number in range(2)]

    outcomes = await hosts.create_all(*configs)
    later = (await hosts.create_all(hosts.config(name="later")))[0]
    await hosts.lifecycle.close()

    assert [outcome.state["name"] for outcome in outcomes] == ["h0", "h1"]
    assert [errors(outcome) for outcome in outcomes] == [[], []]
    assert "dry run" in warnings(outcomes[0])[0]
    assert later.state is None
    assert "dry run" in errors(later)[0]
    assert len(console.rows("hosts")) == 2


async def test_an_import_whose_answer_is_lost_is_settled_by_a_dry_run(
    steps_of: Callable[..., Any], console: Emulator
) -> None:
    hosts = steps_of("host")
    console.fault(method="POST", path="/api/v1/hosts/batch", cut="after", skip=1)

    created = await hosts.create(name="web")

    [row] = console.rows("hosts")
    assert created.state["id"] == row["id"]
    assert errors(created) == []
    assert not created.uncertain


@pytest.mark.parametrize("profile", ["blind"], indirect=True)
async def test_an_import_that_cannot_be_settled_is_uncertain(
    steps_of: Callable[..., Any], console: Emulator
) -> None:
    hosts = steps_of("host")
    console.fault(method="POST", path="/api/v1/hosts/batch", cut="after", skip=1)

    created = await hosts.create(name="web")

    assert created.uncertain
    assert is_sentinel(created.state["id"])
    assert "It is not known" in errors(created)[0]
    assert len(console.rows("hosts")) == 1
    replaced = await hosts._run(lambda steps: steps.delete(DeleteRequest(created.state)))
    assert replaced.state is not None
    assert (await hosts.delete(created)).state is None


async def test_an_update_sends_what_changed(
    steps_of: Callable[..., Any], console: Emulator
) -> None:
    hosts = steps_of("host")
    created = await hosts.create(name="web", knowledge="a", target_port=22)
    console.reset_log()

    updated = await hosts.change(created, name="web", knowledge="b", target_port=22)

    assert updated.state["knowledge"] == "b"
    assert errors(updated) == []
    assert console.request_counts() == {"host_update": 1}


@pytest.mark.parametrize("name", ["org_id", "external_id", "unique_id", "mac"])
async def test_a_changed_declaration_replaces_and_warns(
    steps_of: Callable[..., Any], console: Emulator, name: str
) -> None:
    hosts = steps_of("host")
    created = await hosts.create(name="web", **{name: "one"})

    plan = await hosts.plan(created, hosts.config(name="web", **{name: "two"}))

    assert plan.replace == (name,)
    assert "archives every agent" in warnings(plan)[0]


@pytest.mark.parametrize("name", ["org_id", "external_id", "unique_id", "mac"])
async def test_a_console_that_changes_it_by_itself_never_replaces(
    steps_of: Callable[..., Any], console: Emulator, name: str
) -> None:
    hosts = steps_of("host")
    created = await hosts.create(name="web", **{name: "one"})
    console.change("hosts", created.state["id"], **{name: "moved"})

    read = await hosts.read(created)
    plan = await hosts.plan(read, hosts.config(name="web", **{name: "one"}))

    assert read.state[name] == "moved"
    assert plan.replace == ()
    assert plan.planned == read.state
    assert "The console itself changed" in warnings(plan)[0]


@pytest.mark.parametrize("imported", [True, False])
async def test_nor_where_no_apply_took_the_declaration(
    steps_of: Callable[..., Any], console: Emulator, imported: bool
) -> None:
    """The declaration followed the console once, or the host was imported."""
    hosts = steps_of("host")
    created = await hosts.create(name="web", external_id="one")
    console.change("hosts", created.state["id"], external_id="two")
    known = Outcome(created.state, b"" if imported else created.private)
    followed = await hosts.read(known)
    declared = hosts.config(name="web", external_id="two")
    assert (await hosts.plan(followed, declared)).planned == followed.state

    console.change("hosts", created.state["id"], external_id="three")
    moved = await hosts.read(followed)
    plan = await hosts.plan(moved, declared)
    changed = await hosts.plan(moved, hosts.config(name="web", external_id="four"))

    assert plan.replace == ()
    assert plan.planned == moved.state
    assert "The console itself changed" in warnings(plan)[0]
    assert changed.replace == ("external_id",)


async def test_a_missing_host_leaves_state_with_a_warning(
    steps_of: Callable[..., Any], console: Emulator
) -> None:
    hosts = steps_of("host")
    created = await hosts.create(name="web")
    console.delete("hosts", created.state["id"])

    gone = await hosts.read(created)
    kept = await steps_of("host", on_missing_host="error").read(created)

    assert gone.state is None
    assert gone.seen is Seen.GONE
    assert "not visible to this key" in warnings(gone)[0]
    # They are not read, so that they have no warning of their own.
    assert "with those of its agents and plugins that state holds" in gone.diagnostics[0].detail
    assert kept.state == created.state
    assert errors(kept)


@pytest.mark.parametrize("profile", ["blind"], indirect=True)
async def test_a_refused_empty_update_turns_reading_off_with_one_warning(
    steps_of: Callable[..., Any], console: Emulator, one_run: Callable[..., Lifecycle]
) -> None:
    hosts = steps_of("host")
    created = await hosts.create_all(*(hosts.config(name=f"h{n}") for n in range(5)))
    steps = one_run(max_concurrency=1).resources["opsconsole_host"]
    console.reset_log()

    read = await steps.read([ReadRequest(item.state, item.private) for item in created])

    assert [item.seen for item in read] == [Seen.UNCHECKED] * 5
    assert [item.state for item in read] == [item.state for item in created]
    told = [item.summary for outcome in read for item in outcome.diagnostics]
    assert len([text for text in told if text.startswith("Hosts cannot be read")]) == 1
    # Two different hosts must refuse: one refusal may be that host's own.
    assert console.traffic()["total"] == 2


@pytest.mark.parametrize("first", [True, False])
async def test_one_refused_empty_update_leaves_that_host_unchecked_and_no_other(
    steps_of: Callable[..., Any],
    console: Emulator,
    one_run: Callable[..., Lifecycle],
    first: bool,
) -> None:
    hosts = steps_of("host")
    created = await hosts.create_all(*(hosts.config(name=f"h{n}") for n in range(4)))
    steps = one_run(max_concurrency=1).resources["opsconsole_host"]
    console.fault(kind="bad_request", operation="host_update", skip=0 if first else 2)
    read = await steps.read([ReadRequest(item.state, item.private) for item in created])
    unchecked = [item for item in read if item.seen is Seen.UNCHECKED]
    assert len(unchecked) == 1
    assert "was not checked" in unchecked[0].diagnostics[0].summary
    assert console.request_counts()["host_update"] == 8


async def test_deletion_that_is_not_confirmed_keeps_state(
    steps_of: Callable[..., Any], console: Emulator
) -> None:
    hosts = steps_of("host")
    created = await hosts.create(name="web")
    console.fault(method="DELETE", path="/api/v1/hosts/.*", status=500, code="INTERNAL")

    refused = await hosts.delete(created)

    assert refused.state == created.state
    assert errors(refused)
    console.clear_faults()
    assert (await hosts.delete(created)).state is None
    assert console.rows("hosts") == []


async def test_an_abandoned_host_stays(steps_of: Callable[..., Any], console: Emulator) -> None:
    hosts = steps_of("host")
    created = await hosts.create(name="web", deletion_policy="abandon")

    left = await hosts.delete(created)

    assert left.state is None
    assert "stays on the console" in warnings(left)[0]
    assert len(console.rows("hosts")) == 1


@pytest.mark.parametrize("profile", ["rerouting"], indirect=True)
async def test_rerouted_hosts_are_named(steps_of: Callable[..., Any], console: Emulator) -> None:
    hosts = steps_of("host")
    jump = await hosts.create(name="jump", is_jump_host=True)
    behind = await hosts.create(name="web", jump_host_ids=[jump.state["id"]])

    deleted = await hosts.delete(jump)

    assert deleted.rerouted == (behind.state["id"],)
    assert "rerouted" in warnings(deleted)[0]
