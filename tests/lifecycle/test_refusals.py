"""What one refusal means for the resource that meets it, and for its neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opsconsole.emulator.handle import Emulator
from opsconsole.lifecycle.interface import PlanRequest, Seen
from opsconsole.lifecycle.lifecycle import Lifecycle
from opsconsole.resources import SPECIALTY


async def test_a_shared_401_is_explained_once(
    console: Emulator, one_run: Callable[..., Lifecycle]
) -> None:
    run = one_run(api_key="svc_ak_wrong")
    keys = ("linux-server", "database", "network")
    requests = [PlanRequest(None, SPECIALTY.empty() | {"key": key}) for key in keys]

    outcomes = await run.resources[SPECIALTY.type_name].plan(requests)

    details = [item.detail for outcome in outcomes for item in outcome.diagnostics]
    assert len(details) == 3
    assert sum("API Keys settings" in detail for detail in details) == 1
    assert details.count("The console refused the credentials; no call was made.") == 2
    assert console.traffic()["total"] == 1


async def test_a_host_that_may_not_be_read_stays_as_it_is_and_only_that_one(
    steps_of: Callable[..., Any], console: Emulator
) -> None:
    hosts = steps_of("host")
    one, two = await hosts.create_all(hosts.config(name="a"), hosts.config(name="b"))
    console.fault(path=f"/hosts/{one.state['id']}$", status=403, code="FORBIDDEN", times=None)

    hidden, shown = await hosts.read(one), await hosts.read(two)

    assert (hidden.state, hidden.seen) == (one.state, Seen.UNCHECKED)
    assert [item.summary for item in hidden.diagnostics] == [
        f'The host "a" ({one.state["id"]}) was not checked'
    ]
    assert shown.seen is Seen.PRESENT
