"""Writes to specialties and blacklisted commands, extra endpoints included."""

from __future__ import annotations

from hashlib import sha256

from opsconsole.emulator.bodies import conflict, invalid, json_body, read_fields
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole


def delete_specialty(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """DELETE /api/v1/specialties/{id}: 409 while an agent still carries it."""
    row = console.get_writable("specialty", request)
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


def create_specialty(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """Extra endpoint specialty_create. A key that exists already is a 409."""
    store = console.store
    model = console.bodies.of("specialty", nulls=True)
    fields = read_fields(model, json_body(request.body), required=("key",))
    org_id = fields.get("org_id", request.caller.org_id)
    request.caller.authorize(org_id)
    if store.specialties.find("key", fields["key"]):
        raise conflict(f"a specialty with the key {fields['key']} exists")
    given = {name: value for name, value in fields.items() if value is not None}
    row = store.add("specialties", {"name": given["key"], **given, "org_id": org_id})
    return console.show("specialty", row)


def update_specialty(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """Extra endpoint specialty_update: only the fields present change; the key stays."""
    row = console.get_writable("specialty", request)
    changes = read_fields(console.bodies.of("specialty"), json_body(request.body))
    if changes.get("key", row["key"]) != row["key"]:
        raise invalid([("key", "cannot be changed")])
    if "org_id" in changes:
        request.caller.authorize(changes["org_id"])
    return console.show("specialty", console.change("specialty", row, changes))


def text_hash(pattern: str) -> str:
    """Return this console's `text_hash`, whose meaning the document does not show."""
    return sha256(pattern.encode("utf-8", "surrogatepass")).hexdigest()


def update_blacklisted_command(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """POST /api/v1/blacklists/{id}: rules 1 to 5 of the document's blacklist update."""
    row = console.get_writable("blacklist", request)
    model = console.bodies.of("blacklist", nulls=False)
    changes = read_fields(model, json_body(request.body))
    if "org_id" in changes:
        request.caller.authorize(changes["org_id"])
    if "pattern" in changes:
        changes["text_hash"] = text_hash(changes["pattern"])
    return console.show("blacklist", console.change("blacklist", row, changes), 200)


def create_blacklisted_command(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """Extra endpoint blacklist_create. `org_id` null is tenant-wide; absent, the caller's org."""
    # Null has a meaning of its own in two of the fields.
    model = console.bodies.of("blacklist", nulls=False)
    fields = read_fields(model, json_body(request.body), required=("pattern",))
    org_id = fields.get("org_id", request.caller.org_id)
    request.caller.authorize(org_id)
    given = {name: fields.get(name) for name in ("pattern", "description")}
    hashed = text_hash(fields["pattern"])
    row = console.store.add("blacklists", {**given, "org_id": org_id, "text_hash": hashed})
    return console.show("blacklist", row)


def delete_blacklisted_command(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """Extra endpoint blacklist_delete."""
    row_id = console.get_writable("blacklist", request)["id"]
    console.store.blacklists.remove(row_id)
    return Answer({"id": row_id, "deleted": True})
