"""Specialties, blacklisted commands, and what a key may see and write."""

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]
LAB = "svc_ak_lab"


def with_lab_key(ask: Any, **fields: Any) -> Any:
    key = {"secret": LAB, "org_id": "org_lab", "write_orgs": ["org_lab"], "cookie": "lab-cookie"}
    ask.store.add("keys", {**key, **fields})
    return ask


def test_a_blacklist_entry_shows_all_its_fields(make: Make) -> None:
    for unset in ("null", "absent", "alternating", "alternating"):
        ask = make(unset=unset)
        for _ in range(2):
            _, body = ask("GET", "/api/v1/blacklists/blk_wipe")
            assert {"org_id", "document_id", "source_section", "description"} <= set(body)
            assert body["org_id"] is None


def test_a_blacklist_update_is_partial_and_null_is_a_value(make: Make) -> None:
    ask = make()
    path = "/api/v1/blacklists/blk_format"
    _, before = ask("GET", path)
    status, body = ask("POST", path, {"pattern": "mkfs.ext4*"})
    assert status == 200
    assert (body["pattern"], body["description"]) == ("mkfs.ext4*", "formats")
    assert body["text_hash"] != before["text_hash"]
    assert body["updated_at"] > before["updated_at"]
    _, body = ask("POST", path, {"description": None, "org_id": None})
    assert (body["description"], body["org_id"]) == (None, None)
    assert ask("GET", path)[1] == body
    _, body = ask("POST", path, {"org_id": "org_lab"})
    assert body["org_id"] == "org_lab"
    assert ask("POST", path, {})[1] == body


@pytest.mark.parametrize(
    ("row", "change", "status", "code"),
    [
        ("blk_shutdown", {"pattern": "x"}, 200, None),
        ("blk_format", {"pattern": "x"}, 403, "ORG_ACCESS_DENIED"),
        ("blk_wipe", {"pattern": "x"}, 403, "FORBIDDEN"),
        ("blk_shutdown", {"org_id": "org_main"}, 403, "ORG_ACCESS_DENIED"),
        ("blk_shutdown", {"org_id": None}, 403, "FORBIDDEN"),
        ("blk_none", {"pattern": "x"}, 404, "NOT_FOUND"),
    ],
)
def test_a_row_seen_and_not_writable_is_403(
    make: Make, row: str, change: Any, status: int, code: str | None
) -> None:
    answered, body = with_lab_key(make())("POST", f"/api/v1/blacklists/{row}", change, key=LAB)
    assert (answered, body.get("code")) == (status, code)


def test_a_row_not_seen_is_404(make: Make) -> None:
    ask = with_lab_key(make(), read_orgs=[])
    assert ask("GET", "/api/v1/blacklists/blk_format", key=LAB)[0] == 404
    assert ask("POST", "/api/v1/blacklists/blk_format", {}, key=LAB)[0] == 404
    assert ask("GET", "/api/v1/blacklists/blk_wipe", key=LAB)[0] == 200
    assert ask("GET", "/api/v1/blacklists/blk_shutdown", key=LAB)[0] == 200
    assert ask("GET", "/api/v1/specialties/search", key=LAB)[1]["data"] == []


def test_tenant_level_access_writes_tenant_wide_rows(make: Make) -> None:
    ask = with_lab_key(make(), tenant_write=True)
    assert ask("POST", "/api/v1/blacklists/blk_wipe", {"pattern": "x"}, key=LAB)[0] == 200


def test_hosts_and_agents_are_scoped_too(make: Make) -> None:
    ask = with_lab_key(make(), read_orgs=["org_main"])
    seen, hidden, own = ask.host(), ask.host(org_id="org_far"), ask.host(org_id="org_lab")
    paths = [f"/api/v1/hosts/{host['id']}" for host in (seen, hidden, own)]
    assert [ask("POST", path, {}, key=LAB)[0] for path in paths] == [403, 404, 200]
    assert [ask("DELETE", path, key=LAB)[0] for path in paths] == [403, 404, 200]
    body = {"host_id": seen["id"], "specialty_id": "spc_linux"}
    status, problem = ask("POST", "/api/v1/agents", body, key=LAB)
    assert (status, problem["code"]) == (403, "ORG_ACCESS_DENIED")


@pytest.mark.parametrize(
    ("key", "headers"),
    [
        (None, ()),
        ("svc_ak_wrong", ()),
        ("not-a-key", ()),
        (None, ((b"authorization", b"Basic svc_ak_emulator"),)),
        (None, ((b"authorization", b"Bearer"),)),
        (None, ((b"cookie", b"sid=session-key_main"),)),
        (None, ((b"cookie", b"console_session=wrong"),)),
        (None, ((b"cookie", b"console_session="),)),
    ],
)
def test_without_credentials_that_count_it_is_401(make: Make, key: Any, headers: Any) -> None:
    status, body = make()("GET", "/api/v1/specialties/search", key=key, headers=headers)
    assert (status, body["code"]) == (401, "UNAUTHORIZED")
    assert body["request_id"].startswith("req_")


@pytest.mark.parametrize(
    ("profile", "name"), [("default", "console_session"), ("archiving", "sid")]
)
def test_a_session_cookie_stands_in_for_the_key(make: Make, profile: str, name: str) -> None:
    headers = ((b"cookie", f"theme=dark; {name}=session-key_main".encode()),)
    assert make(profile)("GET", "/api/v1/specialties/search", key=None, headers=headers)[0] == 200


@pytest.mark.parametrize("status", ["revoked", "expired"])
def test_a_key_loses_its_force_at_once(make: Make, status: str) -> None:
    ask = make()
    assert ask("GET", "/api/v1/specialties/search")[0] == 200
    ask.store.change("keys", "key_main", {"status": status})
    answered, body = ask("GET", "/api/v1/specialties/search")
    assert (answered, status in body["message"]) == (401, True)


@pytest.mark.parametrize("status", [403, 404])
def test_an_object_of_another_org(make: Make, status: int) -> None:
    ask = make(hidden_status=status)
    host = ask.host(org_id="org_lab")
    agent = ask.agent(org_id="org_lab")
    ask.store.change("keys", "key_main", {"write_orgs": ["org_main"], "read_orgs": []})
    assert ask("POST", f"/api/v1/hosts/{host['id']}", {})[0] == status
    plugins = f"/api/v1/agents/{agent['id']}/plugins"
    assert ask("POST", plugins, {"plugin_id": "plg_disk"})[0] == status
    assert ask("GET", "/api/v1/blacklists/blk_shutdown")[0] == 404
    assert ask("POST", "/api/v1/hosts/hst_none", {})[0] == 404


@pytest.mark.parametrize(("sees_all", "third"), [(True, "failed"), (False, "created")])
def test_imported_rows_are_authorized_one_by_one(make: Make, sees_all: bool, third: str) -> None:
    ask = with_lab_key(make(), **{} if sees_all else {"read_orgs": ["org_lab"]})
    ask.host(name="theirs")
    rows = [{"name": "a"}, {"name": "b", "org_id": "org_main"}, {"name": "theirs"}]
    status, body = ask("POST", "/api/v1/hosts/batch", {"rows": rows}, key=LAB)
    assert status == 200
    assert [entry["status"] for entry in body["results"]] == ["created", "failed", third]
    assert "ORG_ACCESS_DENIED" in body["results"][1]["error"]
