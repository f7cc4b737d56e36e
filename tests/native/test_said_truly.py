"""What the document leaves open is written, refused and explained for what it is."""

from __future__ import annotations

from typing import Any

import pytest

HOST = {"name": "web", "tags": ["retired:", "env:prod"], "mac": "02:00:00:00:00:01"}
ROW = {"id": "blk_format", "no_description": True}
BOUND = {"host_id": "hst_lab", "specialty_id": "spc_linux", "main_engine": "engine-a"}


def test_a_description_can_be_made_null_and_a_tag_may_have_no_value(native_on: Any) -> None:
    native = native_on("dropping")
    native.write({"opsconsole_host": {"web": HOST}, "opsconsole_blacklisted_command": {"f": ROW}})
    applied = native.run("apply", "-auto-approve")
    assert "kept another value for mac" in applied.text
    assert "description" not in native.console.row("blacklists", "blk_format")
    [host] = native.console.rows("hosts")
    assert set(host["tags"]) == {"retired:", "env:prod"}
    assert native.actions() == {}
    assert "mac" not in native.run("plan").text

    both = {"opsconsole_blacklisted_command": {"f": ROW | {"description": "formats"}}}
    native.write(both)
    assert "no_description = true" in native.run("plan", expect=1).text


@pytest.mark.parametrize(
    ("state", "said"), [("expired", "license has expired"), ("cap_reached", "a cap of its license")]
)
def test_a_license_is_no_matter_of_scopes(state: str, said: str, native: Any) -> None:
    native.console.switch(license=state)
    native.console.create("hosts", id="hst_lab", name="lab")
    native.write({"opsconsole_agent": {"a": {"name": "a", **BOUND}}})
    told = " ".join(native.run("apply", "-auto-approve", expect=1).text.replace("│", " ").split())
    assert said in told
    assert "scope" not in told


def test_an_error_that_names_an_object_in_state_says_its_address(native: Any) -> None:
    native.write(
        {
            "opsconsole_host": {"web": {"name": "web"}},
            "opsconsole_specialty": {"linux": {"key": "linux-server"}},
            "opsconsole_agent": {
                "ops": {
                    "name": "ops",
                    "host_id": "${opsconsole_host.web.id}",
                    "specialty_id": "spc_linux",
                }
            },
        }
    )
    native.run("apply", "-auto-approve")
    agent_id = native.attributes("opsconsole_agent.ops")["id"]
    native.write(
        {
            "opsconsole_host": {"web": {"name": "web", "knowledge": "new"}},
            "opsconsole_specialty": {"linux": {"key": "linux-server"}},
            "opsconsole_agent": {
                "ops": {
                    "name": "ops",
                    "host_id": "${opsconsole_host.web.id}",
                    "specialty_id": "spc_linux",
                }
            },
        }
    )
    native.console.fault(
        operation="host_update",
        holds="knowledge",
        status=409,
        code="BUSY",
        details={"blocked_by": agent_id},
    )
    told = " ".join(native.run("apply", "-auto-approve", expect=1).text.replace("│", " ").split())
    assert "opsconsole_agent.ops" in told
    assert f'"ops" ({agent_id})' in told


def test_a_key_that_may_not_write_hosts_learns_what_reading_needs(native: Any) -> None:
    native.write({"opsconsole_host": {"web": {"name": "web"}}})
    native.run("apply", "-auto-approve")
    native.console.change("keys", "key_main", write_orgs=["org_lab"], read_orgs=["org_main"])
    told = " ".join(native.run("plan").text.split())
    assert "takes the right to write" in told


def test_one_refused_empty_update_leaves_the_other_hosts_read(native: Any) -> None:
    hosts = {f"h{number}": {"name": f"h{number}", "knowledge": "old"} for number in range(4)}
    native.write({"opsconsole_host": hosts})
    native.run("apply", "-auto-approve")
    for row in native.console.rows("hosts"):
        native.console.change("hosts", row["id"], knowledge="changed")
    native.console.fault(kind="bad_request", operation="host_update")
    planned = native.run("plan", "-detailed-exitcode", expect=2).text
    assert planned.count("was not checked") == 1
    native.console.fault(kind="bad_request", operation="host_update")
    assert sorted(native.actions().values()) == [["update"]] * 3


def test_what_the_console_keeps_otherwise_is_not_said_to_be_changed_by_others(
    native_on: Any,
) -> None:
    native = native_on("tidying")
    host = {"name": "web", "knowledge": " kept trimmed "}
    native.write({"opsconsole_host": {"web": host, "other": {"name": "other"}}})
    native.run("apply", "-auto-approve")
    other = native.attributes("opsconsole_host.other")["id"]
    native.console.change("hosts", other, knowledge="new", updated_at="2100-01-01T00:00:00Z")

    told = native.run("plan").out
    keeps = "differs, with the same updated_at: the console keeps other values than were declared"
    assert f"# opsconsole_host.web {keeps}" in told
    assert "# opsconsole_host.other has changed" in told
