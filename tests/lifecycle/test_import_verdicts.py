"""Verdicts of a real import that leave something open, after a dry run that passed every row."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from opsconsole.emulator import Emulator
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.lifecycle.interface import UnsettledCreate
from opsconsole.resources import HOST
from opsconsole.resources.host.settling import settle_host_creates
from outcomes import errors


@pytest.fixture
def import_saying(console: Emulator, steps_of: Callable[..., Any]) -> Callable[..., Any]:
    """Import the hosts `a` and `b` on a console that answers with these verdicts."""

    async def run(*results: dict[str, Any]) -> list[Any]:
        passed = [{"index": index, "status": "created"} for index in range(2)]
        for dry_run, verdicts in ((True, passed), (False, list(results))):
            answer = {"object": "import_result", "dry_run": dry_run, "results": verdicts}
            text = json.dumps(answer)
            console.fault(method="POST", path="/hosts/batch$", status=200, text=text)
        hosts = steps_of("host")
        return await hosts.create_all(hosts.config(name="a"), hosts.config(name="b"))

    return run


async def test_a_real_import_that_is_answered_as_a_dry_run_creates_nothing_that_is_known(
    console, steps_of
):
    verdicts = [{"index": 0, "status": "created", "id": "hst_made_up"}]
    answer = {"object": "import_result", "dry_run": True, "results": verdicts}
    console.fault(operation="host_import", skip=1, status=200, text=json.dumps(answer))

    created = await steps_of("host").create(name="a")

    assert created.unsettled and is_sentinel(created.state["id"])
    assert "says dry_run: true" in created.diagnostics[0].text


async def test_one_id_for_two_rows_is_an_error_on_both(console, import_saying):
    made = console.create("hosts", name="a")["id"]

    outcomes = await import_saying(
        {"index": 0, "status": "created", "id": made}, {"index": 1, "status": "created", "id": made}
    )

    for outcome in outcomes:
        assert outcome.state is None
        assert "an id that another host holds" in errors(outcome)[0]


async def test_created_hosts_without_an_index_are_settled_by_a_dry_run(console, import_saying):
    made = {name: console.create("hosts", name=name)["id"] for name in ("b", "a")}

    outcomes = await import_saying(*({"status": "created", "id": item} for item in made.values()))

    assert [outcome.state["id"] for outcome in outcomes] == [made["a"], made["b"]]
    assert [errors(outcome) for outcome in outcomes] == [[], []]


@pytest.mark.parametrize(
    "other", [{"status": "created", "id": "hst_other"}, {"index": 2, "status": "created"}]
)
async def test_a_created_host_that_no_verdict_names_is_of_unknown_outcome(
    console, import_saying, other
):
    made = {"index": 1, "status": "created", "id": console.create("hosts", name="a")["id"]}

    one, two = await import_saying(*([other, made] if "index" not in other else [made, other]))

    assert one.state["id"] == made["id"]
    assert two.unsettled
    assert is_sentinel(two.state["id"])
    assert "It is not known" in errors(two)[0]


async def test_a_row_that_fails_after_all_leaves_nothing_in_state(console, import_saying):
    made = console.create("hosts", name="a")["id"]

    one, two = await import_saying(
        {"index": 0, "status": "created", "id": made},
        {"index": 1, "status": "failed", "error": "no such subnet"},
    )

    assert one.state["id"] == made
    assert two.state is None
    assert "no such subnet" in two.diagnostics[0].detail


@pytest.mark.parametrize(
    ("said", "lost", "unsettled"),
    [("created", 1, False), ("created", 2, True), ("", 1, True)],
)
async def test_one_host_settles_one_lost_create(console, one_run, said, lost, unsettled):
    """Rows that are alike are answered with the same id, whichever of them made the host."""
    console.create("hosts", name="web")
    creates = [UnsettledCreate(HOST.empty() | {"name": "web"}, "a", said)] * lost

    settled = await settle_host_creates(one_run().resources[HOST.type_name], creates, [])

    assert [(each.unsettled, each.state is None) for each in settled] == [(unsettled,) * 2] * lost
