"""Agents: creation, plugins of an agent, and the extra update and delete."""

from __future__ import annotations

from typing import Any

from opsconsole.emulator.bodies import Refusal, conflict, invalid, json_body, not_found, read_fields
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole, page
from opsconsole.emulator.document import CredentialConfig
from opsconsole.emulator.hosts import archive_agent
from opsconsole.emulator.profiles import Profile
from opsconsole.emulator.store import Row, Table


def create(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """POST /api/v1/agents. Answers with the Agent, which carries no plugin list."""
    required = console.profile.agent_required
    given = json_body(request.body)
    read = read_fields(console.bodies.agent_create, given, required=required)
    fields = {name: value for name, value in read.items() if value is not None}
    host = _check_references(console, request, fields)
    org_id = fields.get("org_id") or (host or {}).get("org_id") or request.caller.org_id
    request.caller.authorize(org_id)
    plugin_ids = fields.pop("plugin_ids", [])
    fields = _normalise_credentials(console.profile, fields)
    defaults = {"remote_execution": False} if console.profile.fills_defaults else {}
    row = console.store.add("agents", {"status": "idle", **defaults, **fields, "org_id": org_id})
    for plugin_id in plugin_ids:
        _attach(console, row["id"], plugin_id)
    return console.show("agent", row)


def _normalise_credentials(profile: Profile, fields: dict[str, Any]) -> dict[str, Any]:
    entries: list[CredentialConfig] | None = fields.get("credential_config")
    if not entries:
        return fields
    known = [
        ({"order": position, "is_required": False} if profile.fills_defaults else {})
        | entry.model_dump(exclude_none=True)
        for position, entry in enumerate(entries)
    ]
    return {**fields, "credential_config": known}


def _check_references(
    console: EmulatedConsole, request: ConsoleRequest, fields: dict[str, Any]
) -> Row | None:
    store = console.store
    host = None
    if (host_id := fields.get("host_id")) is not None:
        host = _find_referenced(console, request, store.hosts, "host_id", host_id)
    if (specialty_id := fields.get("specialty_id")) is not None:
        _find_referenced(console, request, store.specialties, "specialty_id", specialty_id)
    for plugin_id in fields.get("plugin_ids", ()):
        _find_referenced(console, request, store.plugins, "plugin_ids", plugin_id)
    return host


def _find_referenced(
    console: EmulatedConsole, request: ConsoleRequest, table: Table, field: str, row_id: str
) -> Row:
    """Return the row that a body names; without such a row, 400 or 404 by the profile."""
    row = table.get(row_id)
    if row is not None and request.caller.can_see(row):
        return row
    if console.profile.unknown_reference_status == 404:
        raise Refusal(404, "NOT_FOUND", f"{field} names nothing: {row_id}", field)
    raise invalid([(field, f"names nothing: {row_id}")])


def _attach(console: EmulatedConsole, agent_id: str, plugin_id: str) -> bool:
    """Attach a plugin to an agent; return False if it is attached already."""
    store = console.store
    if store.attachments.get(f"{agent_id}/{plugin_id}") is not None:
        return False
    store.add("attachments", {"agent_id": agent_id, "plugin_id": plugin_id})
    return True


def update(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """Extra endpoint agent_update: the fields of the create body, only those present change."""
    store = console.store
    row = console.get_writable("agent", request)
    fields = read_fields(console.bodies.agent_update, json_body(request.body))
    # Null clears a field, so it does not refer to a row that must exist.
    _check_references(console, request, {k: v for k, v in fields.items() if v is not None})
    if "org_id" in fields:
        request.caller.authorize(fields["org_id"])
    plugin_ids = fields.pop("plugin_ids", None)
    fields = _normalise_credentials(console.profile, fields)
    if plugin_ids is not None:
        for attachment in store.attachments.find("agent_id", row["id"]):
            if attachment["plugin_id"] not in plugin_ids:
                store.attachments.remove(attachment["id"])
        for plugin_id in plugin_ids:
            _attach(console, row["id"], plugin_id)
    return console.show("agent", console.change("agent", row, fields))


def delete(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """Extra endpoint agent_delete: the agent is gone, or archived, by the profile."""
    store = console.store
    row = console.get_writable("agent", request)
    # A removed agent leaves its tasks behind, so the tasks are archived in both profiles.
    archive_agent(console, row, store.now())
    if console.profile.agent_delete == "removes":
        for attachment in store.attachments.find("agent_id", row["id"]):
            store.attachments.remove(attachment["id"])
        store.agents.remove(row["id"])
    return Answer({"id": row["id"], "deleted": True})


def attach(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """POST /api/v1/agents/{id}/plugins. Answers with the Agent, not with the plugin list."""
    store = console.store
    agent = _get_active(console, request)
    given = json_body(request.body)
    fields = read_fields(console.bodies.attachment, given, required=("plugin_id",))
    plugin_id = fields["plugin_id"]
    _find_referenced(console, request, store.plugins, "plugin_id", plugin_id)
    if _attach(console, agent["id"], plugin_id):
        return console.show("agent", store.change("agents", agent["id"], {}))
    status = console.profile.attach_twice_status
    if status >= 400:
        raise Refusal(status, _code_of(status), f"{plugin_id} is attached already", "plugin_id")
    return console.show("agent", agent, status)


def list_plugins(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """GET /api/v1/agents/{id}/plugins: a list envelope of Plugin entries."""
    store, agent_id = console.store, request.ids[0]
    agent = store.agents.get(agent_id)
    hidden = agent is None or not request.caller.can_see(agent)
    status = None
    if hidden:
        status = console.profile.unknown_plugins_status
    elif agent is not None and agent.get("status") == "archived":
        status = console.profile.archived_plugins_status
    if status == 404:
        raise not_found("agent", agent_id)
    if status is not None and status >= 400:
        message = f"the plugins of agent {agent_id} cannot be read"
        raise Refusal(status, _code_of(status), message)
    rows = [
        plugin
        for attachment in (() if hidden else store.attachments.find("agent_id", agent_id))
        if (plugin := store.plugins.get(attachment["plugin_id"])) is not None
    ]
    return Answer(page(console, "plugin", rows, request.query), status)


def detach(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """DELETE /api/v1/agents/{id}/plugins/{pluginId}. Answers with the Agent."""
    store = console.store
    agent = _get_active(console, request)
    plugin_id = request.ids[1]
    if store.attachments.remove(f"{agent['id']}/{plugin_id}") is not None:
        return console.show("agent", store.change("agents", agent["id"], {}))
    status = console.profile.detach_absent_status
    if status >= 400:
        raise Refusal(status, _code_of(status), f"{plugin_id} is not attached")
    return console.show("agent", agent, status)


def _get_active(console: EmulatedConsole, request: ConsoleRequest) -> Row:
    agent = console.get_writable("agent", request)
    if agent.get("status") == "archived":
        raise conflict(f"agent {agent['id']} is archived")
    return agent


def _code_of(status: int) -> str:
    return {403: "FORBIDDEN", 404: "NOT_FOUND", 409: "CONFLICT"}.get(status, "BAD_REQUEST")
