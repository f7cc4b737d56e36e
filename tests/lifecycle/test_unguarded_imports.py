"""Dry runs that the console did not heed, or heeded only at first."""

import json

import pytest

from outcomes import errors, warnings

IMPORT = "/api/v1/hosts/batch"


def answer(*results: tuple[str, str | None], dry_run: bool, **counts: int) -> str:
    rows = [
        {"index": index, "status": status, "id": made}
        for index, (status, made) in enumerate(results)
    ]
    return json.dumps(
        {"object": "import_result", "dry_run": dry_run, "counts": counts, "results": rows}
    )


async def test_a_settling_dry_run_that_is_not_heeded_leaves_no_host_behind(steps_of, console):
    hosts = steps_of("host")
    hosts.provider = hosts.open()
    made = console.create("hosts", name="a")
    console.fault(
        method="POST",
        path=IMPORT,
        status=200,
        text=answer(("created", None), ("created", None), dry_run=True, created=2),
    )
    console.fault(method="POST", path=IMPORT, cut="before")
    console.fault(
        method="POST",
        path=IMPORT,
        status=200,
        text=answer(("created", made["id"]), ("failed", None), dry_run=False, created=1, failed=1),
    )

    one, two = await hosts.create_all(hosts.config(name="a"), hosts.config(name="b"))
    later = await hosts.create(name="later")
    await hosts.provider.close()

    assert one.state["id"] == made["id"]
    assert errors(one) == []
    assert any("dry run" in item for item in warnings(one))
    assert two.unsettled
    assert "dry run" in errors(later)[0]


@pytest.mark.parametrize("profile", ["heedless"], indirect=True)
async def test_a_row_that_is_not_created_fails_though_the_dry_run_was_not_heeded(steps_of, console):
    hosts = steps_of("host")
    console.fault(
        method="POST",
        path=IMPORT,
        status=200,
        text=answer(("failed", None), dry_run=False, failed=1),
    )

    refused = await hosts.create(name="a")

    assert refused.state is None
    assert "would not create" in errors(refused)[0]
