"""Faults, over HTTP: what reaches the caller, and what the console did meanwhile."""

import http.client
import json
from collections.abc import Callable
from typing import Any

import pytest

from opsconsole.emulator import ControlError, Emulator
from opsconsole.emulator.bodies import BadBody
from opsconsole.emulator.faults import Faults, read_fault

Call = Callable[..., tuple[int, dict[str, str], bytes]]
HOST = "/api/v1/hosts/hst_fleet00002"


def test_an_error_answer_carries_what_was_asked_for(served: Emulator, call: Call) -> None:
    served.fault(
        method="POST",
        path="/hosts/",
        status=429,
        code="SLOW",
        message="later",
        field="name",
        errors=[{"field": "name", "message": "m"}],
        details={"a": None},
        headers={"Retry-After": "7"},
    )
    status, headers, body = call(served, "POST", HOST, {"knowledge": "x"})
    problem = json.loads(body)
    assert (status, headers["retry-after"]) == (429, "7")
    assert headers["content-type"] == "application/json"
    assert problem.pop("request_id").startswith("req_")
    assert problem == {
        "code": "SLOW",
        "message": "later",
        "field": "name",
        "errors": [{"field": "name", "message": "m"}],
        "details": {"a": None},
    }
    assert "knowledge" not in (served.row("hosts", "hst_fleet00002") or {})
    assert call(served, "POST", HOST, {})[0] == 200
    entry = served.requests()[0]
    assert (entry["faulty"], entry["status"]) == (True, 429)
    assert entry["request_id"] == json.loads(body)["request_id"]


def test_a_truncated_body(served: Emulator, call: Call) -> None:
    served.fault(truncate=10)
    with pytest.raises(http.client.IncompleteRead) as caught:
        call(served, "POST", HOST, {})
    assert caught.value.partial == b'{"id":"hst'
    served.fault(truncate=100_000)
    assert call(served, "POST", HOST, {})[0] == 200


def test_a_proxy_s_page(served: Emulator, call: Call) -> None:
    served.fault(status=502, text="<html>Bad gateway</html>", content_type="text/html")
    status, headers, body = call(served, "POST", HOST, {})
    assert (status, headers["content-type"]) == (502, "text/html")
    assert body == b"<html>Bad gateway</html>"


def test_another_body_with_the_true_status(served: Emulator, call: Call) -> None:
    served.fault(text='{"id":"hst_fleet00002","deleted":false}')
    status, _, body = call(served, "DELETE", HOST)
    assert (status, json.loads(body)["deleted"]) == (200, False)
    assert served.row("hosts", "hst_fleet00002") is None


def test_a_status_without_a_body(served: Emulator, call: Call) -> None:
    served.fault(status=204)
    assert call(served, "POST", HOST, {})[::2] == (204, b"")
    served.fault(headers={"X-Trace": "t"})
    status, headers, body = call(served, "GET", "/api/v1/nothing")
    assert (status, headers["x-trace"]) == (404, "t")
    assert served.requests()[-1]["request_id"] == json.loads(body)["request_id"]


def test_which_and_how_many(served: Emulator, call: Call) -> None:
    served.fault(method="POST", path="/hosts/", holds='"a"', skip=1, times=2, status=500)
    sent: list[tuple[str, str, Any]] = [
        ("GET", "/api/v1/blacklists/blk_wipe", None),
        ("POST", HOST, {"knowledge": "b"}),
        ("POST", HOST, {"knowledge": "a"}),
        ("POST", HOST, {"knowledge": "a"}),
        ("POST", HOST, {"knowledge": "b"}),
        ("POST", HOST, {"knowledge": "a"}),
        ("POST", HOST, {"knowledge": "a"}),
    ]
    assert [call(served, *one)[0] for one in sent] == [200, 200, 200, 500, 200, 500, 200]
    assert served.waiting_faults() == []


def test_the_first_fault_that_fits_counts_and_all_can_be_cleared(
    served: Emulator, call: Call
) -> None:
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
def test_a_fault_that_cannot_be_is_refused(members: dict[str, Any]) -> None:
    with pytest.raises(BadBody):
        read_fault(members)


def test_a_refused_fault_says_why(served: Emulator) -> None:
    with pytest.raises(ControlError, match="stauts"):
        served.fault(stauts=500)
    assert Faults().match("GET", "unknown", "/", b"") is None
