"""Hosts through the lifecycle: guarded imports, reading, updates, deletion."""

import pytest

from opsconsole.lifecycle.interface import Outcome
from outcomes import warnings


@pytest.mark.parametrize("imported", [True, False])
async def test_nor_where_no_apply_took_the_declaration(steps_of, console, imported):
    """The declaration followed the console once, or the host was imported."""
    hosts = steps_of("host")
    created = await hosts.create(name="web", external_id="one", target_port=22)
    console.change("hosts", created.state["id"], external_id="two")
    known = Outcome(created.state, b"" if imported else created.private)
    followed = await hosts.read(known)
    declared = hosts.config(name="web", external_id="two", target_port=22)
    assert (await hosts.plan(followed, declared)).planned == followed.state

    console.change("hosts", created.state["id"], external_id="three")
    moved = await hosts.read(followed)
    plan = await hosts.plan(moved, declared)
    changed = await hosts.plan(moved, hosts.config(name="web", external_id="four", target_port=22))

    assert plan.replace == ()
    assert plan.planned == moved.state
    assert "The console itself changed" in warnings(plan)[0]
    assert changed.replace == ("external_id",)
