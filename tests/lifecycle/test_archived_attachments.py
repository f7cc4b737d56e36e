"""Attachments of an agent that went with its host, on a console that goes on listing them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from opsconsole.emulator import Emulator
from opsconsole.lifecycle.interface import Outcome, Seen

pytestmark = pytest.mark.parametrize("profile", ["fickle"], indirect=True)


@pytest.fixture
async def attachment(steps_of: Callable[..., Any]) -> Outcome:
    """An attachment to an agent of a host that was declared."""
    host = await steps_of("host").create(name="web")
    agent = await steps_of("agent").create(
        host_id=host.state["id"], specialty_id="spc_linux", name="web"
    )
    ids = {"agent_id": agent.state["id"], "plugin_id": "plg_disk"}
    made: Outcome = await steps_of("agent_plugin").create(**ids)
    return made


def delete_host(console: Emulator) -> str:
    """Delete the host as the console does: its agents are archived, and keep their plugins."""
    [host] = console.rows("hosts")
    for agent in console.rows("agents"):
        console.change("agents", agent["id"], status="archived")
    console.delete("hosts", host["id"])
    return str(host["id"])


async def test_it_is_gone_where_its_host_is_found_gone(steps_of, console, attachment):
    host_id = delete_host(console)
    attachments = steps_of("agent_plugin")

    deleted = await attachments.delete(attachment)

    assert (deleted.state, deleted.diagnostics) == (None, ())
    assert json.loads(attachment.private)["host_id"] == host_id


@pytest.mark.parametrize("why", ["the host is there", "hosts are not read", "the read fails"])
async def test_it_is_kept_where_its_host_is_not_found_gone(steps_of, console, attachment, why):
    settings = {}
    if why == "the host is there":
        [agent] = console.rows("agents")
        console.change("agents", agent["id"], status="archived")
    else:
        delete_host(console)
    if why == "hosts are not read":
        settings["host_read"] = "none"
    if why == "the read fails":
        console.fault(operation="host_update", status=500, times=None)

    refused = await steps_of("agent_plugin", **settings).delete(attachment)

    assert refused.state == attachment.state
    assert "archived" in refused.diagnostics[0].text, "the problem is the detachment's"


async def test_a_host_found_gone_in_this_run_spares_the_list(
    steps_of, one_run, console, attachment
):
    host_id = delete_host(console)
    attachments = steps_of("agent_plugin")
    attachments.provider = one_run()
    attachments.provider.session.gone_hosts.add(host_id)
    console.reset_log()

    read = await attachments.read(attachment)

    assert read.seen is Seen.ARCHIVED
    assert "plugin_list" not in console.request_counts()
