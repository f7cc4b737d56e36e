"""What was deleted, archived, attached, detached or hidden behind our back, by its bucket."""

from typing import Any

import pytest

from consoles import call_api
from opsconsole.drift.buckets import classify
from opsconsole.drift.stack import StateObject
from opsconsole.lifecycle.interface import ReadOutcome
from opsconsole.reconcile.prior import PriorInstance
from opsconsole.resources import AGENT as AGENT_OF
from opsconsole.resources import HOST
from opsconsole.state import InstanceObject

WEB, AGENT = "opsconsole_host.web[0]", "opsconsole_agent.ops[0]"
DISK, WHOLE = "opsconsole_agent_plugin.disk[0]", "opsconsole_agent.whole"
FORMAT = "opsconsole_blacklisted_command.format"


@pytest.fixture(params=["default", "fickle", "extended"])
def native(request: pytest.FixtureRequest, native_on: Any, world: Any) -> Any:
    """The world, applied to consoles that differ in what they show of what is gone."""
    made = native_on(request.param)
    made.apply(**world())
    return made


def test_a_deleted_host_takes_its_agents_along(native):
    call_api(native.console, "DELETE", f"/api/v1/hosts/{native.id_of(WEB)}")
    found = native.drift(expect=2)
    assert found.bucket(WEB) == "missing"
    assert found.bucket(AGENT) == "archived"
    assert found.bucket(DISK) == "archived"
    assert found.of(AGENT)["reason"] == (f"its host {WEB} is gone: agents go with their host")
    assert found.of(DISK)["reason"] == f"its agent {AGENT} is gone: plugins go with their agent"
    assert found.drifted == {WEB, AGENT, DISK}
    assert "removed from state" not in str(found.document)


def test_an_agent_archived_on_its_own(native):
    native.console.change("agents", native.id_of(AGENT), status="archived")
    found = native.drift()
    shown = {"default": "missing", "fickle": "unchecked", "extended": "archived"}
    assert found.bucket(AGENT) == shown[native.console.profile.name]
    assert found.code == (0 if native.console.profile.name == "fickle" else 2)
    said = {
        "default": "deleted, archived, or not visible to this key (404)",
        "fickle": "no documented operation reads agents",
        "extended": "the console says that it is archived",
    }
    assert said[native.console.profile.name] in found.of(AGENT)["reason"]


def test_plugins_that_were_attached_and_detached(native):
    agent_id, whole_id = native.id_of(AGENT), native.id_of(WHOLE)
    for item in (agent_id, whole_id):
        call_api(native.console, "DELETE", f"/api/v1/agents/{item}/plugins/plg_disk")
        native.console.create("attachments", agent_id=item, plugin_id="plg_logs")
    found = native.drift(expect=2)
    assert found.drifted == {DISK, WHOLE, f"{agent_id}/plg_logs"}
    assert found.bucket(DISK) == "missing"
    assert "detached" in found.of(DISK)["reason"]
    # A managed set is whole: more in it is a change.
    assert found.changed(WHOLE) == {
        "plugin_ids": (["plg_disk", "plg_metrics"], ["plg_logs", "plg_metrics"])
    }
    finding = found.of(f"{agent_id}/plg_logs")
    assert finding["bucket"] == "unmanaged"
    assert finding["type"] == "opsconsole_agent_plugin"
    assert AGENT in finding["reason"]
    assert finding["label"] == "Log reader"

    uncounted = native.drift("--count-unmanaged", "none", expect=2)
    assert uncounted.drifted == {DISK, WHOLE}
    assert uncounted.bucket(f"{agent_id}/plg_logs") == "unmanaged"


@pytest.mark.parametrize(
    ("definition", "unseen", "bucket", "reason"),
    [
        (AGENT_OF, AGENT_OF.names, "unchecked", "no documented operation reads agents, and no "),
        (AGENT_OF, ["main_engine"], "unchecked", "the console did not show main_engine, which"),
        (AGENT_OF, ["org_id"], "in_sync", ""),
        (HOST, HOST.names, "unchecked", "the console did not show id, name, which state holds"),
        (HOST, ["mac", "updated_at"], "in_sync", ""),
    ],
)
def test_unseen_attribute_makes_unchecked_if_state_holds_it(definition, unseen, bucket, reason):
    held = definition.empty() | {definition.label: "x", "id": "x_1", "updated_at": "now"}
    held |= {"main_engine": "e"} if definition is AGENT_OF else {}
    outcome = ReadOutcome(held, unobserved=tuple(unseen))
    instance = PriorInstance("s: a", definition.type_name, InstanceObject("p", {}), held, outcome)
    found = classify(StateObject("s", "a", instance), {})
    assert found.bucket.value == bucket
    assert found.reason.startswith(reason) and bool(found.reason) is bool(reason)
    assert found.unobserved == tuple(name for name in unseen if not definition[name].volatile)


def test_unshown_attribute_that_no_update_sets_is_in_sync():
    held = HOST.empty() | {"id": "x", "mac": "m", "knowledge": "k"}
    instance = PriorInstance("s: a", HOST.type_name, InstanceObject("p", {}), held)
    shown = [("mac", None, "in_sync"), ("mac", "n", "changed"), ("knowledge", None, "changed")]
    for name, now, bucket in shown:
        read = instance._replace(read=ReadOutcome(held | {name: now}))
        assert classify(StateObject("s", "a", read), {}).bucket.value == bucket


def test_an_attachment_whose_agent_is_gone_and_in_no_state(native_on):
    native = native_on("default")
    native.console.create("agents", id="agt_alone", name="alone")
    alone = {"alone": {"agent_id": "agt_alone", "plugin_id": "plg_disk"}}
    native.apply({"opsconsole_agent_plugin": alone})
    assert native.drift().code == 0
    native.console.delete("agents", "agt_alone")
    found = native.drift(expect=2)
    assert found.bucket("opsconsole_agent_plugin.alone") == "missing"
    reason = found.of("opsconsole_agent_plugin.alone")["reason"]
    assert reason == "its agent agt_alone is gone: plugins go with their agent"


def test_specialties_beside_the_managed_one_are_shown_and_do_not_count(native):
    searched = "specialty_get" not in native.console.provider_settings.get("extra_endpoints", {})
    others = {"spc_windows", "spc_database", "spc_network", "spc_container", "spc_identity"}
    found = native.drift(expect=0)
    shown = {item for item in found.addresses("unmanaged") if item.startswith("spc_")}
    assert shown == (others if searched else set())
    counted = native.drift("--count-unmanaged", "plugins,specialties", expect=2)
    assert counted.document["summary"]["drifted"] == 5
    assert counted.document["calls"]["specialty_search"] == 1


def test_a_row_hidden_from_the_key(native):
    [key] = [row for row in native.console.rows("keys") if row["id"] == "key_main"]
    native.console.change("blacklists", "blk_format", org_id="org_lab")
    native.console.change("keys", key["id"], write_orgs=["org_main"], read_orgs=["org_main"])
    found = native.drift(expect=2)
    assert found.drifted == {FORMAT}
    assert found.bucket(FORMAT) == "missing"
    assert found.of(FORMAT)["reason"] == "deleted, or not visible to this key (404)"


def test_a_truncated_list_proves_nothing(native_on, world):
    native = native_on("truncated")
    native.apply(**world())
    agent_id = native.id_of(AGENT)
    call_api(native.console, "DELETE", f"/api/v1/agents/{agent_id}/plugins/plg_disk")
    for plugin_id in ("plg_logs", "plg_metrics", "plg_packages", "plg_backup", "plg_legacy"):
        native.console.create("attachments", agent_id=agent_id, plugin_id=plugin_id)
    native.console.create("attachments", agent_id=agent_id, plugin_id="plg_disk")
    found = native.drift(expect=1)
    assert found.bucket(DISK) == "unchecked"
    assert "may not be complete" in found.of(DISK)["reason"]
    partial = "warning: An agent may have more plugins than the list shows: some may be unmanaged\n"
    assert partial in found.told and "cursor_parameter" in found.told
    assert "may be unmanaged" not in native.drift("--count-unmanaged", "none").told
    # What the list did show is attached for certain.
    assert f"{agent_id}/plg_logs" in found.addresses("unmanaged")
