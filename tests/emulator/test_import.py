"""The bulk import of the emulated console, row by row."""

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]
BATCH = "/api/v1/hosts/batch"
CSV = ((b"content-type", b"text/csv; charset=utf-8"),)


def outcomes(body: dict[str, Any]) -> list[str]:
    return [entry["status"] for entry in body["results"]]


def test_rows_become_hosts_with_the_console_s_defaults(make: Make) -> None:
    ask = make()
    body = ask.import_rows({"name": "a", "tags": ["env:x"]}, {"name": "w", "target_type": "winrm"})
    assert body["object"] == "import_result"
    assert (body["dry_run"], body["stopped"]) == (False, False)
    assert body["counts"] == {"created": 2, "updated": 0, "skipped": 0, "failed": 0}
    first, second = (ask.store.hosts.get(entry["id"]) for entry in body["results"])
    assert (first["tags"], first["target_port"], first["org_id"]) == (["env:x"], 22, "org_main")
    assert (second["target_type"], second["target_port"]) == ("winrm", 5985)


def test_a_sparse_console_fills_in_nothing(make: Make) -> None:
    ask = make("sparse")
    (entry,) = ask.import_rows({"name": "a"})["results"]
    assert set(entry) == {"index", "status", "id"}
    assert "target_port" not in ask.store.hosts.get(entry["id"])


@pytest.mark.parametrize(
    "row",
    [5, None, {}, {"name": ""}, {"name": "a", "target_port": 0}, {"name": "a", "tags": ["x"]},
     {"name": "a", "jump_host_ids": ["hst_none"]}, {"name": "a", "target_type": "telnet"}],
)  # fmt: skip
def test_a_bad_row_fails_alone_with_status_200(make: Make, row: Any) -> None:
    ask = make()
    body = ask.import_rows(row, {"name": "good"})
    assert outcomes(body) == ["failed", "created"]
    assert body["results"][0]["error"]
    assert body["results"][0]["id"] is None
    assert len(ask.store.hosts) == 1


@pytest.mark.parametrize(
    ("field", "matched"), [("name", True), ("external_id", True), ("public_ip", True), ("mac", 0)]
)
def test_the_key_by_which_a_row_matches(make: Make, field: str, matched: bool) -> None:
    ask = make(match_by=(field,) if matched else ())
    ask.host(**{"name": "a", field: "same"})
    body = ask.import_rows({"name": "b", field: "same", "knowledge": "k"})
    assert outcomes(body) == ["updated" if matched else "created"]


def test_words_bases_and_names_that_nobody_would_guess(make: Make) -> None:
    ask = make("worded")
    ask.host(public_ip="192.0.2.1")
    rows = [{"name": "a"}, {"name": "b", "public_ip": "192.0.2.1"}, {}, {"name": "c"}]
    body = ask.import_rows(*rows, query="?preview=true&mode=stop")
    assert body["dry_run"] is True
    assert body["stopped"] is True
    assert outcomes(body) == ["would_create", "exists", "rejected", "exists"]
    assert [entry["index"] for entry in body["results"]] == [1, 2, 3, 4]
    assert ask.import_rows({"name": "z"}, query="?dry_run=true")["dry_run"] is False


@pytest.mark.parametrize(
    ("query_wins", "query", "envelope", "dry"),
    [
        (True, "?dry_run=true", False, True),
        (True, "?dry_run=false", True, False),
        (False, "?dry_run=true", False, False),
        (False, "?dry_run=false", True, True),
        (True, "", True, True),
        (False, "?dry_run=true", None, True),
        (True, "", None, False),
    ],
)
def test_query_and_envelope(
    make: Make, query_wins: bool, query: str, envelope: bool | None, dry: bool
) -> None:
    ask = make(query_overrides=query_wins)
    given = {} if envelope is None else {"dry_run": envelope}
    assert ask.import_rows({"name": "a"}, query=query, **given)["dry_run"] is dry


@pytest.mark.parametrize("status", [400, 413])
def test_too_many_rows(make: Make, status: int) -> None:
    ask = make(max_rows=2, too_many_rows_status=status)
    rows = [{"name": str(number)} for number in range(3)]
    answered, body = ask("POST", BATCH, {"rows": rows})
    assert answered == status
    assert body["details"] == {"max_rows": 2, "rows": 3}
    assert len(ask.store.hosts) == 0
    assert ask("POST", BATCH, {"rows": rows[:2]})[0] == 200


def test_an_assigning_console_gives_ids_of_its_own(make: Make) -> None:
    ask = make("assigning")
    row = {"name": "a", "external_id": "mine"}
    stored = ask.store.hosts.get(ask.import_rows(row)["results"][0]["id"])
    assert stored["external_id"].startswith("ext_")
    assert stored["unique_id"].startswith("ext_")
    assert outcomes(ask.import_rows(row)) == ["skipped"]


def test_csv(make: Make) -> None:
    ask = make()
    text = (
        "name,tags,target_port,is_jump_host,knowledge,public_ip\r\n"
        'web,env:a;rack:1,2222,TRUE,"a, ""b""",\r\n'
        "bad,,many,,,\r\n"
    )
    path = f"{BATCH}?on_error=continue&dry_run=false"
    status, body = ask("POST", path, text.encode(), headers=CSV)
    assert (status, outcomes(body)) == (200, ["created", "failed"])
    (host,) = ask.store.hosts
    assert (host["name"], host["tags"], host["target_port"]) == ("web", ["env:a", "rack:1"], 2222)
    assert (host["is_jump_host"], host["knowledge"]) == (True, 'a, "b"')
    assert "public_ip" not in host


@pytest.mark.parametrize("content", [b"\xff\xfe", b'name\n"open', b"name\n" + b"a" * 140_000])
def test_what_is_no_csv(make: Make, content: bytes) -> None:
    assert make()("POST", BATCH, content, headers=CSV)[0] == 400


@pytest.mark.parametrize(("sees_all", "third"), [(True, "failed"), (False, "created")])
def test_rows_are_authorized_one_by_one(make: Make, sees_all: bool, third: str) -> None:
    ask = make()
    orgs = ["org_lab"]
    key = {"secret": "svc_ak_lab", "org_id": "org_lab", "write_orgs": orgs}
    ask.store.add("keys", key if sees_all else {**key, "read_orgs": orgs})
    ask.host(name="theirs")
    rows = [{"name": "a"}, {"name": "b", "org_id": "org_main"}, {"name": "theirs"}]
    status, body = ask("POST", BATCH, {"rows": rows}, key="svc_ak_lab")
    assert status == 200
    assert outcomes(body) == ["created", "failed", third]
    assert "ORG_ACCESS_DENIED" in body["results"][1]["error"]


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


def test_the_layout_of_a_csv_import(make: Make) -> None:
    ask = make(csv_delimiter=";", csv_list_separator="|")
    _, body = ask("POST", BATCH, b"name;tags\nweb;env:a|rack:1\n", headers=CSV)
    assert body["counts"]["created"] == 1
    [row] = list(ask.store.hosts)
    assert row["tags"] == ["env:a", "rack:1"]
    _, body = ask("POST", BATCH, b"name,tags\nweb,env:a\n", headers=CSV)
    assert body["counts"]["failed"] == 1
