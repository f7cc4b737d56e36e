"""Hosts: update and delete, and what a console keeps of the values that it is sent."""

from __future__ import annotations

from typing import Any

from opsconsole.emulator.bodies import json_body
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole
from opsconsole.emulator.document import CONNECT_FIELDS
from opsconsole.emulator.profiles import Profile
from opsconsole.emulator.refusal import conflict, invalid
from opsconsole.emulator.store import Row


def stored(profile: Profile, fields: dict[str, Any]) -> Row:
    """Return the fields as this console keeps them: trimmed, in lower case, without some."""
    kept = {name: value for name, value in fields.items() if name not in profile.drops}
    if profile.trims:
        kept = {name: _each(str.strip, value) for name, value in kept.items()}
    for name in profile.lowercases:
        if name in kept:
            kept[name] = _each(str.lower, kept[name])
    return kept


def _each(change: Any, value: Any) -> Any:
    if type(value) is str:
        return change(value)
    if type(value) is list:
        return [change(item) for item in value]
    return value


def missing_jump_hosts(
    console: EmulatedConsole, request: ConsoleRequest, fields: dict[str, Any]
) -> list[str]:
    """Return the ids in `jump_host_ids` that are not hosts this caller can see."""
    hosts = console.store.hosts
    return [
        row_id
        for row_id in fields.get("jump_host_ids") or ()
        if (row := hosts.get(row_id)) is None or not request.principal.sees(row)
    ]


def update(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """POST /api/v1/hosts/{id}: only the fields present in the body change."""
    profile = console.profile
    row = console.writable("host", request)
    fields = json_body(request.body, required=False)
    if fields:
        row = _changed(console, request, row, fields)
    elif profile.empty_update == "refused":
        raise invalid([("body", "must hold at least one field")])
    elif profile.idle_update_bumps:
        row = {**row, "updated_at": console.store.now()}
        console.store.hosts.put(row)
    return console.show("host", row)


def _changed(
    console: EmulatedConsole, request: ConsoleRequest, row: Row, fields: dict[str, Any]
) -> Row:
    profile = console.profile
    fields = console.bodies.host_update.read(fields)
    if missing := missing_jump_hosts(console, request, fields):
        raise invalid([("jump_host_ids", f"names no host: {missing[0]}")])
    changes = stored(profile, fields)
    if profile.connect_fields == "ignored":
        for name in CONNECT_FIELDS:
            changes.pop(name, None)
    if changes.get("name", "x") in ("", None):
        raise invalid([("name", "must not be empty")])
    if not profile.idle_update_bumps and all(row.get(key) == val for key, val in changes.items()):
        return row
    changed = {**row, **changes, "updated_at": console.store.now()}
    changed = {name: value for name, value in changed.items() if value is not None}
    console.store.hosts.put(changed)
    return changed


def delete(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """DELETE /api/v1/hosts/{id}: archives the host's agents and their tasks, in one transaction."""
    store = console.store
    row_id = console.writable("host", request)["id"]
    behind = [row for row in store.hosts.find("jump_host_ids", row_id) if row["id"] != row_id]
    rerouted: list[str] = []
    if behind and console.profile.jump_host_delete == "refused":
        raise conflict(f"{len(behind)} hosts are reached through {row_id}", {"hosts": len(behind)})
    now = store.now()
    if console.profile.jump_host_delete == "reroutes":
        for row in behind:
            left = [item for item in row["jump_host_ids"] if item != row_id]
            store.hosts.put({**row, "jump_host_ids": left, "updated_at": now})
            rerouted.append(row["id"])
    for agent in store.agents.find("host_id", row_id):
        archive_agent(console, agent, now)
    store.hosts.remove(row_id)
    return Answer({"id": row_id, "deleted": True, "rerouted_hosts": rerouted})


def archive_agent(console: EmulatedConsole, agent: Row, now: str) -> None:
    """Archive an agent and its tasks (States and transitions)."""
    store = console.store
    if agent.get("status") != "archived":
        store.agents.put({**agent, "status": "archived", "updated_at": now})
    for task in store.tasks.find("agent_id", agent["id"]):
        store.tasks.put({**task, "status": "archived", "updated_at": now})
