"""Specialties: delete, and the extra create and update."""

from __future__ import annotations

from opsconsole.emulator.bodies import json_body
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole
from opsconsole.emulator.refusal import conflict, invalid


def delete(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """DELETE /api/v1/specialties/{id}: 409 while an agent still carries it."""
    row = console.writable("specialty", request)
    carriers = [
        agent["id"]
        for agent in console.store.agents.find("specialty_id", row["id"])
        if console.profile.archived_agents_block or agent.get("status") != "archived"
    ]
    if carriers:
        text = f"{len(carriers)} agents carry specialty {row['id']}"
        raise conflict(text, {"agents": len(carriers), "agent_id": carriers[0], "hint": None})
    console.store.specialties.remove(row["id"])
    return Answer({"id": row["id"], "deleted": True})


def create(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """Extra endpoint specialty_create. A key that is taken is a 409."""
    store = console.store
    fields = console.bodies.specialty_create.read(json_body(request.body), required=("key",))
    org_id = fields.get("org_id", request.principal.org_id)
    request.principal.authorize(org_id)
    if store.specialties.find("key", fields["key"]):
        raise conflict(f"a specialty with the key {fields['key']} exists")
    given = {name: value for name, value in fields.items() if value is not None}
    row = store.add("specialties", {"name": given["key"], **given, "org_id": org_id})
    return console.show("specialty", row)


def update(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """Extra endpoint specialty_update: only the fields present change; the key stays."""
    store = console.store
    row = console.writable("specialty", request)
    changes = console.bodies.specialty_update.read(json_body(request.body))
    if changes.get("key", row["key"]) != row["key"]:
        raise invalid([("key", "cannot be changed")])
    if "org_id" in changes:
        request.principal.authorize(changes["org_id"])
    if changes or console.profile.idle_update_bumps:
        row = store.change("specialties", row["id"], changes) or row
    return console.show("specialty", row)
