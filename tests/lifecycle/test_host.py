"""Hosts through the lifecycle: guarded imports, reading, updates, deletion."""

import pytest

from consoles import CONSOLES
from opsconsole.lifecycle.interface import Outcome
from outcomes import errors, warnings

GUARDED = [name for name, profile in CONSOLES.items() if profile.honours_dry_run]


@pytest.mark.parametrize("profile", list(CONSOLES), indirect=True)
async def test_creation_then_a_plan_without_a_change(steps_of, console):
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


@pytest.mark.parametrize("profile", GUARDED, indirect=True)
async def test_requests_of_a_bulk_creation(steps_of, console):
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


@pytest.mark.parametrize("profile", ["heedless"], indirect=True)
async def test_a_console_that_ignores_the_dry_run_is_asked_once(steps_of, console):
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


@pytest.mark.parametrize("imported", [True, False])
async def test_nor_where_no_apply_took_the_declaration(steps_of, console, imported):
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
