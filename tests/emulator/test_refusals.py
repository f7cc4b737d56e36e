"""Requests that the console refuses: status, code and field of the answer, and no row changes."""

from typing import Any

import pytest

from opsconsole.emulator.document import EXTRA

BATCH, SEARCH = "POST /api/v1/hosts/batch", "GET /api/v1/specialties/search"
ENTRY = "POST /api/v1/blacklists/blk_format"
OUT_OF_BOUNDS: dict[str, dict[str, list[Any]]] = {
    "hosts/hst_a": {
        "target_port": [0, 65536, "22", True, 22.0],
        "name": ["", "n" * 256, 5, None],
        "skip_tls_verify": [1],
        "ip_connect_mode": ["none"],
        "target_type": [["ssh"]],
        "tags": [["no-colon"], "a:b"],
        "additional_names": [[1], ["n"] * 65],
        "jump_host_ids": [["hst_none"], ["a"] * 6],
    },
    "agents": {
        "host_id": ["drop", "", "hst_none"],
        "specialty_id": ["drop", "spc_none"],
        "plugin_ids": [["plg_none"], "plg_disk"],
        "name": ["", "n" * 101],
        "remote_execution": ["yes"],
        "credential_config": [{}, ["crd_a"], [{"order": "1"}], [{"credential_id": ""}]],
        "accessible_credential_ids": [[None]],
    },
    "agents/agt_a": {"host_id": ["hst_none"], "name": [""]},
    "agents/agt_a/plugins": {"plugin_id": ["drop", None, 1, "x"]},
    "blacklists/blk_format": {"pattern": ["", "p" * 201, None, 1]},
    "blacklists": {"pattern": ["drop", "", None]},
    "specialties": {"key": ["drop"], "name": [5]},
    "specialties/spc_linux": {"key": ["other"]},
}
GIVEN = {"agents": {"host_id": "hst_a", "specialty_id": "spc_linux"}, "specialties": {"key": "k"}}
BAD, INVALID = "BAD_REQUEST", "VALIDATION_FAILED"
NO_JSON: list[Any] = [None, b"", b"[]", b"null", b"{", b"\xff", b'{"pattern": NaN}', b"[" * 100_000]
LONG = b'{"pattern": 1' + b"0" * 5000 + b"}"
REFUSED: list[tuple[str, list[str], list[Any], tuple[int, str, str | None]]] = [
    ("default", [BATCH], [[], b"", b"{"], (400, BAD, None)),
    ("default", [BATCH], [{}, {"rows": {}}], (400, INVALID, "rows")),
    ("default", [BATCH], [{"rows": [], "on_error": word} for word in ("pause", 1)],
     (400, BAD, "on_error")),
    ("default", [BATCH], [{"rows": [], "dry_run": "yes"}], (400, BAD, "dry_run")),
    ("default", [f"{BATCH}?dry_run=1"], [{"rows": []}], (400, BAD, "dry_run")),
    ("default", [f"{BATCH}?on_error=no"], [{"rows": []}], (400, BAD, "on_error")),
    ("default", [ENTRY], [*NO_JSON, LONG], (400, BAD, None)),
    ("paged", [f"{SEARCH}?cursor={cursor}" for cursor in
               ("", "zzz", "YWZ0ZXI6eA==", "YWZ0ZXI6LTE=", "%FF", "a")],
     [None], (400, "INVALID_CURSOR", None)),
    ("resized", [f"{SEARCH}?limit={limit}" for limit in ("0", "1001", "-1", "x", "9" * 5000)],
     [None], (400, BAD, "limit")),
    ("strict", [f"{SEARCH}?color=red"], [None], (400, BAD, "color")),
    ("default", ["GET /", "GET /api/v1/hosts", "GET /api/v1/agents/agt_x", "GET /api/v1/hosts/",
                 "GET /api/v2/specialties/search", "GET /api/v1/agents/a/plugins/b/c"],
     [None], (404, "NOT_FOUND", None)),
    ("default", ["PUT /api/v1/hosts/hst_x", "GET /api/v1/agents",
                 "HEAD /api/v1/specialties/search"],
     [None], (405, "METHOD_NOT_ALLOWED", None)),
]  # fmt: skip


def check(ask: Any, request: str, body: Any, told: tuple[int, str, str | None]) -> None:
    """Send a request on a console with a host and an agent; it must be refused as it is told."""
    ask.host(id="hst_a")
    ask.agent(id="agt_a")
    before = {name: list(table) for name, table in ask.store.tables.items()}
    status, problem = ask(*request.split(" "), body)
    assert (status, problem["code"], problem.get("field")) == told, (request, body)
    assert problem["message"] and problem["request_id"].startswith("req_")
    assert {name: list(table) for name, table in ask.store.tables.items()} == before


@pytest.mark.parametrize(
    ("path", "field", "value"),
    [
        (path, field, value)
        for path, fields in OUT_OF_BOUNDS.items()
        for field, values in fields.items()
        for value in values
    ],
)
def test_a_value_out_of_bounds_is_one_field_at_fault(make, path, field, value):
    given = {**GIVEN.get(path, {}), field: value}
    body = {name: item for name, item in given.items() if item != "drop"}
    check(make(extra=frozenset(EXTRA)), f"POST /api/v1/{path}", body, (400, INVALID, field))


@pytest.mark.parametrize(("name", "requests", "bodies", "told"), REFUSED)
def test_a_request_that_makes_no_sense(make, name, requests, bodies, told):
    for request in requests:
        for body in bodies:
            check(make(name), request, body, told)
