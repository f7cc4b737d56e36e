"""What many resources are told of one refusal."""

from __future__ import annotations

from collections.abc import Callable

from opsconsole.emulator.handle import Emulator
from opsconsole.lifecycle.interface import PlanRequest
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
