"""The control side, through the handle that tests use."""

import http.client
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from opsconsole.emulator import API_KEY, ControlError, serve
from patience import until


def test_requests_are_counted_and_logged_without_the_key(served, call):
    call(served, "POST", "/api/v1/hosts/hst_fleet00001?a=b", {"knowledge": "x"})
    call(served, "DELETE", "/api/v1/hosts/a%2Fb")
    call(served, "GET", "/nowhere")
    assert served.request_counts() == {"host_update": 1, "host_delete": 1, "unknown": 1}
    traffic = served.traffic(limit=10)
    assert (traffic["total"], traffic["statuses"]) == (3, {"200": 1, "404": 2})
    assert (traffic["in_flight"], traffic["most_in_flight"]) == (0, 1)
    first, second, _ = traffic["entries"]
    assert (first["method"], first["path"]) == ("POST", "/api/v1/hosts/hst_fleet00001")
    assert (first["query"], first["body"], first["size"]) == ("a=b", {"knowledge": "x"}, 18)
    assert first["ended"] >= first["started"]
    assert second["path"] == "/api/v1/hosts/a%2Fb"
    assert second["request_id"].startswith("req_")
    assert API_KEY not in json.dumps(traffic)
    assert len(served.requests(limit=1)) == 1
    served.reset_log()
    assert served.request_counts() == {}


def test_requests_in_flight_are_counted(served, call):
    served.fault(hold="before", times=None)
    with ThreadPoolExecutor(4) as pool:
        path = "/api/v1/blacklists/blk_wipe"
        answers = [pool.submit(call, served, "GET", path) for _ in range(4)]
        until(lambda: served.traffic()["in_flight"] == 4)
        served.clear_faults()
        assert {answer.result()[0] for answer in answers} == {200}
    assert served.traffic()["most_in_flight"] == 4


@pytest.mark.parametrize("body", [b"\xff\x00", b"[" * 100_000, b"not json"])
def test_any_body_can_be_shown_in_the_log(served, body):
    connection = http.client.HTTPConnection(served.base_url.removeprefix("http://"))
    try:
        headers = {"Authorization": f"Bearer {served.api_key}"}
        connection.request("POST", "/api/v1/agents", body, headers)
        assert connection.getresponse().status == 400
    finally:
        connection.close()
    assert served.requests()[0]["size"] == len(body)


def test_rows_are_read_added_changed_and_removed(served, call):
    made = served.create("hosts", name="behind", tags=["a:b"])
    assert served.row("hosts", made["id"]) == made
    assert made["org_id"] == "org_main"
    changed = served.change("hosts", made["id"], tags=None, knowledge="k")
    assert "tags" not in changed
    assert (changed["knowledge"], changed["updated_at"] > made["updated_at"]) == ("k", True)
    _, _, body = call(served, "POST", f"/api/v1/hosts/{made['id']}", {})
    assert json.loads(body)["knowledge"] == "k"
    served.delete("hosts", made["id"])
    assert served.row("hosts", made["id"]) is None
    with pytest.raises(ControlError, match="404"):
        served.delete("hosts", made["id"])
    with pytest.raises(ControlError, match="404"):
        served.change("hosts", made["id"], name="x")


def test_rows_of_every_collection_are_created_and_reset(served):
    hosts = served.create_many("hosts", [{"name": str(number)} for number in range(50)])
    assert len(served.rows("hosts")) == len(hosts) + 8
    attached = served.create("attachments", agent_id="agt_fleet00001", plugin_id="plg_backup")
    assert attached["id"] == "agt_fleet00001/plg_backup"
    assert served.row("attachments", attached["id"]) == attached
    served.delete("attachments", attached["id"])
    assert "org_id" not in served.create("blacklists", pattern="x", org_id=None)
    assert served.create("agents", host_id="hst_x")["status"] == "idle"
    served.reset()
    assert len(served.rows("hosts")) == 8
    assert {row["id"] for row in served.rows("keys")} == {"key_main"}


@pytest.mark.parametrize(
    ("collection", "fields"),
    [
        ("nothing", {}),
        ("hosts", {"name": 5}),
        ("hosts", {"id": 5}),
        ("hosts", {"id": None}),
        ("hosts", {"id": "\ud800"}),
        ("hosts", {"tags": "a:b"}),
        ("hosts", {"tags": [1]}),
        ("hosts", {"org_id": ["x"]}),
        ("keys", {"write_orgs": "org_lab"}),
    ],
)
def test_a_row_that_would_break_the_rules_is_refused(served, collection, fields):
    refused = r"404 .*nothing" if collection == "nothing" else "400"
    with pytest.raises(ControlError, match=refused):
        served.create(collection, **fields)


def test_switches_can_be_turned_while_it_runs(call):
    with serve() as emulator:
        path = f"/api/v1/hosts/{emulator.create('hosts', name='h')['id']}"
        assert call(emulator, "POST", path, {})[0] == 200
        emulator.switch(empty_update="refused")
        assert call(emulator, "POST", path, {})[0] == 400
        with pytest.raises(ControlError, match="empty_update"):
            emulator.switch(empty_update="perhaps")
        status, _, body = call(emulator, "GET", "/_emulator/profile")
        assert (status, json.loads(body)["switches"]["empty_update"]) == (200, "refused")


def test_control_side_refuses_unknown_paths_and_bodies(served, call):
    assert call(served, "GET", "/_emulator/secrets")[0] == 404
    assert call(served, "DELETE", "/_emulator/reset")[0] == 405
    for body in (5, {"what": "log"}, {"what": ["all"]}):
        assert call(served, "POST", "/_emulator/reset", body)[0] == 400
    assert call(served, "GET", "/_emulator/requests?limit=x")[0] == 400
    status, _, body = call(served, "GET", "/_emulator/data")
    assert (status, json.loads(body)["hosts"]) == (200, 8)
    assert served.request_counts() == {}


def test_handle_gives_the_provider_address_and_key():
    with serve("paged", api_key="svc_ak_other", latency=0.01) as emulator:
        assert emulator.provider_settings["cursor_parameter"] == "cursor"
        assert emulator.provider_settings["api_key"] == "svc_ak_other"
        assert emulator.environment == {
            "OPSCONSOLE_BASE_URL": emulator.base_url,
            "OPSCONSOLE_API_KEY": "svc_ak_other",
        }
