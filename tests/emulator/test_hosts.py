from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]


def test_an_update_changes_only_the_fields_that_are_present(make: Make) -> None:
    ask = make()
    host = ask.host(tags=["env:a"], knowledge="old")
    status, body = ask("POST", f"/api/v1/hosts/{host['id']}", {"knowledge": "new"})
    assert status == 200
    assert (body["knowledge"], body["tags"], body["name"]) == ("new", ["env:a"], "h")
    assert body["updated_at"] > host["updated_at"]
    assert body["created_at"] == host["created_at"]


@pytest.mark.parametrize("content", [None, {}])
@pytest.mark.parametrize("bumps", [True, False])
def test_an_empty_update_answers_with_the_host(make: Make, content: Any, bumps: bool) -> None:
    ask = make(idle_update_bumps=bumps)
    host = ask.host()
    status, body = ask("POST", f"/api/v1/hosts/{host['id']}", content)
    assert (status, body["id"]) == (200, host["id"])
    assert (body["updated_at"] > host["updated_at"]) is bumps


def test_an_update_to_what_is_there_bumps_by_the_switch(make: Make) -> None:
    for bumps in (True, False):
        ask = make(idle_update_bumps=bumps)
        host = ask.host()
        _, body = ask("POST", f"/api/v1/hosts/{host['id']}", {"name": "h"})
        assert (body["updated_at"] > host["updated_at"]) is bumps


def test_a_blind_console_refuses_the_empty_update_alone(make: Make) -> None:
    ask = make("blind")
    path = f"/api/v1/hosts/{ask.host()['id']}"
    assert ask("POST", path, {})[0] == 400
    assert ask("POST", path, {"name": "n"})[0] == 200


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target_port", 0),
        ("target_port", 65536),
        ("target_port", "22"),
        ("target_port", True),
        ("target_port", 22.0),
        ("name", ""),
        ("name", "n" * 256),
        ("name", 5),
        ("name", None),
        ("skip_tls_verify", 1),
        ("ip_connect_mode", "none"),
        ("target_type", ["ssh"]),
        ("tags", ["no-colon"]),
        ("tags", "a:b"),
        ("additional_names", [1]),
        ("additional_names", ["n"] * 65),
        ("jump_host_ids", ["hst_none"]),
        ("jump_host_ids", ["a"] * 6),
    ],
)
def test_a_value_out_of_bounds_is_one_field_at_fault(make: Make, field: str, value: Any) -> None:
    ask = make()
    host = ask.host()
    status, body = ask("POST", f"/api/v1/hosts/{host['id']}", {field: value})
    assert (status, body["code"], body["field"]) == (400, "VALIDATION_FAILED", field)
    assert body["request_id"].startswith("req_")
    assert ask.store.hosts.get(host["id"]) == host


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target_port", 1),
        ("target_port", 65535),
        ("name", "n" * 255),
        ("additional_names", ["n"] * 64),
        ("tags", ["key:"]),
        ("tags", ["a:b:c"]),
        ("ip_connect_mode", "public"),
        ("target_type", "winrm"),
        ("jump_host_username_credential_id", "crd_a"),
    ],
)
def test_a_value_at_its_bound_is_kept(make: Make, field: str, value: Any) -> None:
    ask = make()
    status, body = ask("POST", f"/api/v1/hosts/{ask.host()['id']}", {field: value})
    assert (status, body[field]) == (200, value)


def test_several_fields_at_fault_are_listed(make: Make) -> None:
    ask = make()
    bad = {"target_port": 0, "name": ""}
    status, body = ask("POST", f"/api/v1/hosts/{ask.host()['id']}", bad)
    assert status == 400
    assert "field" not in body
    assert [item["field"] for item in body["errors"]] == ["target_port", "name"]


@pytest.mark.parametrize("field", ["external_id", "unique_id", "mac", "org_id", "color"])
def test_what_the_update_has_no_place_for_is_ignored_or_refused(make: Make, field: str) -> None:
    ask = make()
    status, body = ask("POST", f"/api/v1/hosts/{ask.host()['id']}", {field: "x"})
    assert status == 200
    assert body.get(field) != "x"
    ask = make("strict")
    status, body = ask("POST", f"/api/v1/hosts/{ask.host()['id']}", {field: "x"})
    assert (status, body["field"]) == (400, field)


def test_null_is_refused_or_clears(make: Make) -> None:
    ask = make()
    assert ask("POST", f"/api/v1/hosts/{ask.host()['id']}", {"knowledge": None})[0] == 400
    ask = make(nulls="clear")
    host = ask.host(knowledge="old")
    _, body = ask("POST", f"/api/v1/hosts/{host['id']}", {"knowledge": None})
    assert body["knowledge"] is None
    assert ask("POST", f"/api/v1/hosts/{host['id']}", {"name": None})[0] == 400


@pytest.mark.parametrize(
    ("switch", "status", "kept"),
    [("stored", 200, "public"), ("ignored", 200, None), ("refused", 400, None)],
)
def test_connect_fields(make: Make, switch: str, status: int, kept: str | None) -> None:
    ask = make(connect_fields=switch)
    host = ask.host()
    answered, _ = ask("POST", f"/api/v1/hosts/{host['id']}", {"ip_connect_mode": "public"})
    assert answered == status
    assert ask.store.hosts.get(host["id"]).get("ip_connect_mode") == kept


def test_a_tidying_console_trims_and_lowers(make: Make) -> None:
    ask = make("tidying")
    change = {"name": "  Web ", "tags": [" a:b "], "additional_names": ["WEB"], "target_port": 5}
    _, body = ask("POST", f"/api/v1/hosts/{ask.host()['id']}", change)
    assert body["target_port"] == 5
    assert (body["name"], body["tags"], body["additional_names"]) == ("Web", ["a:b"], ["web"])
    assert ask("POST", f"/api/v1/hosts/{body['id']}", {"name": "  "})[0] == 400


def test_a_delete_archives_agents_and_tasks_with_the_host(make: Make) -> None:
    ask = make()
    host, other = ask.host(), ask.host(name="other")
    mine, theirs = ask.agent(host_id=host["id"]), ask.agent(host_id=other["id"])
    ask.agent(host_id=host["id"], status="archived")
    task = ask.store.add("tasks", {"agent_id": mine["id"], "status": "scheduled"})
    status, body = ask("DELETE", f"/api/v1/hosts/{host['id']}")
    assert (status, body) == (200, {"id": host["id"], "deleted": True, "rerouted_hosts": []})
    assert ask.store.hosts.get(host["id"]) is None
    assert ask.store.agents.get(mine["id"])["status"] == "archived"
    assert ask.store.tasks.get(task["id"])["status"] == "archived"
    assert ask.store.agents.get(theirs["id"])["status"] == "idle"
    assert ask("DELETE", f"/api/v1/hosts/{host['id']}")[0] == 404


@pytest.mark.parametrize(
    ("switch", "status", "rerouted", "left"),
    [
        ("dangles", 200, False, ["JUMP", "hst_x"]),
        ("reroutes", 200, True, ["hst_x"]),
        ("refused", 409, False, ["JUMP", "hst_x"]),
    ],
)
def test_deleting_a_jump_host(
    make: Make, switch: str, status: int, rerouted: bool, left: list[str]
) -> None:
    ask = make(jump_host_delete=switch)
    jump = ask.host(is_jump_host=True)["id"]
    behind = ask.host(jump_host_ids=[jump, "hst_x"])["id"]
    answered, body = ask("DELETE", f"/api/v1/hosts/{jump}")
    assert answered == status
    assert body.get("rerouted_hosts", []) == ([behind] if rerouted else [])
    kept = ask.store.hosts.get(behind)["jump_host_ids"]
    assert kept == [jump if item == "JUMP" else item for item in left]
    assert (ask.store.hosts.get(jump) is None) is (status == 200)
