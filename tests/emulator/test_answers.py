"""What a console answers: by the document where it says, else by the switch that decides it."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from opsconsole.emulator.document import EXTRA

Make = Callable[..., Any]
HOST, IMPORT, AGENT = "POST hosts/hst_a", "POST hosts/batch", "POST agents"
SPECIALTIES, PLUGINS = "GET specialties/search", "GET agents/agt_a/plugins"
ABSENT = "(absent)"
OK = 200

TAGS = ["b:1", "a:1", "c:1"]
JUMPS = ["hst_b", "hst_a", "hst_c"]
KEYED = {"host_id": "hst_a", "specialty_id": "spc_linux"}
CREDENTIAL = {"credential_id": "crd_a", "credential_role": None, "order": 1, "is_required": False}
SAME = {"name": "new", "external_id": "e", "public_ip": "192.0.2.1", "mac": "m", "knowledge": "k"}
WORDS = {
    "dry_run_created_word": "would_create",
    "updated_word": "merged",
    "skipped_word": "exists",
    "failed_word": "rejected",
}
ROWS = {"rows": [{"name": "new"}, {"name": "a", "knowledge": "k"}, {"name": "a"}, {}]}
NEW = {"rows": [{"name": "new"}]}
THREE = {"rows": [{"name": str(number)} for number in range(3)]}
TOO_MANY = {"field": "rows", "details": {"max_rows": 2, "rows": 3}}
TAGGED = [{"name": "w", "tags": [tag]} for tag in TAGS]
CSV = b'name,tags,target_port\r\n"web, ""b""",env:a;rack:1,2222\r\nbad,,many\r\n'

Case = tuple[dict[str, Any], str, Any, int, Any]
HOSTS: list[Case] = [
    *(({}, HOST, {name: value}, OK, {name: value}) for name, value in (
        ("target_port", 1), ("target_port", 65535), ("name", "n" * 255),
        ("additional_names", ["n"] * 64), ("tags", ["key:"]), ("tags", ["a:b:c"]),
    )),
    ({}, HOST, {"target_port": 0, "name": ""}, 400,
     {"field": ABSENT, "errors": [{"field": "target_port"}, {"field": "name"}]}),
    *(({}, HOST, {name: "x"}, OK, {name: kept})
      for name, kept in (("external_id", "e"), ("mac", None), ("org_id", "org_main"),
                         ("color", ABSENT))),
    *(({"unknown_fields": "refused"}, HOST, {name: "x"}, 400, {"field": name})
      for name in ("external_id", "unique_id", "mac", "org_id", "color")),
    ({}, HOST, {"knowledge": None}, 400, {"field": "knowledge"}),
    ({"nulls": "clear"}, HOST, {"knowledge": None}, OK, {"knowledge": None}),
    ({"nulls": "clear"}, HOST, {"name": None}, 400, {"field": "name"}),
    ({"strings_to_255": ("knowledge",)}, HOST, {"knowledge": "k" * 256}, 400, {}),
    ({"strings_to_255": ("knowledge",)}, HOST, {"public_ip": "i" * 256}, OK, {}),
    ({"array_bounds": {"tags": 2}}, HOST, {"tags": TAGS}, 400, {"field": "tags"}),
    ({"order": "sorted"}, HOST, {"tags": TAGS}, OK, {"tags": ["a:1", "b:1", "c:1"]}),
    ({"order": "reversed"}, HOST, {"tags": TAGS}, OK, {"tags": ["c:1", "a:1", "b:1"]}),
    *(({"order": order}, HOST, {"jump_host_ids": JUMPS}, OK, {"jump_host_ids": JUMPS})
      for order in ("as_sent", "sorted", "reversed")),
    ({"connect_fields": "ignored"}, HOST, {"ip_connect_mode": "public"}, OK,
     {"ip_connect_mode": None}),
    ({"connect_fields": "refused"}, HOST, {"ip_connect_mode": "public"}, 400,
     {"field": "ip_connect_mode"}),
    ({"trims": True}, HOST, {"name": " Web ", "tags": [" a:b "], "target_port": 5}, OK,
     {"name": "Web", "tags": ["a:b"], "target_port": 5}),
    ({"trims": True}, HOST, {"name": "  "}, 400, {"field": "name"}),
    ({"lowercases": ("additional_names",)}, HOST, {"name": "W", "additional_names": ["W"]}, OK,
     {"name": "W", "additional_names": ["w"]}),
]  # fmt: skip
AGENTS: list[Case] = [
    ({}, AGENT, KEYED | {"credential_config": [{"credential_id": "crd_a", "order": 1}]}, OK,
     {"status": "idle", "credential_config": [CREDENTIAL], "plugin_ids": ABSENT}),
    ({"success": {"agent_create": 201}}, AGENT, KEYED, 201, {"status": "idle"}),
    ({"success": {"host_delete": 202}}, "DELETE hosts/hst_a", None, 202, {"deleted": True}),
    ({"agent_required": ("host_id", "name", "main_engine")}, AGENT, KEYED, 400,
     {"errors": [{"field": "name"}, {"field": "main_engine"}]}),
    ({"unknown_reference_status": 404}, AGENT, KEYED | {"specialty_id": "no"}, 404,
     {"code": "NOT_FOUND", "field": "specialty_id"}),
    ({}, AGENT, KEYED | {"host_id": "", "name": "x" * 101, "main_engine": ""}, 400,
     {"errors": [{"field": "host_id"}, {"field": "name"}]}),
    ({"agent_at_least_1": ("main_engine",), "agent_1_to_100": "secondary_engine"}, AGENT,
     KEYED | {"name": "x" * 101, "main_engine": "", "secondary_engine": ""}, 400,
     {"errors": [{"field": "main_engine"}, {"field": "secondary_engine"}]}),
    ({}, PLUGINS, None, OK, {"data": [{"id": "plg_disk"}]}),  # plg_logs left the catalogue
    ({"conflict_code": "IN_USE"}, "DELETE specialties/spc_linux", None, 409, {"code": "IN_USE"}),
    ({"license": "expired"}, HOST, {"knowledge": "x"}, 403, {"code": "LICENSE_EXPIRED"}),
    ({"license": "expired"}, SPECIALTIES, None, OK, {}),
    ({"license": "cap_reached"}, HOST, {"knowledge": "x"}, OK, {}),
    ({"license": "cap_reached"}, AGENT, KEYED, 403, {"code": "LICENSE_CAP_REACHED"}),
    ({"license": "cap_reached"}, IMPORT, NEW, OK,
     {"results": [{"error": re.compile("LICENSE_CAP_REACHED: .*")}]}),
]  # fmt: skip


def verdicts(*statuses: str, **members: Any) -> dict[str, Any]:
    """Return what an import shows: the status of each row, and more members of the answer."""
    return {"results": [{"status": status} for status in statuses], **members}


IMPORTS: list[Case] = [
    *(({}, IMPORT, {"rows": [row, {"name": "new"}]}, OK, verdicts("failed", "created"))
      for row in (5, None, {}, {"name": ""}, {"name": "b", "target_port": 0},
                  {"name": "b", "tags": ["x"]}, {"name": "b", "jump_host_ids": ["hst_none"]},
                  {"name": "b", "target_type": "telnet"})),
    ({"unset": "absent"}, IMPORT, NEW, OK, {"results": [{"error": ABSENT}]}),
    *(({"match_by": (name,)}, IMPORT, {"rows": [SAME]}, OK, verdicts("updated"))
      for name in ("external_id", "public_ip")),
    *(({"match_by": names}, IMPORT, {"rows": [SAME | {"name": "a"}]}, OK, verdicts(word))
      for names, word in ((("name",), "updated"), (("mac",), "created"), ((), "created"))),
    (WORDS, f"{IMPORT}?dry_run=true", ROWS, OK,
     verdicts("would_create", "merged", "exists", "rejected", dry_run=True, object="import_result",
              counts={"created": 1, "updated": 1, "skipped": 1, "failed": 1})),
    ({"index_base": 1}, IMPORT, THREE, OK, {"results": [{"index": 1}, {"index": 2}, {"index": 3}]}),
    ({"dry_run_parameter": "preview"}, f"{IMPORT}?preview=true", ROWS, OK, {"dry_run": True}),
    ({"dry_run_parameter": "preview"}, f"{IMPORT}?dry_run=true", ROWS, OK, {"dry_run": False}),
    ({"on_error_parameter": "mode"}, f"{IMPORT}?mode=stop", ROWS, OK, {"stopped": True}),
    ({}, IMPORT, {"rows": [{}, {"name": "new"}]}, OK, verdicts("failed", "created", stopped=False)),
    ({"on_error_default": "stop"}, IMPORT, {"rows": [{}, {"name": "new"}]}, OK,
     verdicts("failed", stopped=True)),
    *(({"query_overrides": wins}, IMPORT + query, ROWS | envelope, OK, {"dry_run": dry})
      for wins, query, envelope, dry in (
          (True, "?dry_run=true", {"dry_run": False}, True),
          (True, "?dry_run=false", {"dry_run": True}, False),
          (False, "?dry_run=true", {"dry_run": False}, False),
          (False, "?dry_run=false", {"dry_run": True}, True),
          (True, "", {"dry_run": True}, True),
          (False, "?dry_run=true", {}, True),
          (True, "", {}, False),
      )),
    ({"max_rows": 3}, IMPORT, THREE, OK, verdicts("created", "created", "created")),
    ({"max_rows": 2}, IMPORT, THREE, 413, TOO_MANY),
    ({"max_rows": 2, "too_many_rows_status": 400}, IMPORT, THREE, 400, TOO_MANY),
    ({"assigns": ("external_id",)}, IMPORT, {"rows": [SAME, SAME | {"external_id": "f"}]}, OK,
     verdicts("created", "skipped")),
    ({}, IMPORT, CSV, OK, verdicts("created", "failed")),
    *(({}, IMPORT, body, 400, {"code": "BAD_REQUEST"})
      for body in (b"\xff\xfe", b'name\n"open', b"name\n" + b"a" * 140_000)),
    ({"csv_delimiter": ";"}, IMPORT, b"name,tags\nweb,env:a\n", OK, verdicts("failed")),
]  # fmt: skip


def has(answer: Any, shown: Any) -> bool:
    """Tell whether an answer has these members and elements; an object may have more members."""
    if isinstance(shown, dict):
        return all(has(answer.get(name, ABSENT), value) for name, value in shown.items())
    if isinstance(shown, list):
        return len(answer) == len(shown) and all(map(has, answer, shown))
    if isinstance(shown, re.Pattern):
        return shown.fullmatch(answer) is not None
    return bool(answer == shown)


@pytest.fixture
def world(make: Make) -> Make:
    """Make a console with three hosts and an agent; one of its plugins left the catalogue."""

    def maker(**switches: Any) -> Any:
        ask = make(**switches)
        unlike = {"knowledge": "old", "external_id": "e", "public_ip": "192.0.2.1"}
        for name, facts in (("a", unlike), ("b", {}), ("c", {})):
            ask.host(id=f"hst_{name}", name=name, **facts)
        ask.agent(id="agt_a", host_id="hst_a")
        for plugin in ("plg_logs", "plg_disk"):
            ask.store.add("attachments", {"agent_id": "agt_a", "plugin_id": plugin})
        ask.store.plugins.remove("plg_logs")
        return ask

    return maker


def check(ask: Any, request_line: str, body: Any, status: int, shown: Any) -> None:
    """Send a request; compare the status and some of the answer."""
    method, path = request_line.split(" ")
    headers = [(b"content-type", b"text/csv; charset=utf-8")] * isinstance(body, bytes)
    answered, answer = ask(method, f"/api/v1/{path}", body, headers=headers)
    assert answered == status, answer
    assert has(answer, shown), answer


@pytest.mark.parametrize(
    ("switches", "request_line", "body", "status", "shown"), [*HOSTS, *AGENTS, *IMPORTS]
)
def test_answer_follows_the_document_and_the_switches(
    world, switches, request_line, body, status, shown
):
    check(world(**switches), request_line, body, status, shown)


RENAMED = {"name": "n", "plugin_ids": ["plg_disk", "plg_backup"]}
NEW_SPECIALTY = {"key": "k", "prompt": "p", "org_id": None}
DELETED = {"id": "agt_a", "deleted": True}
EXTRAS: list[tuple[str, Any, int, Any]] = [
    ("GET hosts/hst_a", None, OK, {"id": "hst_a", "name": "a"}),
    ("GET hosts", None, OK, {"total_count": 3}),
    ("GET agents", None, OK, {"data": [{"id": "agt_a"}]}),
    ("POST agents/agt_a", RENAMED, OK, {"name": "n"}),
    (PLUGINS, None, OK, {"data": [{"id": "plg_disk"}, {"id": "plg_backup"}]}),
    ("POST agents/agt_a", {"org_id": "org_lab"}, OK, {"name": "n", "org_id": "org_lab"}),
    ("GET agents/agt_a", None, OK, {"name": "n", "org_id": "org_lab"}),
    ("DELETE agents/agt_a", None, OK, DELETED),
    ("GET agents/agt_a", None, 404, {"code": "NOT_FOUND"}),
    ("POST specialties", NEW_SPECIALTY, OK, NEW_SPECIALTY | {"name": "k"}),
    ("POST specialties", {"key": "k"}, 409, {"code": "CONFLICT"}),
    ("POST specialties/spc_linux", {"prompt": "q"}, OK, {"prompt": "q"}),
    ("POST specialties/spc_linux", {"org_id": "org_lab"}, OK, {"org_id": "org_lab"}),
    ("GET specialties/spc_linux", None, OK, {"prompt": "q", "org_id": "org_lab"}),
    ("POST blacklists", {"pattern": "p"}, OK, {"org_id": "org_main", "document_id": None}),
    ("POST blacklists", {"pattern": "p", "org_id": None}, OK, {"org_id": None}),
    ("GET blacklists", None, OK, {"total_count": 5}),
    ("DELETE blacklists/blk_wipe", None, OK, {"id": "blk_wipe", "deleted": True}),
    ("GET blacklists/blk_wipe", None, 404, {"code": "NOT_FOUND"}),
]


def test_extra_endpoints_one_after_another(world):
    ask = world(extra=frozenset(EXTRA))
    before = ask("GET", "/api/v1/agents/agt_a")
    for unchanged in ({}, {"specialty_id": "spc_linux"}):
        assert ask("POST", "/api/v1/agents/agt_a", unchanged) == before
    for request_line, body, status, shown in EXTRAS:
        check(ask, request_line, body, status, shown)
    assert len(ask.store.attachments) == 0

    archiving = world(extra=frozenset(EXTRA), agent_delete="archives")
    check(archiving, "DELETE agents/agt_a", None, OK, DELETED)
    check(archiving, "GET agents/agt_a", None, OK, {"status": "archived"})


@pytest.mark.parametrize(
    ("switches", "rows", "kept"),
    [
        ({}, [{"name": "w"}], {"target_type": "ssh", "target_port": 22, "org_id": "org_main"}),
        ({}, [{"name": "w", "target_type": "winrm"}], {"target_port": 5985}),
        ({"fills_defaults": False}, [{"name": "w"}], {"target_port": ABSENT}),
        ({"drops": ("mac",)}, [SAME], {"mac": ABSENT, "external_id": "e"}),
        ({"assigns": ("mac",)}, [SAME], {"mac": re.compile("ext_.*"), "external_id": "e"}),
        ({}, TAGGED, {"tags": ["c:1"]}),
        ({"matched_sets": "merged"}, TAGGED, {"tags": TAGS}),
        (
            {},
            b"name,tags,target_port,is_jump_host,knowledge,public_ip\r\n"
            b'w,env:a;rack:1,2222,TRUE,"a, ""b""",\r\n',
            {
                "tags": ["env:a", "rack:1"],
                "target_port": 2222,
                "is_jump_host": True,
                "knowledge": 'a, "b"',
                "public_ip": ABSENT,
            },
        ),
        (
            {"csv_delimiter": ";", "csv_list_separator": "|"},
            b"name;tags\nweb;env:a|rack:1\n",
            {"name": "web", "tags": ["env:a", "rack:1"]},
        ),
    ],
)
def test_imported_host_is_stored_as_the_switches_say(make, switches, rows, kept):
    ask = make(**switches)
    if isinstance(rows, bytes):
        headers = [(b"content-type", b"text/csv")]
        assert ask("POST", "/api/v1/hosts/batch", rows, headers=headers)[0] == OK
    else:
        ask.import_rows(*rows)
    [host] = ask.store.hosts
    assert has(host, kept), host
