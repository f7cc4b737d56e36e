"""Agents: create, and the extra get, list, update and delete."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from opsconsole.emulator import checks
from opsconsole.emulator.answers import CREDENTIAL_FIELDS
from opsconsole.emulator.checks import Checks, json_object
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole
from opsconsole.emulator.hosts import archive_agent
from opsconsole.emulator.lists import page
from opsconsole.emulator.profile import Profile
from opsconsole.emulator.refusal import Refusal, invalid
from opsconsole.emulator.store import TENANT
from opsconsole.emulator.table import Row, Table

_TEXTS = ("org_id", "main_engine", "secondary_engine", "specialty_id", "host_id", "name")


def _checks(profile: Profile) -> Checks:
    """Return the checks of the create body.

    Which fields its bounds belong to, two minimum lengths of 1 and one length of 1 to 100, is not
    shown.
    """
    return _bounded(profile.agent_at_least_1, profile.agent_1_to_100)


@lru_cache(maxsize=64)
def _bounded(at_least_1: tuple[str, ...], to_100: str) -> Checks:
    found: dict[str, checks.Check] = {
        name: checks.text(1) if name in at_least_1 else checks.text() for name in _TEXTS
    }
    found[to_100] = checks.text(1, 100)
    found["remote_execution"] = checks.boolean
    found["credential_config"] = checks.credential_config
    found["plugin_ids"] = found["accessible_credential_ids"] = checks.strings()
    return found


def create(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """POST /api/v1/agents. Answers with the Agent, which carries no plugin list."""
    console.check_query(call.query, ())
    fields = json_object(call.body, required=True)
    known = _checks(console.profile)
    absent = [name for name in console.profile.agent_required if fields.get(name) is None]
    errors = console.errors(fields, known, nulls=True)
    errors += [(name, "is required") for name in absent]
    if errors:
        raise invalid(errors)
    fields = {name: value for name, value in fields.items() if name in known and value is not None}
    host = _check_references(console, call, fields)
    org_id = fields.get("org_id") or (host or {}).get("org_id") or call.principal.org_id
    call.principal.authorize(org_id)
    plugin_ids = fields.pop("plugin_ids", [])
    fields = _kept(console.profile, fields)
    now = console.store.now()
    row: Row = {"id": console.store.new_id("agt"), "status": "idle", "tenant_id": TENANT}
    if console.profile.fills_defaults:
        row["remote_execution"] = False
    row.update(fields, org_id=org_id, created_at=now, updated_at=now)
    console.store.agents.put(row)
    for plugin_id in plugin_ids:
        join(console, row["id"], plugin_id)
    return Answer(console.rendering.render("agent", row))


def _kept(profile: Profile, fields: dict[str, Any]) -> dict[str, Any]:
    if entries := fields.get("credential_config"):
        known = [
            ({"order": position, "is_required": False} if profile.fills_defaults else {})
            | {name: entry[name] for name in CREDENTIAL_FIELDS if entry.get(name) is not None}
            for position, entry in enumerate(entries)
        ]
        return {**fields, "credential_config": known}
    return fields


def _check_references(
    console: EmulatedConsole, call: ConsoleRequest, fields: dict[str, Any]
) -> Row | None:
    store = console.store
    host = _reference(console, call, store.hosts, "host_id", fields.get("host_id"))
    _reference(console, call, store.specialties, "specialty_id", fields.get("specialty_id"))
    for plugin_id in fields.get("plugin_ids", ()):
        _reference(console, call, store.plugins, "plugin_ids", plugin_id)
    return host


def _reference(
    console: EmulatedConsole, call: ConsoleRequest, table: Table, field: str, row_id: str | None
) -> Row | None:
    if row_id is None:
        return None
    row = table.get(row_id)
    if row is not None and call.principal.sees(row):
        return row
    if console.profile.unknown_reference_status == 404:
        raise Refusal(404, "NOT_FOUND", f"{field} names nothing: {row_id}", field)
    raise invalid([(field, f"names nothing: {row_id}")])


def reference(
    console: EmulatedConsole, call: ConsoleRequest, table: Table, field: str, row_id: str
) -> Row:
    """Return the row that a body names; 400 or 404, by the profile, when there is none."""
    row = _reference(console, call, table, field, row_id)
    assert row is not None
    return row


def join(console: EmulatedConsole, agent_id: str, plugin_id: str) -> None:
    """Attach a plugin to an agent; nothing happens where it is attached."""
    store = console.store
    if store.attachments.get(f"{agent_id}/{plugin_id}") is None:
        store.add("attachments", {"agent_id": agent_id, "plugin_id": plugin_id})


def get(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """Extra endpoint agent_get. An archived agent is answered with its status."""
    console.check_query(call.query, ())
    row = console.seen(console.store.agents, "agent", call.ids[0], call.principal)
    return Answer(console.rendering.render("agent", row))


def list_all(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """Extra endpoint agent_list, archived agents among them."""
    rows = [row for row in console.store.agents if call.principal.sees(row)]
    return Answer(page(console, "agent", rows, call.query))


def update(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """Extra endpoint agent_update: the fields of the create body, only those present change."""
    store = console.store
    console.check_query(call.query, ())
    row = console.writable(store.agents, "agent", call.ids[0], call.principal)
    fields = json_object(call.body, required=True)
    known = _checks(console.profile)
    console.check(fields, known)
    fields = {name: value for name, value in fields.items() if name in known}
    _check_references(console, call, {k: v for k, v in fields.items() if v is not None})
    if "org_id" in fields:
        call.principal.authorize(fields["org_id"])
    plugin_ids = fields.pop("plugin_ids", None)
    fields = _kept(console.profile, fields)
    if plugin_ids is not None:
        for attachment in store.attachments.find("agent_id", row["id"]):
            if attachment["plugin_id"] not in plugin_ids:
                store.attachments.remove(attachment["id"])
        for plugin_id in plugin_ids:
            join(console, row["id"], plugin_id)
    if fields or console.profile.idle_update_bumps:
        row = store.change("agents", row["id"], fields) or row
    return Answer(console.rendering.render("agent", row))


def delete(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """Extra endpoint agent_delete: the agent is gone, or archived, by the profile."""
    store = console.store
    console.check_query(call.query, ())
    row = console.writable(store.agents, "agent", call.ids[0], call.principal)
    archive_agent(console, row, store.now())
    if console.profile.agent_delete == "removes":
        for attachment in store.attachments.find("agent_id", row["id"]):
            store.attachments.remove(attachment["id"])
        store.agents.remove(row["id"])
    return Answer({"id": row["id"], "deleted": True})
