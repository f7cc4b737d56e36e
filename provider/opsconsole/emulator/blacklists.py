"""Blacklisted commands: update, and the extra create and delete."""

from __future__ import annotations

from hashlib import sha256

from opsconsole.emulator.bodies import json_body
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole


def text_hash(pattern: str) -> str:
    """Return what this console keeps as `text_hash`; its meaning is not shown."""
    return sha256(pattern.encode("utf-8", "surrogatepass")).hexdigest()


def update(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """POST /api/v1/blacklists/{id}: rules 1 to 5 of the document's blacklist update."""
    store = console.store
    row = console.writable("blacklist", request)
    changes = console.bodies.blacklist.read(json_body(request.body))
    if "org_id" in changes:
        request.principal.authorize(changes["org_id"])
    if all(row.get(name) == value for name, value in changes.items()):
        changes = {}
    if "pattern" in changes:
        changes["text_hash"] = text_hash(changes["pattern"])
    if changes or console.profile.idle_update_bumps:
        row = store.change("blacklists", row["id"], changes) or row
    return console.show("blacklist", row, 200)


def create(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """Extra endpoint blacklist_create. `org_id` null is tenant-wide; absent, the caller's org."""
    fields = console.bodies.blacklist.read(json_body(request.body), required=("pattern",))
    org_id = fields.get("org_id", request.principal.org_id)
    request.principal.authorize(org_id)
    given = {name: fields.get(name) for name in ("pattern", "description")}
    hashed = text_hash(fields["pattern"])
    row = console.store.add("blacklists", {**given, "org_id": org_id, "text_hash": hashed})
    return console.show("blacklist", row)


def delete(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """Extra endpoint blacklist_delete."""
    row_id = console.writable("blacklist", request)["id"]
    console.store.blacklists.remove(row_id)
    return Answer({"id": row_id, "deleted": True})
