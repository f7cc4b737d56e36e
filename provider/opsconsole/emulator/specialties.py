"""Specialties: search, delete, and the extra get, create and update."""

from __future__ import annotations

from opsconsole.emulator import checks
from opsconsole.emulator.checks import Checks, json_object
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole
from opsconsole.emulator.lists import page
from opsconsole.emulator.refusal import conflict, invalid
from opsconsole.emulator.store import TENANT
from opsconsole.emulator.table import Row

CHECKS: Checks = {
    "key": checks.text(1),
    "name": checks.text(1),
    "prompt": checks.text(),
    "description": checks.text(),
    "execution_mode": checks.text(),
    "owner_id": checks.text(),
    "org_id": checks.text_or_null,
}


def search(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """GET /api/v1/specialties/search: a list envelope of Specialty entries."""
    rows = [row for row in console.store.specialties if call.principal.sees(row)]
    return Answer(page(console, "specialty", rows, call.query))


def delete(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """DELETE /api/v1/specialties/{id}: 409 while an agent still carries it."""
    console.check_query(call.query, ())
    row = console.writable(console.store.specialties, "specialty", call.ids[0], call.principal)
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


def get(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """Extra endpoint specialty_get."""
    console.check_query(call.query, ())
    row = console.seen(console.store.specialties, "specialty", call.ids[0], call.principal)
    return Answer(console.rendering.render("specialty", row))


def create(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """Extra endpoint specialty_create. A key that is taken is a 409."""
    store = console.store
    console.check_query(call.query, ())
    fields = json_object(call.body, required=True)
    errors = console.errors(fields, CHECKS, nulls=True)
    if fields.get("key") is None:
        errors.append(("key", "is required"))
    if errors:
        raise invalid(errors)
    org_id = fields.get("org_id", call.principal.org_id)
    call.principal.authorize(org_id)
    if store.specialties.find("key", fields["key"]):
        raise conflict(f"a specialty with the key {fields['key']} exists")
    now = store.now()
    row: Row = {"id": store.new_id("spc"), "tenant_id": TENANT}
    row.update({k: v for k, v in fields.items() if k in CHECKS and v is not None})
    if org_id is not None:
        row["org_id"] = org_id
    row["created_at"] = row["updated_at"] = now
    row.setdefault("name", row["key"])
    store.specialties.put(row)
    return Answer(console.rendering.render("specialty", row))


def update(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """Extra endpoint specialty_update: only the fields present change; the key stays."""
    store = console.store
    console.check_query(call.query, ())
    row = console.writable(store.specialties, "specialty", call.ids[0], call.principal)
    fields = json_object(call.body, required=True)
    console.check(fields, CHECKS)
    if fields.get("key", row["key"]) != row["key"]:
        raise invalid([("key", "cannot be changed")])
    if "org_id" in fields:
        call.principal.authorize(fields["org_id"])
    changes = {name: value for name, value in fields.items() if name in CHECKS}
    if changes or console.profile.idle_update_bumps:
        row = store.change("specialties", row["id"], changes) or row
    return Answer(console.rendering.render("specialty", row))
