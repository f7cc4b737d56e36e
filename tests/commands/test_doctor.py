"""`opsconsole doctor` against consoles that are well, away, or closed to this key."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from declarations import write_stacks
from loopback import Handler, serve_handler
from text_groups import read_rows

ROWS = read_rows(__file__)


def checks(native: Any, *words: str, expect: int = 0) -> dict[str, dict[str, str]]:
    found = json.loads(native.run("doctor", "--json", *words, expect=expect).out)
    return {item["check"]: item for item in found}


def test_doctor_finds_nothing_wrong_by_one_search(native):
    native.console.reset_log()
    found = checks(native)
    assert {item["status"] for item in found.values()} <= {"ok", "note"}
    assert [found[name]["status"] for name in ("settings", "console", "key", "clock")] == ["ok"] * 4
    assert found["settings"]["found"].endswith("from the environment")
    assert native.console.traffic()["total"] == 1
    assert native.console.request_counts()["specialty_search"] == 1
    shown = native.run("doctor").out
    assert "✓ key              accepted\n" in shown
    assert "\nNothing is wrong." in shown


def test_a_key_that_is_refused(native, monkeypatch):
    monkeypatch.setenv("OPSCONSOLE_API_KEY", "svc_ak_another")
    found = checks(native, expect=1)
    assert found["console"]["status"] == "ok"
    assert found["key"]["status"] == "wrong"
    assert "(status 401, code UNAUTHORIZED, request id " in found["key"]["found"]
    assert "revoked or expired" in found["key"]["remedy"]
    assert "1 of 8 checks found something wrong." in native.run("doctor", expect=1).out


def test_a_console_that_is_away(native, monkeypatch):
    monkeypatch.setenv("OPSCONSOLE_BASE_URL", "http://127.0.0.1:1")
    found = checks(native, expect=1)
    assert "cannot be reached" in found["console"]["found"]
    assert "key" not in found


@pytest.mark.parametrize(*ROWS["reads that doctor names"])
def test_a_host_and_an_agent_are_read_as_a_plan_reads_them(profile, host, agent, native_on):
    native = native_on(profile)
    native.console.create("hosts", id="hst_1", name="one")
    native.console.create("agents", id="agt_1", name="a", host_id="hst_1")
    for name in map(str, range(6)):
        native.console.create("plugins", id=name, name=name)
        native.console.create("attachments", agent_id="agt_1", plugin_id=name)
    found = checks(native, "--host=hst_1", "--agent=agt_1", expect=int(host == "wrong"))
    assert (found["host"]["status"], found["agent"]["status"]) == (host, agent), found


def test_a_host_that_the_settings_let_nobody_read_is_a_note(native, monkeypatch):
    monkeypatch.setenv("OPSCONSOLE_HOST_READ", "none")
    found = checks(native, "--host=hst_1")["host"]
    assert found["status"] == "note"
    assert found["found"].startswith('not read: the setting host_read is "none"')


@pytest.mark.parametrize("host", ["..", "batch"])
def test_what_cannot_be_an_id_fails_its_check_alone(native, host):
    found = checks(native, f"--host={host}", "--agent=..", expect=1)
    wrong = [name for name, item in found.items() if item["status"] == "wrong"]
    assert wrong == ["host", "agent"]
    assert f"{host} cannot be read: '{host}' cannot be an id" in found["host"]["found"]
    assert "'..' cannot be an id." in found["agent"]["found"]
    assert found["agent"]["remedy"] == "Ids look like hst_… or agt_…."


def test_each_stack_is_checked_and_each_console_is_asked_once(native):
    urls = dict.fromkeys(("one", "two"), native.console.base_url)
    urls |= {"off": "http://127.0.0.1:1", "bad": "no"}
    stacks = {name: {"provider": {"opsconsole": {"base_url": url}}} for name, url in urls.items()}
    write_stacks(native.folder, stacks)
    native.console.reset_log()
    found = json.loads(native.run("doctor", "--json", expect=1).out)
    for check, where in (("settings", "bad"), ("console", "off")):
        told = {item["stack"]: item["status"] for item in found if item["check"] == check}
        assert [stack for stack, status in told.items() if status == "wrong"] == [where]
    assert sum(item["check"] == "backend" for item in found) == 4
    assert native.console.traffic()["total"] == 1
    for name, error in (("bad", "different settings"), ("off", None)):
        del stacks[name]
        write_stacks(native.folder, stacks)
        assert (error or "") in native.run("capabilities", expect=int(error is not None)).err
    native.run("doctor")
    assert native.console.base_url in native.run("capabilities").out


LIST = json.dumps({"object": "list", "data": [], "has_more": False})


@contextmanager
def answering(status: int, headers: dict[str, str], body: str) -> Iterator[str]:
    class Answering(Handler):
        def do_GET(self) -> None:
            self.answer(status, body.encode(), **headers)

    with serve_handler(Answering) as address:
        yield address


@pytest.mark.parametrize(*ROWS["answers"])
def test_doctor_judges_an_answer(
    status, headers, body, check, text, code, native, monkeypatch, tmp_path
):
    # Without programs to ask for their version it takes a third of the time.
    monkeypatch.setenv("PATH", str(tmp_path))
    with answering(status, headers, body) as address:
        monkeypatch.setenv("OPSCONSOLE_BASE_URL", address)
        found = checks(native, expect=code)
    assert text in found[check]["found"]
    assert (found["key"]["found"] == "accepted") == (body == LIST)


def test_doctor_names_missing_programs(native, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    found = checks(native)
    assert (found["Terraform"]["status"], found["Terraform"]["found"]) == ("note", "none")
    assert found["provider mirror"]["status"] == "ok"
    native.run("provider", "install")
    assert found["provider mirror"]["found"].startswith("no provider")
    assert checks(native)["provider mirror"]["found"] == str(tmp_path / ".terraform.d/plugins")
