"""Hosts compared by the verdicts of dry runs: calls, findings and coverage."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from opsconsole.resources import HOST
from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject

COUNT = 2_000
CHANGED = (3, 99, 100, 864, 1_400, 1_998, 1_999)
CHUNK = 100
IN_BULK = {
    "host_read": "dry_run",
    "host_read_same": "skipped",
    "host_read_differs": "updated",
    "host_read_fields": ["knowledge", "public_ip", "tags", "target_port"],
}
PROVIDER = 'provider["registry.terraform.io/opsconsole/opsconsole"]'
PRIVATE = json.dumps({"observed": [item.name for item in HOST.answered]}).encode()


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"hst_{number:05}",
            "name": f"web-{number:05}",
            "org_id": "org_main",
            "tenant_id": "ten_demo",
            "public_ip": f"198.51.{number // 250}.{number % 250 + 1}",
            "target_port": 22,
            "tags": ["env:prod", "role:web"],
            "knowledge": "Runs the shop.",
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
        }
        for number in range(count)
    ]


def fill(ground: Any, count: int) -> None:
    """Let a state and the console hold the same hosts."""
    made = rows(count)
    state = State.new()
    for start in range(0, count, 2_000):
        ground.console.create_many("hosts", made[start : start + 2_000])
    for number, row in enumerate(made):
        values = HOST.empty() | {"additional_names": [], "jump_host_ids": []} | row
        values["eligible_subnets"] = []
        state.put(
            f"opsconsole_host.web[{number}]", InstanceObject(PROVIDER, values, private=PRIVATE)
        )
    ground.write({"resource": {"opsconsole_host": {"web": {"count": count, "name": "x"}}}})
    (ground.folder / "terraform.tfstate").write_bytes(state.to_bytes())
    ground.console.reset_log()


def change(ground: Any, numbers: Sequence[int]) -> None:
    for number in numbers:
        ground.console.change("hosts", f"hst_{number:05}", knowledge=f"Changed {number}.")


def address(number: int) -> str:
    return f"opsconsole_host.web[{number}]"


def test_many_hosts_cost_a_request_for_each_chunk_and_one_for_each_that_changed(
    ground_on: Any,
) -> None:
    ground = ground_on("default", **IN_BULK, import_chunk_size=CHUNK)
    fill(ground, COUNT)
    change(ground, CHANGED)
    found = ground.drift()
    assert found.code == 2
    assert found.document["calls"] == {"host_import": COUNT // CHUNK, "host_update": 7}
    assert ground.console.request_counts() == {"host_import": COUNT // CHUNK, "host_update": 7}
    assert found.addresses("changed") == {address(number) for number in CHANGED}
    for number in CHANGED:
        assert found.changed(address(number)) == {
            "knowledge": ("Runs the shop.", f"Changed {number}.")
        }
    assert len(found.addresses("in_sync")) == COUNT - len(CHANGED)
    coverage = found.document["summary"]["coverage"]
    assert coverage["percent"] == 100
    assert 20 < coverage["attributes_percent"] < 30
    assert "private_ip" in found.of(address(0))["unobserved"]
    assert "tags" not in found.of(address(0))["unobserved"]
    assert "compared by dry runs" in found.document["method"]


def test_what_is_gone_renamed_or_taken_by_another_is_read(ground_on: Any) -> None:
    ground = ground_on("default", **IN_BULK)
    fill(ground, 6)
    ground.console.delete("hosts", "hst_00001")
    ground.console.change("hosts", "hst_00002", name="renamed")
    # Another host has the name and the values of this one by now.
    ground.console.change("hosts", "hst_00003", name="moved")
    ground.console.create("hosts", **rows(6)[3] | {"id": "hst_other"})
    found = ground.drift()
    assert found.bucket(address(1)) == "missing"
    assert found.changed(address(2)) == {"name": ("web-00002", "renamed")}
    assert found.changed(address(3)) == {"name": ("web-00003", "moved")}
    assert found.addresses("in_sync") == {address(number) for number in (0, 4, 5)}


def test_a_word_of_its_own_for_rows_to_be_created_ends_no_comparison(ground_on: Any) -> None:
    ground = ground_on("default", **IN_BULK)
    fill(ground, 6)
    ground.console.switch(dry_run_created_word="would_create")
    ground.console.delete("hosts", "hst_00001")
    change(ground, [2])
    found = ground.drift()
    assert found.document["calls"] == {"host_import": 1, "host_update": 2}
    assert found.bucket(address(1)) == "missing"
    assert found.drifted == {address(1), address(2)}
    assert "one by one" not in found.told


def test_a_row_that_is_refused_is_not_the_same(ground_on: Any) -> None:
    ground = ground_on("default", **IN_BULK)
    fill(ground, 2)
    change(ground, [1])
    verdicts = [
        {"index": number, "status": "skipped", "id": f"hst_{number:05}", "error": error}
        for number, error in enumerate(("", "knowledge is too long"))
    ]
    answer = {"object": "import_result", "dry_run": True, "counts": {}, "results": verdicts}
    ground.console.fault(operation="host_import", text=json.dumps(answer))
    assert ground.drift().drifted == {address(1)}


@pytest.mark.parametrize(
    ("switches", "calls"),
    [
        # A verdict that the settings do not name.
        ({"updated_word": "merged"}, {"host_import": 1, "host_update": 6}),
        # No ids: which host a row matches cannot be told.
        ({"dry_run_ids": "none"}, {"host_import": 1, "host_update": 6}),
        ({"empty_update": "accepted", "match_by": []}, {"host_import": 1, "host_update": 6}),
        ({"max_rows": 4}, {"host_import": 3}),
    ],
)
def test_what_a_dry_run_does_not_tell_is_read_one_by_one(
    switches: dict[str, Any], calls: dict[str, int], ground_on: Any
) -> None:
    ground = ground_on("default", **IN_BULK)
    fill(ground, 6)
    if "updated_word" in switches:
        change(ground, [2])
    ground.console.switch(**switches)
    found = ground.drift()
    assert found.document["calls"] == calls
    assert found.drifted == ({address(2)} if "updated_word" in switches else set())
    if "updated_word" in switches:
        assert "'merged'" in found.told


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        # Another word, for a host that is the same; and a list that is too short.
        ([("skipped", 2), ("merged", 3)], "the verdict 'merged'"),
        ([("skipped", 2)], "verdicts that match no row"),
    ],
)
def test_a_verdict_in_the_middle_that_was_not_shown_ends_it_for_the_run(
    verdicts: list[tuple[str, int]], said: str, ground_on: Any
) -> None:
    ground = ground_on("default", **IN_BULK, import_chunk_size=2, max_concurrency=1)
    fill(ground, 8)
    change(ground, [3])
    results = [
        {"index": place, "status": word, "id": f"hst_{number:05}"}
        for place, (word, number) in enumerate(verdicts)
    ]
    answer = {"object": "import_result", "dry_run": True, "counts": {}, "results": results}
    ground.console.fault(operation="host_import", skip=1, text=json.dumps(answer))
    found = ground.drift()
    # Two hosts were compared, and none of the import that held the other verdict.
    assert found.document["calls"] == {"host_import": 2, "host_update": 6}
    assert found.drifted == {address(3)}
    assert len(found.addresses("in_sync")) == 7
    assert found.told.count(said) == 1


def test_a_dry_run_that_is_none_ends_it_with_an_error(ground_on: Any) -> None:
    ground = ground_on("default", **IN_BULK, import_chunk_size=2)
    fill(ground, 6)
    ground.console.switch(honours_dry_run=False)
    found = ground.drift()
    assert found.code == 1
    assert "it was sent to compare hosts" in found.told
    assert found.document["calls"] == {"host_import": 1, "host_update": 6}


def test_hosts_that_such_a_dry_run_created_are_named(ground_on: Any) -> None:
    ground = ground_on("default", **IN_BULK, import_chunk_size=2)
    fill(ground, 6)
    before = {row["id"] for row in ground.console.rows("hosts")}
    ground.console.switch(honours_dry_run=False, match_by=[])
    found = ground.drift()
    created = {row["id"] for row in ground.console.rows("hosts")} - before
    assert len(created) == 2
    assert all(host_id in found.told for host_id in created)


def test_read_only_sends_no_dry_run(ground_on: Any) -> None:
    ground = ground_on("default", **IN_BULK)
    fill(ground, 3)
    found = ground.drift("--read-only")
    assert found.document["calls"] == {}
    assert len(found.addresses("unchecked")) == 3
