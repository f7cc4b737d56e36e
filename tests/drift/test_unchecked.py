"""A console in trouble: the report says what could not be checked, and claims nothing else."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from declarations import attributes_in
from loopback import CLOSED_ADDRESS
from opsconsole.errors import TRY_LATER
from opsconsole.reports.formats import FORMATS

WEB, AGENT = "opsconsole_host.web[0]", "opsconsole_agent.ops[0]"
DISK = "opsconsole_agent_plugin.disk[0]"
HTML = {"text": "<html><h1>Please log in</h1></html>", "content_type": "text/html"}


@pytest.fixture
def native(native_on: Callable[..., Any], world: Any) -> Any:
    """The world, under settings that give up soon."""
    made = native_on("default")
    made.settings["max_retries"] = 1
    made.apply(**world())
    made.console.reset_log()
    return made


def everything(native: Any) -> set[str]:
    return set(attributes_in(native.state))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param({"status": 401, "code": "UNAUTHORIZED"}, "status 401", id="401"),
        pytest.param({"status": 403, "code": "FORBIDDEN"}, "status 403", id="403"),
        pytest.param({"status": 429, "headers": {"Retry-After": "1000"}}, "status 429", id="429"),
        pytest.param({"status": 500}, "status 500", id="500"),
        pytest.param({"status": 200, **HTML}, "text/html", id="html"),
        pytest.param({"status": 302, "headers": {"Location": "/login"}}, "text/html", id="login"),
        pytest.param({"truncate": 20}, "broke off", id="truncated"),
    ],
)
def test_nothing_can_be_read(fault, said, native):
    native.console.fault(times=None, path="^/api/", **fault)
    native.console.fault(times=None, path="^/login", status=200, **HTML)
    found = native.drift()
    failed = TRY_LATER if fault.get("status") == 429 else 1
    assert found.code == failed
    assert found.drifted == set()
    assert found.addresses("unchecked") == everything(native)
    assert all(item["reason"] for item in found.findings)
    assert found.document["summary"]["coverage"]["percent"] == 0
    assert said in found.told
    assert "error: " in found.told
    if said == "status 401":
        assert found.told.count(said) == len(found.document["diagnostics"]) == 1
        assert "3 hosts" in found.told and "3 agents" in found.told
        # The first wave was in flight when the first answer came; nothing was sent after it.
        assert len(native.console.requests()) <= 6
    # A minimum of 0 excuses a 403 only.
    lenient = native.drift("--min-coverage", "0")
    assert lenient.code == (0 if said == "status 403" else failed)
    assert lenient.addresses("unchecked") == everything(native)


def test_one_resource_is_forbidden(native):
    path = f"/hosts/{native.id_of(WEB)}$"
    native.console.fault(times=None, path=path, status=403, code="ORG_ACCESS_DENIED")
    found = native.drift(expect=1)
    assert found.bucket(WEB) == "unchecked"
    assert "does not allow this key the call that reads it" in found.of(WEB)["reason"]
    assert found.drifted == set()
    told = "error: 1 host could not be checked\nThe console does not allow this key the call"
    assert told in found.told and WEB in found.told
    assert native.drift("--min-coverage", "50").code == 0


def test_drift_is_reported_beside_unchecked_resources(native):
    native.console.change("hosts", native.id_of(WEB), knowledge="changed")
    native.console.fault(times=None, path="/plugins$", status=500)
    found = native.drift(expect=1)
    assert found.drifted == {WEB}
    assert found.bucket(DISK) == "unchecked"
    assert found.document["verdict"]["explanation"].endswith("1 resource drifted.")


def test_trouble_that_outlasts_the_tries_of_some(native):
    native.console.fault(times=2, path=f"/hosts/{native.id_of(WEB)}$", status=503)
    found = native.drift(expect=TRY_LATER)
    assert found.addresses("unchecked") - {
        item for item in everything(native) if "_agent." in item
    } == {WEB}
    assert found.drifted == set()

    # An attachment in a list that is cut short will not be seen later either.
    cut_short = '{"data": [], "has_more": true}'
    native.console.fault(times=None, path="/plugins$", text=cut_short)
    native.console.fault(times=2, path=f"/hosts/{native.id_of(WEB)}$", status=503)
    found = native.drift("--min-coverage", "50", expect=TRY_LATER)
    assert {WEB, DISK} <= found.addresses("unchecked")
    native.console.fault(times=2, path=f"/hosts/{native.id_of(WEB)}$", status=503)
    native.drift(expect=1)

    # An agent of an unread host is not archived.
    native.console.clear_faults()
    native.console.fault(times=None, path="/hosts/", status=500)
    found = native.drift()
    assert found.bucket(WEB) == "unchecked"
    assert found.bucket(AGENT) == "unchecked"
    assert found.bucket(DISK) == "in_sync"


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_nobody_is_there_or_answers(native, silent):
    native.settings["base_url"] = f"http://{CLOSED_ADDRESS}"
    native.write()
    found = native.drift(expect=1)
    assert found.addresses("unchecked") == everything(native)
    assert found.drifted == set()
    assert "cannot be reached" in found.told and "Hosts were read" not in found.told
    assert len(found.document["diagnostics"]) == 1
    shown = native.run("drift", "--format", "markdown", expect=1).text.replace("\\", "")
    assert "\n\nhttp://127.0.0.1:" in shown and "of base_url:\n\n" in shown
    assert f"of base_url. (with {AGENT}, with " in shown

    native.settings |= {"base_url": silent, "max_retries": 0, "request_timeout": 1}
    native.write()
    found = native.drift(expect=1)
    assert found.addresses("unchecked") == everything(native)
    assert "No answer of" in found.told
    # Whoever lets a wave of calls run out of time is not asked ten thousand times more.
    assert sum(found.document["calls"].values()) == 6
    assert "no call was made" in found.told


@pytest.mark.parametrize(
    ("variable", "said"),
    [("BASE_URL", "like https://console.example.com.\n"), ("API_KEY", "API Keys settings.\n")],
)
def test_settings_are_missing(variable, said, native, monkeypatch):
    monkeypatch.delenv(f"OPSCONSOLE_{variable}")
    found = native.drift("terraform.tfstate", expect=1)
    assert found.addresses("unchecked") == everything(native)
    assert said in found.told
    assert found.document["calls"] == {}


def test_the_key_is_in_no_report(native):
    key = native.console.api_key
    native.console.fault(times=None, path="^/api/", status=500, message=f"wrong: {key}")
    files = [f"--format={name}=drift.{name}" for name in FORMATS]
    assert key not in native.run("drift", *files, expect=1).text
    texts = {name: (native.folder / f"drift.{name}").read_text() for name in FORMATS}
    assert all("wrong: " in text for name, text in texts.items() if name != "prometheus")
    assert not any(key in text for text in texts.values())
