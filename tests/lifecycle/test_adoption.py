"""Adopting hosts: where they can be read and where not, and ids that stand for two rows."""

import json

import pytest

from opsconsole.emulator import Profile
from outcomes import errors, warnings

UNREADABLE = Profile(name="unreadable", summary="Refuses the empty update.", empty_update="refused")
BY_ADDRESS = Profile(
    name="by_address", summary="Knows hosts by their address.", match_by=("public_ip",)
)
SPARSE = Profile(name="silent", summary="Leaves out what is unset.", unset="absent")


@pytest.mark.parametrize(
    ("profile", "settings"),
    [(UNREADABLE, {}), (UNREADABLE, {"host_read": "none"}), ("default", {"host_read": "none"})],
    indirect=["profile"],
)
async def test_a_host_that_cannot_be_read_is_adopted_by_sending_all_that_is_declared(
    steps_of, console, settings
):
    there = console.create("hosts", name="old", knowledge="before", mac="00:00:5e:00:53:01")
    hosts = steps_of("host", on_existing_host="adopt", **settings)

    adopted = await hosts.create(name="old", knowledge="after", mac="00:00:5e:00:53:02")

    assert errors(adopted) == []
    assert adopted.state["id"] == there["id"]
    assert adopted.state["knowledge"] == "after"
    # The answer to the update is the host: it shows what no update changes.
    assert adopted.state["tenant_id"] is not None
    warned = warnings(adopted)
    # One refused empty update says nothing of other hosts.
    assert sum("Hosts cannot be read:" in item for item in warned) == 0
    assert sum("is adopted" in item for item in warned) == 1
    assert sum("kept another value for mac" in item for item in warned) == 1
    assert console.row("hosts", there["id"])["knowledge"] == "after"


@pytest.mark.parametrize("profile", [SPARSE], indirect=True)
async def test_what_an_adopted_host_does_not_show_is_reported(steps_of, console):
    console.create("hosts", name="old")

    adopted = await steps_of("host", on_existing_host="adopt").create(name="old", mac="00:00:5e")

    assert adopted.state["mac"] == "00:00:5e"
    assert any("Not verified: mac" in item for item in warnings(adopted))


@pytest.mark.parametrize("profile", [BY_ADDRESS], indirect=True)
async def test_rows_that_stand_for_one_host_are_refused_both(steps_of, console):
    there = console.create("hosts", name="old", public_ip="192.0.2.1")
    hosts = steps_of("host", on_existing_host="adopt")
    same = {"public_ip": "192.0.2.1"}
    configs = [hosts.config(name="a", **same), hosts.config(name="b", **same)]

    one, two, other = await hosts.create_all(*configs, hosts.config(name="c"))

    for outcome in (one, two):
        assert outcome.state is None
        assert "an id that another host holds" in errors(outcome)[0]
    assert errors(other) == []
    assert console.row("hosts", there["id"])["name"] == "old"


@pytest.mark.parametrize("profile", [BY_ADDRESS], indirect=True)
async def test_an_id_that_this_run_holds_is_not_adopted(steps_of, console):
    hosts = steps_of("host", on_existing_host="adopt")
    hosts.provider = hosts.open()
    held = await hosts.create(name="a", public_ip="192.0.2.1")

    second = await hosts.create(name="b", public_ip="192.0.2.1")
    deleted = await hosts.delete(held)
    console.create("hosts", **held.state | {"tenant_id": None})
    third = await hosts.create(name="b", public_ip="192.0.2.1")
    await hosts.provider.close()

    assert "an id that another host holds" in errors(second)[0]
    assert deleted.state is None
    assert errors(third) == []


@pytest.mark.parametrize("profile", [BY_ADDRESS], indirect=True)
async def test_a_lost_import_that_made_one_host_of_two_rows_is_refused_for_both(steps_of, console):
    hosts = steps_of("host")
    same = {"public_ip": "192.0.2.1"}
    passed = {"object": "import_result", "dry_run": True, "counts": {"created": 2}}
    results = [{"index": number, "status": "created"} for number in range(2)]
    text = json.dumps(passed | {"results": results})
    console.fault(method="POST", path="/api/v1/hosts/batch", status=200, text=text)
    console.fault(method="POST", path="/api/v1/hosts/batch", cut="after")

    outcomes = await hosts.create_all(
        hosts.config(name="a", **same), hosts.config(name="b", **same)
    )

    assert len(console.rows("hosts")) == 1
    for outcome in outcomes:
        assert outcome.state is None
        assert "an id that another host holds" in errors(outcome)[0]


@pytest.mark.parametrize(
    ("declared", "said", "updates"),
    [("before", "Nothing changed.", 1), ("after", "Changed to what is declared", 2)],
)
async def test_an_adoption_says_what_it_changed(steps_of, console, declared, said, updates):
    console.create("hosts", name="old", knowledge="before")
    hosts = steps_of("host", on_existing_host="adopt")
    console.reset_log()

    adopted = await hosts.create(name="old", knowledge=declared)

    [warned] = adopted.diagnostics
    assert said in warned.detail
    # An empty update reads the host.
    assert console.request_counts() == {"host_import": 1, "host_update": updates}


async def test_an_adoption_whose_answer_is_lost_is_read(steps_of, console):
    there = console.create("hosts", name="old", knowledge="before")
    console.fault(operation="host_update", skip=1, kind="reset_after")
    adopted = await steps_of("host", on_existing_host="adopt").create(name="old", knowledge="after")

    assert errors(adopted) == []
    assert (adopted.state["id"], adopted.state["knowledge"]) == (there["id"], "after")


async def test_an_adoption_whose_update_is_refused_says_so(steps_of, console):
    console.create("hosts", name="old", knowledge="before")
    console.fault(operation="host_update", skip=1, status=403, code="FORBIDDEN")

    refused = await steps_of("host", on_existing_host="adopt").create(name="old", knowledge="after")

    assert refused.state is None
    assert errors(refused)[0].startswith('Cannot adopt the host "old"')
