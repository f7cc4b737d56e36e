"""Specialties, blacklisted commands, and what a key may see and write."""

from typing import Any

import pytest

LAB = "svc_ak_lab"


def with_lab_key(ask: Any, **fields: Any) -> Any:
    key = {"secret": LAB, "org_id": "org_lab", "write_orgs": ["org_lab"], "cookie": "lab-cookie"}
    ask.store.add("keys", {**key, **fields})
    return ask


def test_a_blacklist_entry_shows_all_its_fields(make):
    for unset in ("null", "absent", "alternating", "alternating"):
        ask = make(unset=unset)
        for _ in range(2):
            _, body = ask("GET", "/api/v1/blacklists/blk_wipe")
            assert {"org_id", "document_id", "source_section", "description"} <= set(body)
            assert body["org_id"] is None


def test_a_blacklist_update_is_partial_and_null_is_a_value(make):
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


DENIED, TENANT = (403, "ORG_ACCESS_DENIED"), (403, "FORBIDDEN")
OK, HIDDEN = (200, None), (404, "NOT_FOUND")
PATTERN = {"pattern": "x"}
AGENT = {"host_id": "hst_main", "specialty_id": "spc_linux"}
PLUGINS = "POST agents/agt_far/plugins"
Case = tuple[dict[str, Any], str, Any, tuple[int, str | None]]
ACCESS: list[Case] = [
    # The key sees every org, and writes in its own.
    ({}, "GET specialties/search", None, OK),
    ({}, "POST blacklists/blk_shutdown", PATTERN, OK),
    ({}, "POST blacklists/blk_format", PATTERN, DENIED),
    ({}, "POST blacklists/blk_wipe", PATTERN, TENANT),
    ({}, "POST blacklists/blk_shutdown", {"org_id": "org_main"}, DENIED),
    ({}, "POST blacklists/blk_shutdown", {"org_id": None}, TENANT),
    ({}, "POST blacklists/blk_none", PATTERN, HIDDEN),
    ({"tenant_write": True}, "POST blacklists/blk_wipe", PATTERN, OK),
    # It sees its own org and tenant-wide rows.
    ({"read_orgs": []}, "GET blacklists/blk_format", None, HIDDEN),
    ({"read_orgs": []}, "POST blacklists/blk_format", {}, HIDDEN),
    ({"read_orgs": []}, "GET blacklists/blk_wipe", None, OK),
    ({"read_orgs": []}, "GET blacklists/blk_shutdown", None, OK),
    ({"read_orgs": []}, "POST hosts/hst_none", {}, HIDDEN),
    ({"read_orgs": []}, "GET specialties/search", None, OK),
    ({"read_orgs": []}, PLUGINS, {"plugin_id": "plg_disk"}, HIDDEN),
    # Another status says as much, but of blacklisted commands.
    ({"read_orgs": [], "hidden_status": 403}, PLUGINS, {"plugin_id": "plg_disk"}, DENIED),
    ({"read_orgs": [], "hidden_status": 403}, "POST hosts/hst_far", {}, DENIED),
    ({"read_orgs": [], "hidden_status": 403}, "GET blacklists/blk_format", None, HIDDEN),
    # It sees one other org.
    *(({"read_orgs": ["org_main"]}, f"{method} hosts/hst_{org}", {}, told)
      for method in ("POST", "DELETE")
      for org, told in (("main", DENIED), ("far", HIDDEN), ("lab", OK))),
    ({"read_orgs": ["org_main"]}, "POST agents", AGENT, DENIED),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "request_line", "body", "told"), ACCESS)
def test_access_follows_the_orgs_of_the_key(make, facts, request_line, body, told):
    switches = {"hidden_status": facts.get("hidden_status", 404)}
    ask = with_lab_key(make(**switches), **{k: v for k, v in facts.items() if k not in switches})
    for org in ("main", "far", "lab"):
        ask.host(id=f"hst_{org}", org_id=f"org_{org}")
    ask.agent(id="agt_far", org_id="org_far")
    method, path = request_line.split(" ")
    status, answer = ask(method, f"/api/v1/{path}", body, key=LAB)
    assert (status, answer.get("code")) == told
    if path == "specialties/search":
        assert (answer["data"] == []) is ("read_orgs" in facts)


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
def test_without_credentials_that_count_it_is_401(make, key, headers):
    status, body = make()("GET", "/api/v1/specialties/search", key=key, headers=headers)
    assert (status, body["code"]) == (401, "UNAUTHORIZED")
    assert body["request_id"].startswith("req_")


@pytest.mark.parametrize(
    ("profile", "name"), [("default", "console_session"), ("archiving", "sid")]
)
def test_a_session_cookie_stands_in_for_the_key(make, profile, name):
    headers = ((b"cookie", f"theme=dark; {name}=session-key_main".encode()),)
    assert make(profile)("GET", "/api/v1/specialties/search", key=None, headers=headers)[0] == 200


@pytest.mark.parametrize("status", ["revoked", "expired"])
def test_a_key_loses_its_force_at_once(make, status):
    ask = make()
    assert ask("GET", "/api/v1/specialties/search")[0] == 200
    ask.store.change("keys", "key_main", {"status": status})
    answered, body = ask("GET", "/api/v1/specialties/search")
    assert (answered, status in body["message"]) == (401, True)


@pytest.mark.parametrize(("sees_all", "third"), [(True, "failed"), (False, "created")])
def test_imported_rows_are_authorized_one_by_one(make, sees_all, third):
    ask = with_lab_key(make(), **{} if sees_all else {"read_orgs": ["org_lab"]})
    ask.host(name="theirs")
    rows = [{"name": "a"}, {"name": "b", "org_id": "org_main"}, {"name": "theirs"}]
    status, body = ask("POST", "/api/v1/hosts/batch", {"rows": rows}, key=LAB)
    assert status == 200
    assert [entry["status"] for entry in body["results"]] == ["created", "failed", third]
    assert "ORG_ACCESS_DENIED" in body["results"][1]["error"]
