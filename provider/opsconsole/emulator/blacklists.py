"""Blacklisted commands: get, update, and the extra list, create and delete."""

from __future__ import annotations

from hashlib import sha256

from opsconsole.emulator import checks
from opsconsole.emulator.checks import Checks, json_object
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole
from opsconsole.emulator.lists import page
from opsconsole.emulator.refusal import invalid
from opsconsole.emulator.store import TENANT
from opsconsole.emulator.table import Row

CHECKS: Checks = {
    "pattern": checks.text(1, 200),
    "description": checks.text_or_null,
    "org_id": checks.text_or_null,
}


def text_hash(pattern: str) -> str:
    """Return what this console keeps as `text_hash`; its meaning is not shown."""
    return sha256(pattern.encode("utf-8", "surrogatepass")).hexdigest()


def get(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """GET /api/v1/blacklists/{id}."""
    console.check_query(call.query, ())
    row = console.seen(console.store.blacklists, "blacklisted command", call.ids[0], call.principal)
    return Answer(console.rendering.render("blacklist", row))


def update(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """POST /api/v1/blacklists/{id}: rules 1 to 5 of the document's blacklist update."""
    store = console.store
    console.check_query(call.query, ())
    row_id = call.ids[0]
    row = console.writable(store.blacklists, "blacklisted command", row_id, call.principal)
    fields = json_object(call.body, required=True)
    console.check(fields, CHECKS, nulls=False)
    changes = {name: value for name, value in fields.items() if name in CHECKS}
    if "org_id" in changes:
        call.principal.authorize(changes["org_id"])
    if all(row.get(name) == value for name, value in changes.items()):
        changes = {}
    if "pattern" in changes:
        changes["text_hash"] = text_hash(changes["pattern"])
    if changes or console.profile.idle_update_bumps:
        row = store.change("blacklists", row_id, changes) or row
    return Answer(console.rendering.render("blacklist", row), 200)


def list_all(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """Extra endpoint blacklist_list."""
    rows = [row for row in console.store.blacklists if call.principal.sees(row)]
    return Answer(page(console, "blacklist", rows, call.query))


def create(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """Extra endpoint blacklist_create. `org_id` null is tenant-wide; absent, the caller's org."""
    store = console.store
    console.check_query(call.query, ())
    fields = json_object(call.body, required=True)
    errors = console.errors(fields, CHECKS, nulls=False)
    if fields.get("pattern") is None:
        errors = [item for item in errors if item[0] != "pattern"] + [("pattern", "is required")]
    if errors:
        raise invalid(errors)
    org_id = fields.get("org_id", call.principal.org_id)
    call.principal.authorize(org_id)
    row: Row = {"id": store.new_id("blk"), "pattern": fields["pattern"], "tenant_id": TENANT}
    for name, value in (("description", fields.get("description")), ("org_id", org_id)):
        if value is not None:
            row[name] = value
    row["text_hash"] = text_hash(row["pattern"])
    row["created_at"] = row["updated_at"] = store.now()
    store.blacklists.put(row)
    return Answer(console.rendering.render("blacklist", row))


def delete(console: EmulatedConsole, call: ConsoleRequest) -> Answer:
    """Extra endpoint blacklist_delete."""
    console.check_query(call.query, ())
    row_id = call.ids[0]
    console.writable(console.store.blacklists, "blacklisted command", row_id, call.principal)
    console.store.blacklists.remove(row_id)
    return Answer({"id": row_id, "deleted": True})
