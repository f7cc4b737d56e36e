"""Faults over HTTP: what reaches the caller, and what the console did meanwhile."""

import asyncio
import contextlib
import gzip
import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from opsconsole.emulator import ControlError, Emulator, serve, spawn
from opsconsole.emulator.bodies import BadBody
from opsconsole.emulator.document import DOCUMENTED, EXTRA, KINDS
from opsconsole.emulator.faults import FAULT_KINDS, read_fault
from patience import until

HOST = "/api/v1/hosts/hst_fleet00002"
LOST = (http.client.HTTPException, ConnectionError, TimeoutError)
DONE_FIRST = {"reset_after", "cut_answer", "late_answer", "late_effect", "gzip_bomb", "endless"}


def effect(kind: str) -> bool:
    members = FAULT_KINDS[kind]
    answers = ("answer", "ids", "garbage")
    return kind in DONE_FIRST or "handled" in members or any(name in members for name in answers)


@pytest.mark.parametrize(
    "kind", [name for name in FAULT_KINDS if name not in ("gzip_bomb", "endless")]
)
def test_a_kind_does_what_was_asked_or_does_not(served, call, kind):
    served.fault(kind=kind, operation="host_update", answer_delay=0.0, delay=0.0)
    with contextlib.suppress(*LOST):
        call(served, "POST", HOST, {"knowledge": "done"})
    row = served.row("hosts", "hst_fleet00002") or {}
    assert (row.get("knowledge") == "done") is effect(kind)
    entry = served.requests()[0]
    assert entry["faulty"]
    assert (entry["status"] == 0) is kind.startswith("reset_")
    assert served.waiting_faults() == []


@pytest.mark.parametrize("kind", ["late_answer", "late_effect"])
def test_an_answer_that_is_late(served, kind, monkeypatch):
    """The client gives up; what it asked for is done before, or after."""
    late, sleep = 20.0, asyncio.sleep
    over = threading.Event()

    async def until_over(seconds: float) -> None:
        await sleep(0.01 if seconds == late else seconds)
        while seconds == late and not over.is_set():
            await sleep(0.01)

    def knowledge() -> Any:
        return (served.row("hosts", "hst_fleet00002") or {}).get("knowledge")

    monkeypatch.setattr(asyncio, "sleep", until_over)
    part = "answer_delay" if kind == "late_answer" else "delay"
    served.fault(kind=kind, operation="host_update", **{part: late})
    headers = {"Authorization": f"Bearer {served.api_key}"}
    connection = http.client.HTTPConnection(urlsplit(served.base_url).netloc)
    connection.request("POST", HOST, json.dumps({"knowledge": "x"}), headers)
    until(lambda: served.traffic()["in_flight"])
    if kind == "late_answer":
        until(lambda: knowledge() == "x")
    else:
        assert knowledge() != "x"
    connection.close()
    over.set()
    until(lambda: not served.traffic()["in_flight"])
    assert knowledge() == "x"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_request_is_held_until_faults_are_forgotten(served, call, when):
    served.fault(operation="host_update", hold=when)
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(call(served, "POST", HOST, {"knowledge": "held"})[0])

    def is_done() -> bool:
        return (served.row("hosts", "hst_fleet00002") or {}).get("knowledge") == "held"

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: served.traffic()["in_flight"] and not served.waiting_faults())
    if when == "after":
        until(is_done)
    assert is_done() is (when == "after")
    assert statuses == []
    served.clear_faults()
    asking.join()
    assert statuses == [200]
    assert is_done()


@pytest.fixture(scope="module")
def whole() -> Iterator[Emulator]:
    """One emulator with every extra endpoint."""
    with serve("extended", seed="fleet") as emulator:
        yield emulator


@pytest.fixture
def everything(whole: Emulator) -> Emulator:
    """Return it at its seed."""
    whole.reset()
    whole.switch(empty_update="accepted")
    return whole


@pytest.mark.parametrize("operation", DOCUMENTED | EXTRA)
def test_another_object_is_answered_by_every_operation(everything, call, operation):
    host = everything.create("hosts", name="mine")
    held = {"host_id": host["id"], "specialty_id": "spc_linux"}
    ids = {name: everything.create(name, key="mine", **held)["id"] for name, _ in KINDS.values()}
    method, template = (DOCUMENTED | EXTRA)[operation].split(" ")
    kind = operation.rpartition("_")[0]
    asked_id = ids[KINDS["agent" if kind == "plugin" else kind].collection]
    path = template.replace("{id}", asked_id).replace("{pluginId}", "plg_disk")
    bodies: dict[str, Any] = {
        "plugin_attach": {"plugin_id": "plg_disk"},
        "host_import": {"rows": [{"name": "new"}], "dry_run": False},
    }
    created = {"name": "b", "key": "k", "pattern": "p", "org_id": None, **held}
    if operation == "plugin_detach":
        call(everything, "POST", f"/api/v1/agents/{ids['agents']}/plugins", bodies["plugin_attach"])
    given = created if operation.endswith("_create") else {}
    body = bodies.get(operation, given if method == "POST" else None)
    everything.fault(kind="other_object", operation=operation)
    status, _, content = call(everything, method, path, body)
    assert status == 200
    answer = json.loads(content)
    if operation == "host_import":
        assert everything.row("hosts", answer["results"][0]["id"])["name"] != "new"
    elif "data" in answer:
        assert {entry["id"].split("_")[0] for entry in answer["data"]} <= {"spc", "plg"}
    else:
        assert answer["id"] != asked_id or operation.endswith("_create")
        assert answer.get("name", answer.get("pattern")) not in ("b", "p")


def test_an_error_answer_carries_what_was_asked_for(served, call):
    told = {"code": "SLOW", "message": "later", "field": "name", "details": {"a": None}}
    told["errors"] = [{"field": "name", "message": "m"}]
    which = {"method": "POST", "path": "/hosts/"}
    served.fault(**which, status=429, headers={"Retry-After": "7"}, **told)
    status, headers, body = call(served, "POST", HOST, {"knowledge": "x"})
    problem = json.loads(body)
    assert (status, headers["retry-after"]) == (429, "7")
    assert headers["content-type"] == "application/json"
    assert problem.pop("request_id").startswith("req_")
    told = {"errors": [{"field": "name", "message": "m"}], "details": {"a": None}}
    assert problem == {"code": "SLOW", "message": "later", "field": "name", **told}
    assert "knowledge" not in (served.row("hosts", "hst_fleet00002") or {})
    assert call(served, "POST", HOST, {})[0] == 200
    entry = served.requests()[0]
    assert (entry["faulty"], entry["status"]) == (True, 429)
    assert entry["request_id"] == json.loads(body)["request_id"]


PAGE = "<html>Bad gateway</html>"
DENIAL = '{"deleted":false}'


@pytest.mark.parametrize(
    ("fault", "status", "headers", "body"),
    [
        (
            {"status": 502, "text": PAGE, "content_type": "text/html"},
            502,
            {"content-type": "text/html"},
            PAGE,
        ),
        ({"text": DENIAL}, 200, {"content-type": "application/json"}, DENIAL),
        ({"status": 204}, 204, {}, ""),
        ({"headers": {"X-Trace": "t"}}, 200, {"x-trace": "t"}, None),
        ({"truncate": 100_000}, 200, {}, None),
        ({"kind": "redirect_same"}, 307, {"location": rf"{HOST}\?a=b"}, None),
        ({"kind": "redirect_other"}, 307, {"location": rf"http://localhost:.*{HOST}\?a=b"}, None),
        (
            {"kind": "rate_limited_date", "retry_after_date": 3600},
            429,
            {"retry-after": ".*GMT"},
            None,
        ),
    ],
)
def test_fault_shapes_the_answer(served, call, fault, status, headers, body):
    served.fault(**fault)
    answered, sent, content = call(served, "POST", f"{HOST}?a=b", {"knowledge": "x"})
    assert answered == status
    assert all(re.fullmatch(pattern, sent[name]) for name, pattern in headers.items()), sent
    assert body in (None, content.decode())
    is_changed = (served.row("hosts", "hst_fleet00002") or {}).get("knowledge") == "x"
    assert is_changed is (status == 200)


def test_a_truncated_body(served, call):
    served.fault(truncate=10)
    with pytest.raises(http.client.IncompleteRead) as caught:
        call(served, "POST", HOST, {})
    assert caught.value.partial == b'{"id":"hst'


def test_ids_in_an_answer(served, call):
    held = {"null": None, "number": 7, "dots": "..", "empty": "", "huge": "x" * 100_000}
    for name, expected in held.items():
        served.fault(kind=f"ids_{name}", times=2)
        assert json.loads(call(served, "POST", HOST, {})[2])["id"] == expected
        listed = json.loads(call(served, "GET", "/api/v1/specialties/search")[2])["data"]
        assert [entry["id"] for entry in listed] == [expected] * len(listed)


def test_ids_of_an_import_are_crossed(served, call):
    served.fault(kind="ids_crossed", operation="host_import")
    rows = [{"name": name} for name in ("one", "two", "three")]
    answer = json.loads(call(served, "POST", "/api/v1/hosts/batch", {"rows": rows})[2])
    names = [(served.row("hosts", entry["id"]) or {})["name"] for entry in answer["results"]]
    assert names == ["two", "three", "one"]


def test_a_small_body_that_inflates(served, call):
    served.fault(kind="gzip_bomb", inflates_to=8 << 20)
    _, headers, body = call(served, "POST", HOST, {})
    assert headers["content-encoding"] == "gzip"
    assert len(body) < 100_000
    assert len(json.loads(gzip.decompress(body))["pad"]) == 8 << 20


def test_a_body_without_end_ends_with_the_connection(served):
    served.fault(kind="endless")
    address = urlsplit(served.base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=300)
    connection.request("GET", "/api/v1/blacklists/blk_wipe", headers={"Authorization": "x"})
    answer = connection.getresponse()
    assert len(answer.read(3_000_000)) == 3_000_000
    answer.close()
    connection.close()
    until(lambda: not served.traffic()["in_flight"])


def connects(console: Emulator) -> bool:
    address = urlsplit(console.base_url)
    try:
        socket.create_connection((address.hostname or "", address.port or 0), 5).close()
    except ConnectionRefusedError:
        return False
    return True


def test_connections_are_refused_and_accepted_again(call):
    """From a moment on, or after an answer."""
    with serve() as console:
        for _ in range(3):
            console.refuse()
            assert not connects(console)
            assert console.waiting_faults() == []
            console.accept()
            assert call(console, "GET", "/api/v1/blacklists/blk_wipe")[0] == 200
        console.fault(refuse=True, skip=1)
        for _ in range(2):
            assert call(console, "GET", "/api/v1/blacklists/blk_wipe")[0] == 200
        assert not connects(console)
        console.refuse()


def test_an_emulator_with_one_address_cannot_refuse():
    with spawn(seconds=60) as console:
        with pytest.raises(ControlError, match="address of its own"):
            console.refuse()
        with pytest.raises(ControlError, match="address of its own"):
            console.fault(refuse=True)


def test_which_requests_a_fault_meets_and_how_many(served, call):
    which = {"method": "POST", "operation": "host_update", "path": "/hosts/", "holds": '"a"'}
    served.fault(**which, skip=1, times=2, status=500)
    sent: list[tuple[str, str, Any]] = [
        ("GET", "/api/v1/blacklists/blk_wipe", None),
        ("POST", "/api/v1/hosts/batch", {"rows": [{"name": "a"}]}),
        ("POST", HOST, {"knowledge": "b"}),
        ("POST", HOST, {"knowledge": "a"}),
        ("POST", HOST, {"knowledge": "a"}),
        ("POST", HOST, {"knowledge": "b"}),
        ("POST", HOST, {"knowledge": "a"}),
        ("POST", HOST, {"knowledge": "a"}),
    ]
    assert [call(served, *one)[0] for one in sent] == [200, 200, 200, 200, 500, 200, 500, 200]
    assert served.waiting_faults() == []


def test_first_matching_fault_counts_and_all_can_be_cleared(served, call):
    served.fault(path="/blacklists/", status=500, times=None)
    served.fault(status=418, times=None)
    assert [call(served, "POST", HOST, {})[0] for _ in range(3)] == [418] * 3
    assert len(served.waiting_faults()) == 2
    served.clear_faults()
    assert call(served, "POST", HOST, {})[0] == 200


@pytest.mark.parametrize(
    "members",
    [
        {"stauts": 500},
        {"path": "("},
        {"cut": "during"},
        {"status": 99},
        {"status": "500"},
        {"skip": -1},
        {"times": 0},
        {"truncate": "x"},
        {"delay": -1},
        {"headers": {"a b": "c"}},
        {"headers": {"a": "c\r\nd: e"}},
        {"text": 5},
        {"content_type": ""},
        {"content_type": "a\nb"},
        {"errors": [{"field": "name"}]},
        {"delay": float("inf")},
        {"details": []},
        {"operation": "nothing"},
        {"kind": "nothing"},
        {"ids": "none"},
    ],
)
def test_a_fault_that_cannot_be_is_refused(members):
    with pytest.raises(BadBody):
        read_fault(members)


def test_a_refused_fault_says_why(served):
    with pytest.raises(ControlError, match="stauts"):
        served.fault(stauts=500)
