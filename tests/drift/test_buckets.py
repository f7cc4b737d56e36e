"""What was deleted, archived, attached, detached or hidden behind our back, by its bucket."""

from typing import Any

import pytest

from opsconsole.drift.buckets import Neighbours, ObjectRead, classify
from opsconsole.drift.stack import StateObject
from opsconsole.lifecycle.interface import Outcome
from opsconsole.reconcile.prior import PriorInstance
from opsconsole.resources import AGENT as AGENT_OF
from opsconsole.resources import HOST
from opsconsole.state import InstanceObject

JUMP, WEB, AGENT = "opsconsole_host.jump", "opsconsole_host.web[0]", "opsconsole_agent.ops[0]"
DISK, WHOLE = "opsconsole_agent_plugin.disk[0]", "opsconsole_agent.whole"
FORMAT, WIPE = "opsconsole_blacklisted_command.format", "opsconsole_blacklisted_command.wipe"


@pytest.fixture(params=["default", "fickle", "extended"])
def ground(request: pytest.FixtureRequest, ground_on: Any, world: Any) -> Any:
    """The world, applied to consoles that differ in what they show of what is gone."""
    made = ground_on(request.param)
    made.apply(world())
    return made


def test_a_deleted_host_takes_its_agents_along(ground):
    ground.call("DELETE", f"/api/v1/hosts/{ground.id_of(WEB)}")
    found = ground.drift(expect=2)
    assert found.bucket(WEB) == "missing"
    assert found.bucket(AGENT) == "archived"
    assert found.bucket(DISK) == "archived"
    assert found.of(AGENT)["reason"] == (f"its host {WEB} is gone: agents go with their host")
    assert found.of(DISK)["reason"] == f"its agent {AGENT} is gone: plugins go with their agent"
    assert found.drifted == {WEB, AGENT, DISK}
    assert "removed from state" not in str(found.document)


def test_an_agent_archived_on_its_own(ground):
    ground.console.change("agents", ground.id_of(AGENT), status="archived")
    found = ground.drift()
    shown = {"default": "missing", "fickle": "unchecked", "extended": "archived"}
    assert found.bucket(AGENT) == shown[ground.console.profile.name]
    assert found.code == (0 if ground.console.profile.name == "fickle" else 2)
    said = {
        "default": "deleted, archived, or not visible to this key (404)",
        "fickle": "no documented operation reads agents",
        "extended": "the console says that it is archived",
    }
    assert said[ground.console.profile.name] in found.of(AGENT)["reason"]


def test_plugins_that_were_attached_and_detached(ground):
    agent_id, whole_id = ground.id_of(AGENT), ground.id_of(WHOLE)
    for item in (agent_id, whole_id):
        ground.call("DELETE", f"/api/v1/agents/{item}/plugins/plg_disk")
        ground.call("POST", f"/api/v1/agents/{item}/plugins", {"plugin_id": "plg_logs"})
    found = ground.drift(expect=2)
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

    uncounted = ground.drift("--count-unmanaged", "none", expect=2)
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
def test_what_was_not_seen_makes_unchecked_if_state_holds_it(definition, unseen, bucket, reason):
    held = definition.empty() | {definition.label: "x", "id": "x_1", "updated_at": "now"}
    held |= {"main_engine": "e"} if definition is AGENT_OF else {}
    instance = PriorInstance("s: a", definition.type_name, InstanceObject("p", {}), held)
    outcome = Outcome(held, unobserved=tuple(unseen))
    read = ObjectRead(StateObject("s", "a", instance, "p"), "", outcome)
    found = classify(read, Neighbours({}, {}))
    assert found.bucket.value == bucket
    assert found.reason.startswith(reason) and bool(found.reason) is bool(reason)
    assert found.unobserved == tuple(name for name in unseen if not definition[name].volatile)


def test_an_attachment_whose_agent_is_gone_and_in_no_state(ground_on):
    ground = ground_on("default")
    ground.console.create("agents", id="agt_alone", name="alone")
    alone = {"alone": {"agent_id": "agt_alone", "plugin_id": "plg_disk"}}
    ground.apply({"resource": {"opsconsole_agent_plugin": alone}})
    assert ground.drift().code == 0
    ground.console.delete("agents", "agt_alone")
    found = ground.drift(expect=2)
    assert found.bucket("opsconsole_agent_plugin.alone") == "missing"
    reason = found.of("opsconsole_agent_plugin.alone")["reason"]
    assert reason == "its agent agt_alone is gone: plugins go with their agent"


def test_specialties_beside_the_managed_one_are_shown_and_do_not_count(ground):
    searched = "specialty_get" not in ground.console.provider_settings.get("extra_endpoints", {})
    others = {"spc_windows", "spc_database", "spc_network", "spc_container", "spc_identity"}
    found = ground.drift(expect=0)
    shown = {item for item in found.addresses("unmanaged") if item.startswith("spc_")}
    assert shown == (others if searched else set())
    counted = ground.drift("--count-unmanaged", "plugins,specialties", expect=2)
    assert counted.document["summary"]["drifted"] == 5


def test_a_row_hidden_from_the_key(ground):
    [key] = [row for row in ground.console.rows("keys") if row["id"] == "key_main"]
    ground.console.change("blacklists", "blk_format", org_id="org_lab")
    ground.console.change("keys", key["id"], write_orgs=["org_main"], read_orgs=["org_main"])
    found = ground.drift(expect=2)
    assert found.drifted == {FORMAT}
    assert found.bucket(FORMAT) == "missing"
    assert found.of(FORMAT)["reason"] == "deleted, or not visible to this key (404)"


def test_a_truncated_list_proves_nothing(ground_on, world):
    ground = ground_on("truncated")
    ground.apply(world())
    agent_id = ground.id_of(AGENT)
    ground.call("DELETE", f"/api/v1/agents/{agent_id}/plugins/plg_disk")
    for plugin_id in ("plg_logs", "plg_metrics", "plg_packages", "plg_backup", "plg_legacy"):
        ground.console.create("attachments", agent_id=agent_id, plugin_id=plugin_id)
    ground.console.create("attachments", agent_id=agent_id, plugin_id="plg_disk")
    found = ground.drift(expect=1)
    assert found.bucket(DISK) == "unchecked"
    assert "may not be whole" in found.of(DISK)["reason"]
    assert "cursor_parameter" in found.told
    # What the list did show is attached for certain.
    assert f"{agent_id}/plg_logs" in found.addresses("unmanaged")
