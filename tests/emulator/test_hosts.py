"""Hosts of the emulated console: updates, deletions, and the values that it keeps."""

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]


AT_BOUND: dict[str, list[Any]] = {
    "target_port": [1, 65535],
    "name": ["n" * 255],
    "additional_names": [["n"] * 64],
    "tags": [["key:"], ["a:b:c"]],
    "ip_connect_mode": ["public"],
    "target_type": ["winrm"],
    "jump_host_username_credential_id": ["crd_a"],
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in AT_BOUND.items() for value in values]
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
