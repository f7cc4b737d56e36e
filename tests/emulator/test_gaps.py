"""The switches for what the document leaves open about refusals, lists, imports and fields."""

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]
SEARCH = "/api/v1/specialties/search"
BATCH = "/api/v1/hosts/batch"


@pytest.mark.parametrize(("status", "blacklist"), [(404, 404), (403, 404)])
def test_an_object_of_another_org(make: Make, status: int, blacklist: int) -> None:
    ask = make(hidden_status=status)
    host = ask.host(org_id="org_lab")
    agent = ask.agent(org_id="org_lab")
    ask.store.change("keys", "key_main", {"write_orgs": ["org_main"], "read_orgs": []})
    assert ask("POST", f"/api/v1/hosts/{host['id']}", {})[0] == status
    assert ask("POST", f"/api/v1/agents/{agent['id']}/plugins", {"plugin_id": "plg_disk"})[0] == (
        status
    )
    assert ask("GET", "/api/v1/blacklists/blk_shutdown")[0] == blacklist
    assert ask("POST", "/api/v1/hosts/hst_none", {})[0] == 404


def test_a_license_that_expired_refuses_every_write(make: Make) -> None:
    ask = make(license="expired")
    host = ask.host()
    assert ask("GET", SEARCH)[0] == 200
    status, body = ask("POST", f"/api/v1/hosts/{host['id']}", {"knowledge": "x"})
    assert (status, body["code"]) == (403, "LICENSE_EXPIRED")


def test_a_license_that_is_used_up_refuses_what_would_be_new(make: Make) -> None:
    ask = make(license="cap_reached")
    host = ask.host()
    assert ask("POST", f"/api/v1/hosts/{host['id']}", {"knowledge": "x"})[0] == 200
    status, body = ask(
        "POST", "/api/v1/agents", {"host_id": host["id"], "specialty_id": "spc_linux"}
    )
    assert (status, body["code"]) == (403, "LICENSE_CAP_REACHED")
    _, result = ask("POST", BATCH, {"rows": [{"name": "new"}]})
    assert result["counts"]["failed"] == 1
    assert "LICENSE_CAP_REACHED" in result["results"][0]["error"]


def test_the_code_of_a_conflict(make: Make) -> None:
    ask = make(conflict_code="SPECIALTY_IN_USE")
    ask.agent(specialty_id="spc_linux")
    status, body = ask("DELETE", "/api/v1/specialties/spc_linux")
    assert (status, body["code"]) == (409, "SPECIALTY_IN_USE")


@pytest.mark.parametrize(
    ("switch", "said"),
    [("true_or_false", False), ("absent", None), ("always_true", True), ("always_false", False)],
)
def test_has_more_may_be_absent_or_wrong(make: Make, switch: str, said: bool | None) -> None:
    assert make(has_more=switch)("GET", SEARCH)[1].get("has_more") is said


def test_a_filter_leaves_entries_out(make: Make) -> None:
    ask = make(filter_parameter="q")
    assert [row["id"] for row in ask("GET", f"{SEARCH}?q=linux")[1]["data"]] == ["spc_linux"]
    assert ask("GET", f"{SEARCH}?q=none")[1]["total_count"] == 0
    assert make()("GET", f"{SEARCH}?q=linux")[1]["total_count"] == 6


def test_what_an_import_does_that_says_nothing_of_failures(make: Make) -> None:
    rows = {"rows": [{"public_ip": "192.0.2.1"}, {"name": "fine"}]}
    assert make()("POST", BATCH, rows)[1]["counts"]["created"] == 1
    _, body = make(on_error_default="stop")("POST", BATCH, rows)
    assert (body["stopped"], body["counts"]["created"]) == (True, 0)


def test_fields_that_are_dropped(make: Make) -> None:
    ask = make(drops=("mac",))
    assert ask("POST", BATCH, {"rows": [{"name": "a", "mac": "m", "external_id": "e"}]})[0] == 200
    [row] = list(ask.store.hosts)
    assert "mac" not in row
    assert row["external_id"] == "e"


def test_the_bounds_of_an_agent(make: Make) -> None:
    body = {"host_id": "", "specialty_id": "spc_linux", "name": "x" * 101, "main_engine": ""}
    plain = make()("POST", "/api/v1/agents", body)[1]
    assert {item["field"] for item in plain["errors"]} == {"host_id", "name"}
    other = make(agent_at_least_1=("main_engine",), agent_1_to_100="secondary_engine")
    refused = other("POST", "/api/v1/agents", body | {"secondary_engine": ""})[1]
    assert {item["field"] for item in refused["errors"]} == {"main_engine", "secondary_engine"}


def test_the_layout_of_a_csv_import(make: Make) -> None:
    ask = make(csv_delimiter=";", csv_list_separator="|")
    headers = ((b"content-type", b"text/csv"),)
    _, body = ask("POST", BATCH, b"name;tags\nweb;env:a|rack:1\n", headers=headers)
    assert body["counts"]["created"] == 1
    [row] = list(ask.store.hosts)
    assert row["tags"] == ["env:a", "rack:1"]
    _, body = ask("POST", BATCH, b"name,tags\nweb,env:a\n", headers=headers)
    assert body["counts"]["failed"] == 1
