"""Hosts: update, delete, bulk import, and the normalisation of values."""

from __future__ import annotations

import csv
import io
from typing import Any, NamedTuple

from opsconsole.emulator.bodies import (
    Refusal,
    bad_request,
    conflict,
    invalid,
    json_body,
    license_cap,
    read_fields,
)
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole
from opsconsole.emulator.document import CONNECT_FIELDS, FIELDS, HOST_SETS, LISTS, Port
from opsconsole.emulator.profiles import Profile
from opsconsole.emulator.store import TENANT, Row


def normalise_values(profile: Profile, fields: dict[str, Any]) -> Row:
    """Return the fields as this console stores them: trimmed, in lower case, or partly dropped."""
    kept = {name: value for name, value in fields.items() if name not in profile.drops}
    if profile.trims:
        kept = {name: _map_texts(str.strip, value) for name, value in kept.items()}
    for name in profile.lowercases:
        if name in kept:
            kept[name] = _map_texts(str.lower, kept[name])
    return kept


def _map_texts(change: Any, value: Any) -> Any:
    if type(value) is str:
        return change(value)
    if type(value) is list:
        return [change(item) for item in value]
    return value


def missing_jump_host(
    console: EmulatedConsole, request: ConsoleRequest, fields: dict[str, Any]
) -> str | None:
    """Return the first id in `jump_host_ids` that is not a host this caller can see."""
    for row_id in fields.get("jump_host_ids") or ():
        row = console.store.hosts.get(row_id)
        if row is None or not request.caller.can_see(row):
            return str(row_id)
    return None


def update(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """POST /api/v1/hosts/{id}: only the fields present in the body change."""
    row = console.get_writable("host", request)
    fields = json_body(request.body, required=False)
    if not fields and console.profile.empty_update == "refused":
        raise invalid([("body", "must hold at least one field")])
    changes = _read_changes(console, request, fields) if fields else {}
    return console.show("host", console.change("host", row, changes))


def _read_changes(console: EmulatedConsole, request: ConsoleRequest, fields: Row) -> Row:
    profile = console.profile
    fields = read_fields(console.bodies.host_update, fields)
    if missing := missing_jump_host(console, request, fields):
        raise invalid([("jump_host_ids", f"names no host: {missing}")])
    changes = normalise_values(profile, fields)
    if profile.connect_fields == "ignored":
        for name in CONNECT_FIELDS:
            changes.pop(name, None)
    if changes.get("name", "x") in ("", None):
        raise invalid([("name", "must not be empty")])
    return changes


def delete(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """DELETE /api/v1/hosts/{id}: archives the host's agents and their tasks, in one transaction."""
    store = console.store
    row_id = console.get_writable("host", request)["id"]
    # A host that is its own jump host does not block its own deletion.
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


DEFAULTS: Row = {
    "ip_connect_mode": "auto",
    "target_type": "ssh",
    "target_port": 22,
    "skip_tls_verify": False,
    "is_jump_host": False,
}
WINRM_PORT = 5985
MATCHED = {"update": "updated", "skip": "skipped", "fail": "failed"}


class ImportedRow(NamedTuple):
    """The outcome of one row: one of the four counts, the host's id, and the error."""

    outcome: str
    row_id: str | None = None
    error: str | None = None


def import_hosts(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
    """POST /api/v1/hosts/batch: status 200 even when every row failed."""
    profile = console.profile
    console.check_query(request.query, (profile.dry_run_parameter, profile.on_error_parameter))
    envelope = _read_envelope(request, profile)
    rows = envelope["rows"]
    on_error = _read_option(console, request, envelope, "on_error")
    wants_dry_run = _read_option(console, request, envelope, "dry_run") == "true"
    dry_run = wants_dry_run and profile.honours_dry_run
    if profile.max_rows is not None and len(rows) > profile.max_rows:
        raise Refusal(
            profile.too_many_rows_status,
            "BAD_REQUEST",
            f"an import takes at most {profile.max_rows} rows",
            "rows",
            details={"max_rows": profile.max_rows, "rows": len(rows)},
        )
    batch = Batch(console, request, dry_run)
    stopped = False
    verdicts: list[ImportedRow] = []
    for row in rows:
        if stopped:
            verdicts.append(ImportedRow("skipped", None, "not tried: an earlier row failed"))
            continue
        verdict = batch.import_row(row)
        verdicts.append(verdict)
        if verdict.outcome == "failed" and on_error == "stop":
            stopped = True
            if not profile.lists_rows_after_stop:
                break
    return Answer(_import_result(console, verdicts, dry_run, stopped))


def _read_option(
    console: EmulatedConsole, request: ConsoleRequest, envelope: dict[str, Any], name: str
) -> str:
    profile = console.profile
    allowed = ("true", "false") if name == "dry_run" else ("stop", "continue")
    parameter = profile.dry_run_parameter if name == "dry_run" else profile.on_error_parameter
    in_query = request.query.get(parameter)
    in_body = envelope.get(name)
    if type(in_body) is bool and name == "dry_run":
        in_body = "true" if in_body else "false"
    for where, value in ((parameter, in_query), (name, in_body)):
        if value is not None and value not in allowed:
            raise bad_request(f"{where} must be one of {allowed}", where)
    order = (in_query, in_body) if profile.query_overrides else (in_body, in_query)
    default = "false" if name == "dry_run" else profile.on_error_default
    return str(next((value for value in order if value is not None), default))


def _read_envelope(request: ConsoleRequest, profile: Profile) -> dict[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.body and kind == "text/csv":
        return {"rows": csv_rows(request.body, profile)}
    envelope = json_body(request.body)
    if type(envelope.get("rows")) is not list:
        raise invalid([("rows", "must be an array")])
    return envelope


def _import_result(
    console: EmulatedConsole, verdicts: list[ImportedRow], dry_run: bool, stopped: bool
) -> dict[str, Any]:
    profile = console.profile
    words = {
        "created": profile.dry_run_created_word if dry_run else "created",
        "updated": profile.updated_word,
        "skipped": profile.skipped_word,
        "failed": profile.failed_word,
    }
    counts = {"created": 0, "updated": 0, "skipped": 0, "failed": 0}
    results = []
    for index, verdict in enumerate(verdicts, profile.index_base):
        counts[verdict.outcome] += 1
        entry: dict[str, Any] = {"index": index, "status": words[verdict.outcome]}
        console.rendering.optional(entry, "id", verdict.row_id)
        console.rendering.optional(entry, "error", verdict.error)
        results.append(entry)
    return {
        "object": "import_result",
        "dry_run": dry_run,
        "stopped": stopped,
        "counts": counts,
        "results": results,
    }


def csv_rows(body: bytes, profile: Profile) -> list[dict[str, Any]]:
    """Read a CSV body whose first line names fields."""
    try:
        # Spreadsheets start a file with a byte order mark, which would become part of the first
        # name.
        text = io.StringIO(body.decode("utf-8-sig"), newline="")
        # The document does not show the layout of columns, so the profile has the delimiters.
        table = csv.DictReader(text, strict=True, delimiter=profile.csv_delimiter)
        return [_csv_row(row, profile.csv_list_separator) for row in table]
    except (UnicodeDecodeError, csv.Error) as problem:
        raise bad_request("the body is not CSV") from problem


def _csv_row(row: dict[str | Any, str | Any], separator: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in row.items():
        # DictReader puts surplus values of a line under the key None, and None for missing values.
        if name is None or value in (None, ""):
            continue
        kind = FIELDS["host"].get(name)
        if name in LISTS["host"]:
            fields[name] = value.split(separator)
        elif kind in (int, Port) and value.isascii() and value.isdigit():
            # Nine digits are already out of bounds, and Python refuses to convert thousands of
            # digits.
            fields[name] = int(value[:9])
        elif kind is bool and value.lower() in ("true", "false"):
            fields[name] = value.lower() == "true"
        else:
            fields[name] = value
    return fields


def _describe_match(row: Row) -> str:
    return f"a host {row['name']} exists"


class Batch:
    """The rows of one import; it keeps the hosts that a dry run would create, for later rows."""

    def __init__(self, console: EmulatedConsole, request: ConsoleRequest, dry_run: bool) -> None:
        self._console = console
        self._request = request
        self._dry_run = dry_run
        self._now = console.store.now()
        self._promised: dict[tuple[str, str], str] = {}

    def import_row(self, row: Any) -> ImportedRow:
        """Import one row; in a dry run, only return its outcome."""
        if type(row) is not dict:
            return ImportedRow("failed", None, "the row must be an object")
        given = {name: value for name, value in row.items() if value is not None}
        try:
            read = read_fields(self._console.bodies.host_row, given)
        except Refusal as refusal:
            return ImportedRow("failed", None, refusal.explanation)
        fields = normalise_values(self._console.profile, read)
        if not fields.get("name"):
            return ImportedRow("failed", None, "name is required")
        if missing := missing_jump_host(self._console, self._request, fields):
            return ImportedRow("failed", None, f"jump_host_ids names no host: {missing}")
        try:
            return self._match_or_create(fields)
        except Refusal as refusal:
            return ImportedRow("failed", None, f"{refusal.code}: {refusal.message}")

    def _match_or_create(self, fields: Row) -> ImportedRow:
        for name in self._console.profile.match_by:
            value = fields.get(name)
            if value is None:
                continue
            promised = self._promised.get((name, value))
            if promised is not None:
                outcome = MATCHED[self._console.profile.on_match]
                error = _describe_match(fields) if outcome == "failed" else None
                return ImportedRow(outcome, promised or None, error)
            for row in self._console.store.hosts.find(name, value):
                if self._request.caller.can_see(row):
                    return self._match(row, fields)
        return self._create(fields)

    def _match(self, row: Row, fields: Row) -> ImportedRow:
        profile = self._console.profile
        shown = None if self._dry_run and profile.dry_run_ids == "none" else row["id"]
        if profile.on_match == "fail":
            return ImportedRow("failed", shown, _describe_match(row))
        if profile.on_match == "skip":
            return ImportedRow("skipped", shown)
        self._request.caller.authorize(row.get("org_id"))
        kept = {name: value for name, value in fields.items() if name not in profile.assigns}
        if profile.matched_sets == "merged":
            for name in HOST_SETS:
                if name in kept:
                    kept[name] = list(dict.fromkeys([*(row.get(name) or ()), *kept[name]]))
        if all(row.get(name) == value for name, value in kept.items()):
            return ImportedRow("skipped", shown)
        # Moving a host to another org requires the right to write in both orgs.
        self._request.caller.authorize(kept.get("org_id") or row.get("org_id"))
        if not self._dry_run:
            self._console.store.hosts.put({**row, **kept, "updated_at": self._now})
        return ImportedRow("updated", shown)

    def _create(self, fields: Row) -> ImportedRow:
        profile, store = self._console.profile, self._console.store
        org_id = fields.get("org_id") or self._request.caller.org_id
        self._request.caller.authorize(org_id)
        if profile.license == "cap_reached":
            raise license_cap()
        if self._dry_run:
            row_id = store.new_id("hst") if profile.dry_run_ids == "all" else ""
            for name in profile.match_by:
                if (value := fields.get(name)) is not None:
                    self._promised[name, value] = row_id
            return ImportedRow("created", row_id or None)
        row: Row = {"id": store.new_id("hst"), "tenant_id": TENANT}
        if profile.fills_defaults:
            row.update(DEFAULTS)
            if fields.get("target_type") == "winrm":
                row["target_port"] = WINRM_PORT
        row.update(fields)
        row["org_id"] = org_id
        for name in profile.assigns:
            row[name] = store.new_id("ext")
        row["created_at"] = row["updated_at"] = self._now
        store.hosts.put(row)
        return ImportedRow("created", row["id"])
