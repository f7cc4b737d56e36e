"""What the calls of one run share."""

import asyncio
import gc
from types import SimpleNamespace
from typing import Any

import pytest

from opsconsole.errors import AnswerLost
from opsconsole.lifecycle import session
from opsconsole.lifecycle.writes import may_still_arrive
from opsconsole.resources.host.known import HostDeletions
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.v1.settings import Settings
from virtual_time import VirtualLoop


async def test_abandoned_read_is_not_printed_and_ends():
    printed: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: printed.append(context))
    failing, ended = asyncio.Event(), []

    async def list_all(operation: str) -> None:
        if operation == "failing":
            await failing.wait()
            raise AnswerLost("cut")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(operation)

    run = session.ConsoleSession(SimpleNamespace(list_all=list_all), None)
    asking = asyncio.create_task(run.list_once("failing"))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    failing.set()
    await asyncio.sleep(0.01)
    asking = asyncio.create_task(run.list_once("later"))
    await asyncio.sleep(0.01)
    await run.cancel_reads()
    assert (ended, run.lists_read("failing"), run.lists_read("later")) == (["later"], {}, {})
    with pytest.raises(asyncio.CancelledError):
        await asking
    del run, asking
    gc.collect()

    assert printed == []


async def test_nothing_is_sent_once_a_run_has_ended(steps_of, console):
    hosts = steps_of("host", max_retries=3)
    hosts.provider = hosts.open()
    session = hosts.provider.session
    console.fault(path="/hosts/batch$|/search$|/plugins$", hold="before", times=None)
    lists = (session.list_once("specialty_search"), session.list_once("plugin_list", "a"))
    reads = [asyncio.create_task(read) for read in lists]
    creating = asyncio.create_task(hosts.create(name="web"))
    while not console.traffic()["in_flight"]:  # noqa: ASYNC110  # no event of the console
        await asyncio.sleep(0.01)

    await hosts.provider.close()
    console.clear_faults()
    outcome = await creating
    for read in reads:
        with pytest.raises(asyncio.CancelledError):
            await read

    assert outcome.state is None
    assert "run has ended" in outcome.diagnostics[0].text
    while console.traffic()["in_flight"]:  # noqa: ASYNC110  # the console works on this loop
        await asyncio.sleep(0.01)
    assert console.rows("hosts") == []
    assert console.request_counts().get("host_import", 0) <= 1


async def test_first_of_several_failures_is_raised():
    async def fail(number: int) -> None:
        raise ValueError(number)

    with pytest.raises(ValueError, match="1"):
        await session.map_limited([1, 2, 3], fail, 1)


@pytest.mark.parametrize(
    ("sent", "may"),
    [(None, True), ("yesterday", True), ("2020-01-01", False), ("2999-01-01T00:00:00Z", True)],
)
def test_a_create_may_arrive_within_900_seconds_or_if_its_time_is_not_known(sent, may):
    assert may_still_arrive(sent) is may


@pytest.mark.parametrize(("begins", "seconds"), [(9, 3), (0.5, 4), (1.5, 5)])
def test_a_host_is_waited_for_three_quiet_seconds(console, begins, seconds):
    loop = VirtualLoop()

    async def wait(times: int) -> list[bool]:
        provider = ConfiguredProvider(Settings.from_values(console.provider_settings, {}))
        hosts = provider.session.singleton(HostDeletions)
        loop.call_later(begins, setattr, provider.session, "removals_begun", 1)
        # The end of another deletion, or of one that was known before, wakes nobody.
        hosts.end("hst_0")
        known = [(), *[{"hst_0"}] * (times - 1)]
        waited = [await hosts.wait_for_host("hst_1", before) for before in known]
        assert loop.time() == seconds
        provider.session.removals_begun += 1
        hosts.end("hst_1")
        return [*waited, *[await hosts.wait_for_host(each, {"hst_0"}) for each in ("hst_1", None)]]

    assert loop.run_until_complete(wait(5)) == [*[False] * 5, True, True]
    assert loop.time() == seconds
    loop.close()
